//! Which addresses webhooks may use: public ones. Otherwise whoever configures a target could make the server send
//! requests into its own network, such as to a cloud's metadata service (SSRF).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

pub const URL_CHARS: usize = 2_048;

/// Parses a target. None: it is not allowed. Names are resolved, and their addresses checked, at every connection.
pub fn target(text: &str, private: bool) -> Option<Url> {
    if text.len() > URL_CHARS || text.contains(|c: char| c.is_control() || c.is_whitespace()) {
        return None;
    }
    let url = Url::parse(text).ok()?;
    let scheme = url.scheme() == "https" || (private && url.scheme() == "http");
    let bare = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    let public = match url.host()? {
        Host::Domain(_) => true,
        Host::Ipv4(ip) => private || is_public(ip.into()),
        Host::Ipv6(ip) => private || is_public(ip.into()),
    };
    (scheme && bare && public).then_some(url)
}

/// Scheme, host and port of a target. The rest may be secret.
pub fn origin(target: &str) -> String {
    Url::parse(target).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
}

/// Whether the address is globally reachable, and not in a private network.
pub fn is_public(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    let reserved = matches!(
        (a, b, c),
        // This network, carrier-grade NAT, protocol assignments, 6to4 relays, benchmarks, reserved.
        (0, ..) | (100, 64..=127, _) | (192, 0, 0) | (192, 88, 99) | (198, 18..=19, _) | (240.., ..)
    );
    let own = ip.is_private() || ip.is_loopback() || ip.is_link_local();
    !(reserved || own || ip.is_multicast() || ip.is_documentation())
}

/// Only global unicast, without an embedded IPv4 address.
fn is_public_v6(ip: Ipv6Addr) -> bool {
    let [a, b, ..] = ip.segments();
    let global = a & 0xe000 == 0x2000;
    // Teredo, other protocol assignments, documentation, 6to4, documentation.
    let special = (a == 0x2001 && (b < 0x0200 || b == 0x0db8)) || a == 0x2002 || a == 0x3fff;
    global && !special
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_told_from_public_ones() {
        for public in ["1.1.1.1", "93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for private in [
            "127.0.0.1",
            "127.9.9.9",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "0.1.2.3",
            "100.64.0.1",
            "192.0.0.8",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "192.0.2.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "::7f00:1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
    }

    #[test]
    fn targets_are_https_and_public_unless_allowed() {
        for good in ["https://shop.example/hooks?x=1", "https://1.1.1.1:8443/"] {
            assert!(target(good, false).is_some(), "{good}");
        }
        let private =
            ["http://shop.example/", "https://127.0.0.1/", "https://[::1]/", "https://2130706433/", "http://10.0.0.1/"];
        for one in private {
            assert!(target(one, false).is_none() && target(one, true).is_some(), "{one}");
        }
        for bad in ["", "shop.example", "ftp://a/", "https://", "https://u:p@a/", "https://a/#x", "https://a/\r\nX: y"]
        {
            assert!(target(bad, true).is_none(), "{bad}");
        }
    }
}
