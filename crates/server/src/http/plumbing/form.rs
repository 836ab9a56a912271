//! The form of a request, before anything else is looked at. What two programs may read in two ways is
//! refused: a proxy in front would check one thing, and the server would do another.

use rules::outcome::{Expected, FieldError, Problem, Refusal};
use salvo::http::header::{HOST, TRANSFER_ENCODING};
use salvo::http::{HeaderMap, Version};

/// One `Host`, and one way to tell where the body ends.
pub fn check_framing(version: Version, headers: &HeaderMap) -> Result<(), Refusal> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => !host.is_empty(),
        // HTTP/1.0 knows no Host.
        (None, _) => version < Version::HTTP_11,
        (Some(_), Some(_)) => false,
    };
    // hyper refuses an encoding that does not end in chunked, and drops a length beside one.
    let framed = headers.get_all(TRANSFER_ENCODING).iter().count() <= 1;
    if host && framed {
        return Ok(());
    }
    Err(FieldError::refused("request", Problem::Expected(Expected::WellFormedRequest)))
}

/// What only an operator's path has in front of a user's id.
const USERS: &str = "/api/v1/admin/users/";

/// Every path has one spelling: no escapes, no empty or relative parts, no slash at the end. The id of a user may be
/// any text, so its part is escaped, where it must be and nowhere else.
pub fn check_path(path: &str) -> Result<(), Refusal> {
    let part = |part: &str| !matches!(part, "" | "." | "..") && part.bytes().all(plain);
    let parts = |path: &str| path.split('/').all(part);
    let sound = match path.strip_prefix(USERS) {
        Some(rest) => {
            let (user, rest) = rest.split_once('/').map_or((rest, None), |(user, rest)| (user, Some(rest)));
            escaped(user) && rest.is_none_or(parts)
        }
        None => path == "/" || path.strip_prefix('/').is_some_and(parts),
    };
    if sound { Ok(()) } else { Err(Refusal::NoSuchPath) }
}

fn plain(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~')
}

/// One part of a path with whatever is not plain as `%` and two digits, in upper case.
fn escaped(part: &str) -> bool {
    let digit = |b: u8| match b {
        b'0'..=b'9' => Some(b - b'0'),
        b'A'..=b'F' => Some(b - b'A' + 10),
        _ => None,
    };
    let mut bytes = part.bytes();
    while let Some(b) = bytes.next() {
        let sound = match b {
            b'%' => {
                let byte = bytes.next().and_then(digit).zip(bytes.next().and_then(digit));
                byte.is_some_and(|(high, low)| !plain(high * 16 + low))
            }
            b => plain(b),
        };
        if !sound {
            return false;
        }
    }
    !matches!(part, "" | "." | "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_one_spelling() {
        for good in ["/", "/docs", "/api/v1/events/1/seats", "/openapi/2025-08-17.json", "/v1/holds/he2-31"] {
            assert!(check_path(good).is_ok(), "{good}");
        }
        for bad in ["", "//", "//api//v1", "/docs/", "/api/v1/%61dmin", "/a/./b", "/a/../b", "/a;b", "/ä", "*", "api"]
        {
            assert!(check_path(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ids_of_users_are_escaped_in_one_way() {
        let at = |user: &str| check_path(&format!("/api/v1/admin/users/{user}/data")).is_ok();
        for good in ["alice", "alice%40example.com", "auth0%7C1", "%EA%B9%80", "a%2Fb", "a%20b"] {
            assert!(at(good) && check_path(&format!("/api/v1/admin/users/{good}")).is_ok(), "{good}");
        }
        for bad in ["", ".", "..", "%61lice", "alice%4", "alice%", "%4g", "auth0%7c1", "a@b", "김"] {
            assert!(!at(bad), "{bad}");
        }
        assert!(check_path("/api/v1/admin/users/alice/d%61ta").is_err());
        assert!(check_path("/api/v1/admin/tokens/a%40b").is_err(), "nowhere else");
    }

    #[test]
    fn framing_is_told_once() {
        let check = |version, given: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in given {
                headers.append(*name, value.parse().unwrap());
            }
            check_framing(version, &headers).is_ok()
        };
        let (old, new, host) = (Version::HTTP_10, Version::HTTP_11, ("host", "a"));
        assert!(check(new, &[host]) && check(old, &[]) && check(new, &[host, ("transfer-encoding", "chunked")]));
        assert!(check(new, &[host, ("content-length", "2")]));
        let chunked = ("transfer-encoding", "chunked");
        for bad in [&[][..], &[host, host], &[("host", "")], &[host, chunked, chunked]] {
            assert!(!check(new, bad), "{bad:?}");
        }
    }
}
