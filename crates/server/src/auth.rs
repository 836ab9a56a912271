//! Who asks. Header mode authenticates nobody: the user header is believed from a gateway that shows its key.
//! Without such a key it is believed from programs on this machine; with `ALLOW_TRUSTED_HEADER` from anybody.
//! In jwt mode a token says who asks, wherever the request comes from.

mod claims;
pub mod key_source;
pub mod keys;
pub mod mint;
pub mod operators;
mod signatures;
pub mod token;
mod verified;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rules::history::{Actor, AdminName};
use rules::ids::User;
use rules::outcome::{FieldError, Forbidden, Problem, Refusal, TokenProblem};
use salvo::http::header::{AUTHORIZATION, FORWARDED, HOST, VIA};
use salvo::http::{HeaderMap, HeaderName};
use stores::ledger::admin_tokens::AdminRole;
use subtle::ConstantTimeEq;

use self::key_source::UserTokens;
use self::operators::Operator;
use crate::app::App;
use crate::settings::Settings;

pub const GATEWAY_KEY: HeaderName = HeaderName::from_static("x-gateway-key");

/// What proxies add, beside `X-Forwarded-*`.
const OF_PROXIES: [HeaderName; 4] =
    [VIA, FORWARDED, HeaderName::from_static("x-real-ip"), HeaderName::from_static("cf-connecting-ip")];

/// The user that the request names, or none if it names nobody.
pub async fn named_user(app: &App, headers: &HeaderMap, peer: IpAddr) -> Result<Option<User>, Refusal> {
    if let Some(tokens) = &app.user_tokens {
        return token_user(tokens, &app.settings, headers).await;
    }
    unknown_proxy(&app.settings, headers)?;
    header_user(&app.settings, headers, peer)
}

/// The refusal of a request that names nobody.
pub fn nobody(app: &App) -> Refusal {
    if app.user_tokens.is_some() { Refusal::Unauthorized } else { Refusal::MissingUser }
}

/// The user of the token. A user header beside it must name the same one.
async fn token_user(tokens: &UserTokens, settings: &Settings, headers: &HeaderMap) -> Result<Option<User>, Refusal> {
    let mut shown = headers.get_all(AUTHORIZATION).iter();
    let user = match (shown.next(), shown.next()) {
        (Some(_), Some(_)) => return Err(Refusal::BadToken(TokenProblem::Malformed)),
        (Some(value), None) => match bearer(value.as_bytes()) {
            Some(token) => Some(tokens.user(token).await?),
            None => return Err(Refusal::Unauthorized),
        },
        (None, _) => None,
    };
    for named in headers.get_all(&settings.user_header).iter().filter(|named| !named.is_empty()) {
        match &user {
            None => return Err(Refusal::Unauthorized),
            Some(user) if named.as_bytes() != user.as_str().as_bytes() => {
                return Err(Refusal::Forbidden(Forbidden::NotTheTokens));
            }
            Some(_) => {}
        }
    }
    Ok(user)
}

fn header_user(settings: &Settings, headers: &HeaderMap, peer: IpAddr) -> Result<Option<User>, Refusal> {
    let mut named = headers.get_all(&settings.user_header).iter();
    let Some(value) = named.next() else { return Ok(None) };
    let field = || header_field(&settings.user_header);
    if named.next().is_some() {
        return Err(FieldError::refused(field(), Problem::Repeated));
    }
    if !believed(settings, headers, peer) {
        return Err(Refusal::Unauthorized);
    }
    let text = std::str::from_utf8(value.as_bytes()).map_err(|_| FieldError::refused(field(), Problem::NotUtf8))?;
    if text.is_empty() {
        return Ok(None);
    }
    let user = User::new(text);
    user.map(Some).ok_or_else(|| FieldError::refused(field(), problem_with(text, rules::ids::USER_CHARS)))
}

pub fn problem_with(text: &str, most: usize) -> Problem {
    if text.chars().count() > most { Problem::Length { most } } else { Problem::Unprintable }
}

/// `X-User-Id`, as documents write it.
fn header_field(name: &HeaderName) -> String {
    let words = name.as_str().split('-').map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    });
    words.collect::<Vec<_>>().join("-")
}

fn believed(settings: &Settings, headers: &HeaderMap, peer: IpAddr) -> bool {
    let local = settings.gateway_key.is_none() && peer.to_canonical().is_loopback();
    settings.allow_trusted_header || local || from_gateway(settings, headers)
}

/// Refuses what came through a proxy without the gateway's key. Behind such a proxy every client
/// would have the same address, and a proxy on loopback would make any user header believed. A plain proxy adds no
/// header, but passes on or changes `Host`; and a browser sends the name of the page that makes it ask.
fn unknown_proxy(settings: &Settings, headers: &HeaderMap) -> Result<(), Refusal> {
    if from_gateway(settings, headers) {
        return Ok(());
    }
    if headers.keys().any(|name| OF_PROXIES.contains(name) || name.as_str().starts_with("x-forwarded-")) {
        return Err(Refusal::Forbidden(Forbidden::UnknownProxy));
    }
    // With a key, whoever does not show it is not believed anyway.
    let local_only = settings.gateway_key.is_none() && !settings.allow_trusted_header;
    if local_only && !headers.get(HOST).is_some_and(|host| names_this_machine(host.as_bytes())) {
        return Err(Refusal::Forbidden(Forbidden::UnknownHost));
    }
    Ok(())
}

/// `localhost`, a name under it, or an address of loopback, with a port or without.
fn names_this_machine(host: &[u8]) -> bool {
    let Ok(host) = std::str::from_utf8(host) else { return false };
    if let Some(rest) = host.strip_prefix('[') {
        let address = rest.split_once(']').and_then(|(address, _)| address.parse::<Ipv6Addr>().ok());
        return address.is_some_and(|address| address.is_loopback());
    }
    let name = host.split_once(':').map_or(host, |(name, _)| name).to_ascii_lowercase();
    let loopback = name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback());
    loopback || name == "localhost" || name.ends_with(".localhost")
}

/// Whether the gateway showed its key.
pub fn from_gateway(settings: &Settings, headers: &HeaderMap) -> bool {
    let (Some(key), Some(shown)) = (&settings.gateway_key, headers.get(GATEWAY_KEY)) else { return false };
    same(key.as_bytes(), shown.as_bytes())
}

/// Proof that a request showed the token of an admin: only `admin` makes one.
#[derive(Debug, PartialEq, Eq)]
pub struct Admin(AdminName);

impl Admin {
    /// The actor that the history records for this proof.
    pub fn actor(&self) -> Actor {
        Actor::Admin(self.0.clone())
    }

    pub fn name(&self) -> AdminName {
        self.0.clone()
    }
}

/// Proof that a request showed a token that may read: only `viewer` makes one.
#[derive(Debug, PartialEq, Eq)]
pub struct Viewer(AdminRole);

impl Viewer {
    /// Whether it may also read what is as good as a password.
    pub fn sees_secrets(&self) -> bool {
        self.0 == AdminRole::Admin
    }
}

/// Proof that a request showed a token that may confirm holds: only `service` makes one.
#[derive(Debug, PartialEq, Eq)]
pub struct Service(AdminName);

impl Service {
    pub fn actor(&self) -> Actor {
        Actor::Admin(self.0.clone())
    }
}

pub async fn admin(app: &App, headers: &HeaderMap) -> Result<Admin, Refusal> {
    operator(app, headers).await?.may(AdminRole::Admin).map(Admin)
}

pub async fn viewer(app: &App, headers: &HeaderMap) -> Result<Viewer, Refusal> {
    let operator = operator(app, headers).await?;
    let role = operator.role;
    operator.may(AdminRole::Viewer).map(|_| Viewer(role))
}

pub async fn service(app: &App, headers: &HeaderMap) -> Result<Service, Refusal> {
    operator(app, headers).await?.may(AdminRole::Service).map(Service)
}

async fn operator(app: &App, headers: &HeaderMap) -> Result<Operator, Refusal> {
    let shown = headers.get(AUTHORIZATION).map(|v| v.as_bytes()).and_then(bearer).ok_or(Refusal::Unauthorized)?;
    app.operators.find(shown).await.ok_or(Refusal::Unauthorized)
}

/// Whose token a request shows, whatever it may do.
pub async fn operator_name(app: &App, headers: &HeaderMap) -> Option<AdminName> {
    operator(app, headers).await.ok().map(|operator| operator.name)
}

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}

/// In constant time, so that timing tells nothing about a guess.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.ct_eq(b).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_a_scheme() {
        for (value, token) in [
            ("Bearer secret", Some("secret")),
            ("bearer  secret ", Some("secret")),
            ("secret", None),
            ("Basic secret", None),
            ("Bearer", None),
        ] {
            assert_eq!(bearer(value.as_bytes()), token.map(str::as_bytes), "{value}");
        }
    }

    #[test]
    fn hosts_of_this_machine_are_known() {
        for good in ["localhost", "LOCALHOST:5800", "a.localhost", "127.0.0.1:80", "127.9.9.9", "[::1]:5800", "[::1]"] {
            assert!(names_this_machine(good.as_bytes()), "{good}");
        }
        for bad in
            ["", "evil.example", "localhost.evil.example", "notlocalhost", "10.0.0.1", "[::2]", "127.0.0.1.nip.io"]
        {
            assert!(!names_this_machine(bad.as_bytes()), "{bad}");
        }
    }

    #[test]
    fn header_names_are_capitalised_in_messages() {
        assert_eq!(header_field(&HeaderName::from_static("x-user-id")), "X-User-Id");
    }
}
