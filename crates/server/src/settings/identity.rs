//! How users are identified: `AUTH_MODE`, and the keys and terms of tokens.

use std::path::Path;

use url::{Host, Url};

use super::typed::Reading;
use super::{BadSetting, Values};
use crate::auth::key_source::{JwtSettings, KeySource, read_file};
use crate::auth::keys::{KeySet, SECRET_BYTES};
use crate::auth::token::TokenTerms;

#[derive(Clone, Debug)]
pub enum AuthMode {
    /// The user header, from whom it is believed.
    Header,
    /// A verified token.
    Jwt(Box<JwtSettings>),
}

const SOURCES: [&str; 4] = ["JWT_SECRET", "JWT_PUBLIC_KEY_FILE", "JWT_JWKS_FILE", "JWT_JWKS_URL"];

/// A gateway needs no more than the name: it verifies nothing.
pub(super) fn mode_name(read: &Reading<'_>) -> Result<&'static str, BadSetting> {
    match read.text("AUTH_MODE") {
        "header" => Ok("header"),
        "jwt" => Ok("jwt"),
        _ => Err(read.bad("AUTH_MODE", "header or jwt")),
    }
}

impl AuthMode {
    pub(super) fn understand(read: &Reading<'_>) -> Result<AuthMode, BadSetting> {
        match mode_name(read)? {
            "header" => Ok(AuthMode::Header),
            _ => jwt(read).map(|jwt| AuthMode::Jwt(Box::new(jwt))),
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            AuthMode::Header => "header",
            AuthMode::Jwt(_) => "jwt",
        }
    }

    pub fn jwt(&self) -> Option<&JwtSettings> {
        match self {
            AuthMode::Header => None,
            AuthMode::Jwt(jwt) => Some(jwt),
        }
    }
}

/// What `token mint` needs: no other setting.
#[derive(Debug)]
pub struct MintSettings {
    pub secret: Option<String>,
    /// What a server with these settings accepts.
    pub jwt: JwtSettings,
}

impl MintSettings {
    pub fn understand(values: &Values) -> Result<MintSettings, BadSetting> {
        let read = Reading { values };
        Ok(MintSettings { secret: read.strong_secret("JWT_SECRET", SECRET_BYTES)?, jwt: jwt(&read)? })
    }
}

fn jwt(read: &Reading<'_>) -> Result<JwtSettings, BadSetting> {
    let set: Vec<&str> = SOURCES.into_iter().filter(|name| !read.text(name).is_empty()).collect();
    let [source] = set[..] else {
        let found = if set.is_empty() { "none is set".to_owned() } else { format!("{} are set", set.join(" and ")) };
        return Err(BadSetting(format!("AUTH_MODE jwt needs exactly one of {}: {found}", SOURCES.join(", "))));
    };
    let text = read.text(source).trim();
    let terms = terms(read)?;
    let (source, keys) = match source {
        "JWT_SECRET" => (KeySource::Fixed, KeySet::of_secret(&secret(read)?)),
        "JWT_PUBLIC_KEY_FILE" => {
            let pem = std::fs::read(text).map_err(|e| read.bad(source, &format!("a file that can be read ({e})")))?;
            (KeySource::Fixed, KeySet::of_pem(&pem).map_err(|why| BadSetting(format!("{source} {text}: {why}")))?)
        }
        "JWT_JWKS_FILE" => {
            let keys = read_file(Path::new(text)).map_err(|why| BadSetting(format!("{source} {why}")))?;
            (KeySource::File(text.into()), keys)
        }
        _ => {
            // Without them the tokens of every other customer of the same provider would do.
            for (needed, listed) in [("JWT_ISSUER", &terms.issuers), ("JWT_AUDIENCE", &terms.audiences)] {
                if listed.is_empty() {
                    return Err(BadSetting(format!("{needed} is unset: JWT_JWKS_URL requires it")));
                }
            }
            (KeySource::Address(address(read)?), KeySet::default())
        }
    };
    Ok(JwtSettings { source, keys, terms })
}

/// The secret, if there is one.
fn secret(read: &Reading<'_>) -> Result<String, BadSetting> {
    read.strong_secret("JWT_SECRET", SECRET_BYTES)?.ok_or_else(|| read.bad("JWT_SECRET", "a secret"))
}

/// What every token must say.
fn terms(read: &Reading<'_>) -> Result<TokenTerms, BadSetting> {
    let listed = |name: &str| -> Vec<String> {
        read.text(name).split(',').map(|one| one.trim().to_owned()).filter(|one| !one.is_empty()).collect()
    };
    Ok(TokenTerms {
        issuers: listed("JWT_ISSUER"),
        audiences: listed("JWT_AUDIENCE"),
        leeway_ms: read.within("JWT_LEEWAY", 0, 600)? * 1_000,
    })
}

/// Origins as a browser sends them. `*` would be everybody.
pub(super) fn cors_origins(read: &Reading<'_>) -> Result<Vec<String>, BadSetting> {
    let name = "CORS_ORIGINS";
    let mut origins = Vec::new();
    for text in read.text(name).split(',').map(str::trim).filter(|text| !text.is_empty()) {
        let origin =
            Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https")).map(|url| url.origin());
        match origin {
            Some(origin) if origin.ascii_serialization() == text && !text.contains('*') => {
                origins.push(text.to_owned())
            }
            _ => return Err(read.bad(name, "comma-separated origins such as https://shop.example, without a path")),
        }
    }
    Ok(origins)
}

/// Keys that came over a line that others can write to would be their keys.
fn address(read: &Reading<'_>) -> Result<Url, BadSetting> {
    let bad = || read.bad("JWT_JWKS_URL", "https://host/path, or http:// on loopback");
    let url = Url::parse(read.text("JWT_JWKS_URL").trim()).map_err(|_| bad())?;
    let local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => return Err(bad()),
    };
    let plain = url.username().is_empty() && url.password().is_none();
    match url.scheme() {
        "https" if plain => Ok(url),
        "http" if plain && local => Ok(url),
        _ => Err(bad()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";
    const ADDRESS: [(&str, &str); 3] =
        [("JWT_JWKS_URL", "https://issuer.example/jwks"), ("JWT_ISSUER", "i"), ("JWT_AUDIENCE", "a, b")];

    fn with(pairs: &[(&str, &str)]) -> Result<Settings, String> {
        let environment = |name: &str| match name {
            "AUTH_MODE" => Some("jwt".to_owned()),
            _ => pairs.iter().rev().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned()),
        };
        let values = Values::gather(|_| None, environment, None).map_err(|e| e.to_string())?;
        Settings::understand(&values).map_err(|e| e.to_string())
    }

    #[test]
    fn one_source_of_keys_is_needed() {
        let secret = ("JWT_SECRET", SECRET);
        let settings = with(&[secret]).unwrap();
        assert_eq!((settings.auth_mode.name(), settings.anonymous), ("jwt", false));
        let address = with(&ADDRESS).unwrap();
        assert_eq!(address.auth_mode.jwt().unwrap().terms.audiences, ["a", "b"]);
        assert!(with(&[]).unwrap_err().contains("none is set"));
        let both = with(&[secret, ("JWT_JWKS_FILE", "/f")]).unwrap_err();
        assert!(both.contains("JWT_SECRET and JWT_JWKS_FILE are set"), "{both}");
    }

    #[test]
    fn errors_name_the_invalid_setting() {
        for (name, value) in [
            ("JWT_SECRET", "short"),
            ("JWT_PUBLIC_KEY_FILE", "/no/such/file"),
            ("JWT_JWKS_FILE", "/no/such/file"),
            ("JWT_LEEWAY", "601"),
            ("JWT_JWKS_URL", "http://issuer.example/jwks"),
            ("JWT_JWKS_URL", "https://user:word@issuer.example/jwks"),
            ("JWT_JWKS_URL", "file:///etc/passwd"),
            ("JWT_ISSUER", ""),
            ("JWT_AUDIENCE", " , "),
            ("FCFS_ANONYMOUS", "1"),
        ] {
            let needed = if name.ends_with("FILE") || name == "JWT_SECRET" { &[][..] } else { &ADDRESS };
            let why = with(&[needed, &[(name, value)]].concat()).expect_err(value);
            assert!(why.starts_with(name) && !why.contains("short"), "{name}: {why}");
        }
        assert!(with(&[ADDRESS[1], ADDRESS[2], ("JWT_JWKS_URL", "http://127.0.0.1:1/jwks")]).is_ok());
    }

    #[test]
    fn origins_are_exact() {
        let read = |text: &str| with(&[("JWT_SECRET", SECRET), ("CORS_ORIGINS", text)]).map(|s| s.cors_origins);
        let both = read("https://shop.example, http://localhost:3000").unwrap();
        assert_eq!(both, ["https://shop.example", "http://localhost:3000"]);
        assert_eq!(read(" , ").unwrap(), [""; 0]);
        for bad in [
            "*",
            "null",
            "shop.example",
            "https://shop.example/",
            "https://shop.example/path",
            "https://*.shop.example",
            "https://SHOP.example",
            "https://shop.example:443",
            "ftp://shop.example",
            "https://a@shop.example",
        ] {
            assert!(read(bad).unwrap_err().starts_with("CORS_ORIGINS"), "{bad}");
        }
    }

    /// A token is needed wherever the request comes from, so any address is fine; and strangers may reach the admin API.
    #[test]
    fn any_address_is_fine_with_a_strong_admin_token() {
        let secret = ("JWT_SECRET", SECRET);
        assert!(with(&[secret, ("APP_HOST", "0.0.0.0")]).is_ok());
        assert!(with(&[secret, ("ADMIN_TOKEN", "0123456789abcdef")]).unwrap_err().starts_with("ADMIN_TOKEN"));
    }
}
