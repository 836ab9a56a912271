//! Who asks. Header mode authenticates nobody: the user header is believed from loopback and from a
//! gateway that shows its key; from other addresses only with `ALLOW_TRUSTED_HEADER`.

use std::net::IpAddr;

use rules::history::Actor;
use rules::ids::User;
use rules::outcome::{FieldError, Forbidden, Problem, Refusal};
use salvo::http::header::{AUTHORIZATION, FORWARDED};
use salvo::http::{HeaderMap, HeaderName};
use subtle::ConstantTimeEq;

use crate::settings::Settings;

pub const GATEWAY_KEY: HeaderName = HeaderName::from_static("x-gateway-key");
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The user that the header names, or none if it names nobody.
pub fn named_user(settings: &Settings, headers: &HeaderMap, peer: IpAddr) -> Result<Option<User>, Refusal> {
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
    settings.allow_trusted_header || peer.to_canonical().is_loopback() || from_gateway(settings, headers)
}

/// Refuses what came through a proxy without the gateway's key. Behind such a proxy every client
/// would have the same address, and a proxy on loopback would make any user header believed.
pub fn unknown_proxy(settings: &Settings, headers: &HeaderMap) -> Result<(), Refusal> {
    let forwarded = headers.contains_key(FORWARDED_FOR) || headers.contains_key(FORWARDED);
    if forwarded && !from_gateway(settings, headers) {
        return Err(Refusal::Forbidden(Forbidden::UnknownProxy));
    }
    Ok(())
}

/// Whether the gateway showed its key.
pub fn from_gateway(settings: &Settings, headers: &HeaderMap) -> bool {
    let (Some(key), Some(shown)) = (&settings.gateway_key, headers.get(GATEWAY_KEY)) else { return false };
    same(key.as_bytes(), shown.as_bytes())
}

/// Proof that a request showed the admin token: only `admin` makes one.
#[derive(Debug, PartialEq, Eq)]
pub struct Admin(());

impl Admin {
    /// The actor that the history records for this proof.
    pub fn actor(&self) -> Actor {
        Actor::Admin
    }
}

pub fn admin(token: &str, headers: &HeaderMap) -> Result<Admin, Refusal> {
    let shown = headers.get(AUTHORIZATION).map(|v| v.as_bytes()).and_then(bearer);
    if shown.is_some_and(|shown| same(token.as_bytes(), shown)) { Ok(Admin(())) } else { Err(Refusal::Unauthorized) }
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
    fn only_the_admin_token_gives_proof() {
        let mut headers = HeaderMap::new();
        assert_eq!(admin("secret", &headers), Err(Refusal::Unauthorized));
        for (value, good) in [
            ("Bearer secret", true),
            ("bearer secret", true),
            ("Bearer secre", false),
            ("secret", false),
            ("Basic secret", false),
        ] {
            headers.insert(AUTHORIZATION, value.parse().unwrap());
            assert_eq!(admin("secret", &headers).is_ok(), good, "{value}");
        }
    }

    #[test]
    fn header_names_are_capitalised_in_messages() {
        assert_eq!(header_field(&HeaderName::from_static("x-user-id")), "X-User-Id");
    }
}
