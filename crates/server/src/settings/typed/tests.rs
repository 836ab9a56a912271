use super::*;

const KEY: &str = "a-key-of-a-gateway-in-the-tests.";
const EXAMPLE: &str = "change-me-0123456789abcdefghijklmnop";

fn with(pairs: &[(&str, &str)]) -> Result<Settings, BadSetting> {
    let environment = |name: &str| pairs.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
    Settings::understand(&Values::gather(|_| None, environment, None)?)
}

#[test]
fn defaults_match_the_documentation() {
    let s = with(&[]).unwrap();
    assert_eq!((s.app_host.to_string(), s.app_port, s.seats), ("127.0.0.1".into(), 5800, 9));
    assert_eq!((s.terms.user_ttl_ms, s.budget.limit, s.queue_depth), (900_000, 0, 8192));
}

#[test]
fn errors_name_the_invalid_setting() {
    for (name, value) in [
        ("APP_PORT", "99999"),
        ("APP_HOST", "localhost"),
        ("FCFS_SEATS", "-1"),
        ("FCFS_SEATS", "nine"),
        ("FCFS_USER_HEADER", "a b"),
        ("FCFS_IP_WINDOW", "0"),
        ("DEFAULT_REGION", "KOR"),
        ("AUTH_MODE", "none"),
        ("ADMIN_TOKEN", "short"),
        ("GATEWAY_KEY", "short"),
        ("ALLOW_TRUSTED_HEADER", "maybe"),
        ("FCFS_ANONYMOUS", "yes"),
        ("QUEUE_DEPTH", "0"),
        ("MAX_CONNECTIONS", "0"),
        ("ADDRESS_CONNECTIONS", "many"),
        ("USER_RATE", "-1"),
        ("ADDRESS_RATE", "many"),
        ("ADMIN_LISTEN", "5900"),
        ("HOLD_TTL", "0"),
        ("HOLD_TTL", "1801"),
        ("HOLD_MAX_AGE", "forever"),
        ("HOLD_REPEAT", "again"),
        ("HOLDS_PER_USER", "-1"),
        ("HOLD_AGAIN_AFTER", "soon"),
        ("CONFIRM_BY", "anybody"),
        ("MAX_DAYS_AHEAD", "0"),
        ("KEY_KEEP", "0"),
        ("HOLD_KEEP", "-1"),
        ("QUEUE_KEEP", "never"),
        ("DELETED_KEEP", "0"),
        ("CACHE_KEEP", "0"),
        ("BACKUP_EVERY", "0"),
        ("BACKUP_KEEP", "0"),
        ("REPLICATE_EVERY", "0"),
        ("LOG_FORMAT", "xml"),
        ("RUST_LOG", "no such=level=x"),
    ] {
        let BadSetting(why) = with(&[(name, value)]).expect_err(name);
        assert!(why.starts_with(name) && why.contains("environment"), "{why}");
        let secret = name.ends_with("TOKEN") || name.ends_with("KEY");
        assert_eq!(why.contains(value), !secret, "{why}");
    }
}

#[test]
fn listening_beyond_loopback_needs_an_explicit_choice() {
    assert!(with(&[("APP_HOST", "0.0.0.0")]).is_err());
    assert!(with(&[("APP_HOST", "0.0.0.0"), ("ALLOW_TRUSTED_HEADER", "1")]).is_ok());
    assert!(with(&[("APP_HOST", "::"), ("GATEWAY_KEY", KEY)]).is_ok());
    assert!(with(&[("APP_HOST", "::1")]).is_ok());
}

#[test]
fn admin_token_must_be_strong_where_strangers_can_reach_it() {
    let (short, flat, good) = ("0123456789abcdef", "ab".repeat(20), "0123456789abcdef".repeat(2));
    let exposed = [("APP_HOST", "0.0.0.0"), ("GATEWAY_KEY", KEY), ("ADMIN_LISTEN", "0.0.0.0:5900")];
    assert!(with(&[("ADMIN_TOKEN", short)]).is_ok());
    for setting in exposed {
        for token in [short, flat.as_str(), EXAMPLE] {
            let mut given = vec![("ADMIN_TOKEN", token), setting];
            if setting.0 == "APP_HOST" {
                given.push(("GATEWAY_KEY", KEY));
            }
            let BadSetting(why) = with(&given).unwrap_err();
            assert!(why.contains("ADMIN_TOKEN") && !why.contains(token), "{why}");
        }
    }
    assert!(with(&[("ADMIN_TOKEN", &good), exposed[0], exposed[1], exposed[2]]).is_ok());
    assert!(with(&[("ADMIN_TOKEN", short), ("ADMIN_LISTEN", "127.0.0.1:5900")]).is_ok());
}

/// Whoever guesses the key of the gateway, or signs tokens, is any user.
#[test]
fn keys_that_can_be_guessed_are_refused() {
    let flat = "ab".repeat(20);
    for key in ["short", flat.as_str(), EXAMPLE] {
        for name in ["GATEWAY_KEY", "JWT_SECRET"] {
            let BadSetting(why) = with(&[(name, key), ("JWT_SECRET", KEY), ("AUTH_MODE", "jwt")]).unwrap_err();
            assert!(why.starts_with(name) && !why.contains(key), "{why}");
        }
    }
}

#[test]
fn secrets_come_from_files_and_are_not_shown() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("token");
    std::fs::write(&file, "0123456789abcdef\n").unwrap();
    let named = file.display().to_string();
    let settings = with(&[("ADMIN_TOKEN_FILE", &named)]).unwrap();
    assert_eq!(settings.admin_token.as_deref(), Some("0123456789abcdef"));
    let BadSetting(why) = with(&[("ADMIN_TOKEN_FILE", &named), ("ADMIN_TOKEN", "0123456789abcdef")]).unwrap_err();
    assert!(why.contains("both set") && !why.contains("0123"), "{why}");
    let BadSetting(why) = with(&[("GATEWAY_KEY_FILE", "/no/such/file")]).unwrap_err();
    assert!(why.contains("GATEWAY_KEY_FILE") && why.contains("/no/such/file"), "{why}");
    for broken in
        ["app_port = 1\nadmin_token = 'hunter2hunter2", "admin_token = \"hunter2\" x", "admin_token = hunter2"]
    {
        std::fs::write(&file, broken).unwrap();
        let BadSetting(why) = Values::gather(|_| None, |_| None, Some(&file)).unwrap_err();
        let line = broken.matches('\n').count() + 1;
        assert!(why.contains(&format!("line {line}, column ")) && !why.contains("hunter"), "{why}");
    }
}

#[test]
fn anonymous_reservations_default_to_loopback_only() {
    assert!(with(&[]).unwrap().anonymous);
    assert!(!with(&[("GATEWAY_KEY", KEY)]).unwrap().anonymous);
    assert!(!with(&[("APP_HOST", "0.0.0.0"), ("ALLOW_TRUSTED_HEADER", "1")]).unwrap().anonymous);
    assert!(with(&[("GATEWAY_KEY", KEY), ("FCFS_ANONYMOUS", "1")]).unwrap().anonymous);
    assert!(!with(&[("FCFS_ANONYMOUS", "0")]).unwrap().anonymous);
}

#[test]
fn flags_override_environment_overrides_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("t.toml");
    std::fs::write(&file, "app_port = 1\nfcfs_seats = 2\nqueue_depth = 3\n").unwrap();
    let flags = |s: &crate::settings::Setting| (s.name == "APP_PORT").then(|| "10".to_owned());
    let environment = |n: &str| ["APP_PORT", "FCFS_SEATS"].contains(&n).then(|| "20".to_owned());
    let s = Settings::understand(&Values::gather(flags, environment, Some(&file)).unwrap()).unwrap();
    assert_eq!((s.app_port, s.seats, s.queue_depth), (10, 20, 3));
    std::fs::write(&file, "no_such = 1\n").unwrap();
    let BadSetting(why) = Values::gather(|_| None, |_| None, Some(&file)).unwrap_err();
    assert!(why.contains("no_such"), "{why}");
}
