//! Selects the ledger and the door from `DATABASE_URL` and `REDIS_URL`.

use super::BadSetting;
use super::typed::Reading;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stores {
    /// SQLite in the data folder, the door in the process.
    Embedded,
    Postgres {
        url: String,
        pool: usize,
        /// None: the door is in the process, and there can be one server only.
        redis: Option<Redis>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redis {
    pub url: String,
    pub cluster: bool,
}

impl Stores {
    pub(super) fn understand(read: &Reading<'_>) -> Result<Stores, BadSetting> {
        let redis = redis(read)?;
        let url = read.text("DATABASE_URL").trim();
        if url.is_empty() {
            return match redis {
                None => Ok(Stores::Embedded),
                Some(_) => Err(BadSetting(
                    "REDIS_URL is set and DATABASE_URL is not: with SQLite the door is always in the process. \
                     Set DATABASE_URL to a PostgreSQL for several servers, or unset REDIS_URL"
                        .into(),
                )),
            };
        }
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(read.bad("DATABASE_URL", "postgres://user:password@host:port/database"));
        }
        let pool = read.within("DB_POOL", 2, 1_000)? as usize;
        Ok(Stores::Postgres { url: url.to_owned(), pool, redis })
    }
}

pub(super) fn redis(read: &Reading<'_>) -> Result<Option<Redis>, BadSetting> {
    let (url, host) = (read.text("REDIS_URL").trim(), read.text("REDIS_HOST").trim());
    let cluster = read.switch("REDIS_CLUSTER")?;
    match (url.is_empty(), host.is_empty()) {
        (true, true) => Ok(None),
        (false, false) => Err(BadSetting("REDIS_URL and REDIS_HOST are both set: set only one of them".into())),
        (false, true) => {
            let sound = url.split(',').all(|one| ["redis://", "rediss://"].iter().any(|s| one.trim().starts_with(s)));
            if !sound {
                return Err(read.bad("REDIS_URL", "redis://:password@host:port, or rediss:// for TLS"));
            }
            Ok(Some(Redis { url: url.to_owned(), cluster }))
        }
        (true, false) => {
            let port = read.within("REDIS_PORT", 1, 65_535)?;
            let password = read.text("REDIS_PASSWORD");
            let who = if password.is_empty() { String::new() } else { format!(":{}@", escaped(password)) };
            Ok(Some(Redis { url: format!("redis://{who}{host}:{port}"), cluster }))
        }
    }
}

/// Percent-encodes a password for a URL.
fn escaped(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Settings, Values};

    fn with(pairs: &[(&str, &str)]) -> Result<Stores, String> {
        let environment = |name: &str| pairs.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
        let values = Values::gather(|_| None, environment, None).map_err(|e| e.to_string())?;
        Settings::understand(&values).map(|s| s.stores).map_err(|e| e.to_string())
    }

    const POSTGRES: (&str, &str) = ("DATABASE_URL", "postgres://u:p@h/db");
    const TOKEN: (&str, &str) = ("ADMIN_TOKEN", "0123456789abcdef");

    #[test]
    fn urls_select_the_stores() {
        assert_eq!(with(&[]), Ok(Stores::Embedded));
        let Ok(Stores::Postgres { redis: None, pool: 8, .. }) = with(&[POSTGRES, TOKEN]) else { panic!() };
        let parts = [POSTGRES, TOKEN, ("REDIS_HOST", "r"), ("REDIS_PORT", "7000"), ("REDIS_PASSWORD", "a b@c")];
        let Ok(Stores::Postgres { redis: Some(redis), .. }) = with(&parts) else { panic!() };
        assert_eq!(redis.url, "redis://:a%20b%40c@r:7000");
        let cluster = [POSTGRES, TOKEN, ("REDIS_URL", "rediss://a:1,rediss://b:2"), ("REDIS_CLUSTER", "1")];
        let Ok(Stores::Postgres { redis: Some(redis), .. }) = with(&cluster) else { panic!() };
        assert!(redis.cluster);
    }

    #[test]
    fn contradictory_settings_are_refused() {
        let redis = ("REDIS_URL", "redis://h");
        for (pairs, words) in [
            (&[redis][..], "DATABASE_URL is not"),
            (&[POSTGRES][..], "ADMIN_TOKEN"),
            (&[POSTGRES, TOKEN, redis, ("REDIS_HOST", "h")][..], "both set"),
            (&[("DATABASE_URL", "mysql://h/db"), TOKEN][..], "postgres://"),
            (&[POSTGRES, TOKEN, ("REDIS_URL", "http://h")][..], "redis://"),
        ] {
            let why = with(pairs).expect_err(words);
            assert!(why.contains(words), "{why}");
            assert!(!why.contains("u:p@"), "the message contains a password: {why}");
        }
    }
}
