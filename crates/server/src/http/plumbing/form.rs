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

/// Every path has one spelling: no escapes, no empty or relative parts, no slash at the end.
pub fn check_path(path: &str) -> Result<(), Refusal> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~');
    let part = |part: &str| !matches!(part, "" | "." | "..") && part.bytes().all(plain);
    let sound = path == "/" || path.strip_prefix('/').is_some_and(|rest| rest.split('/').all(part));
    if sound { Ok(()) } else { Err(Refusal::NoSuchPath) }
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
