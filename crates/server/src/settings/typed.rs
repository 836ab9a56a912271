//! The server's settings, parsed and checked. With an invalid value the server does not start; the error
//! names the setting.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use rules::arrive::Budget;
use rules::command::Terms;
use rules::holds::{HoldTerms, Repeat};
use salvo::http::HeaderName;

use super::identity::{AuthMode, cors_origins};
use super::stores::Stores;
use super::strength::{EXPOSED_TOKEN_CHARS, VARIETY, guessable};
use super::watching::WatchSettings;
use super::{BadSetting, Values};
use crate::backups::BackupSchedule;
use crate::connections::ConnectionLimits;
use crate::connections::files::room_for_connections;
use crate::gate::planted::OverloadBug;
use crate::rates::RateLimits;
use crate::replica::ReplicaPlan;
use crate::tidier::Keep;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

#[derive(Clone, Debug)]
pub struct Settings {
    pub app_host: IpAddr,
    pub app_port: u16,
    pub data_dir: PathBuf,
    /// Where the demo that started this process is asked for things. Not a setting of the table.
    pub demo_control: Option<PathBuf>,
    pub stores: Stores,
    pub seats: u32,
    pub auth_mode: AuthMode,
    pub user_header: HeaderName,
    pub budget: Budget,
    pub terms: Terms,
    /// Only the operator's backend may confirm holds, with the admin token.
    pub confirm_by_service: bool,
    pub max_days_ahead: u32,
    pub max_retries: u32,
    /// Dialect 2025-08-17 allows reservations without a user header.
    pub anonymous: bool,
    pub default_region: String,
    pub admin_token: Option<String>,
    pub gateway_key: Option<String>,
    pub allow_trusted_header: bool,
    /// Whose pages may read answers, as browsers spell origins.
    pub cors_origins: Vec<String>,
    pub queue_depth: usize,
    pub keep: Keep,
    /// Zero: never.
    pub audit_every: Duration,
    /// None: there are no scheduled backups.
    pub backups: Option<BackupSchedule>,
    /// None: there is no continuous copy.
    pub replica: Option<ReplicaPlan>,
    /// None: as many as the limit of open files has room for.
    pub max_connections: Option<usize>,
    /// None: the default, which depends on who connects.
    pub address_connections: Option<usize>,
    pub max_watchers: usize,
    pub user_rate: u32,
    /// None: the default, which spares loopback.
    pub address_rate: Option<usize>,
    pub admin_listen: Option<SocketAddr>,
    /// Webhooks may go to private addresses.
    pub webhook_private: bool,
    pub log_filter: String,
    pub log_format: LogFormat,
    pub watching: WatchSettings,
    /// No setting: tests plant bugs.
    pub planted: OverloadBug,
}

/// The gateway has the same default.
const ADDRESS_RATE: u32 = 2_000;
/// Ten years.
pub(super) const KEEP_MOST_S: i64 = 315_360_000;
const ADMIN_TOKEN_CHARS: usize = 16;
pub(super) const GATEWAY_KEY_CHARS: usize = 32;

impl Settings {
    pub fn understand(values: &Values) -> Result<Settings, BadSetting> {
        let read = Reading { values };
        let mut settings = Settings {
            app_host: read.parsed("APP_HOST", "an IP address such as 127.0.0.1 or ::1")?,
            app_port: read.parsed("APP_PORT", "a port from 0 to 65535")?,
            data_dir: read.path("DATA_DIR")?,
            demo_control: None,
            stores: Stores::understand(&read)?,
            seats: read.within("FCFS_SEATS", 0, i64::from(rules::event::SEATS_PER_EVENT))? as u32,
            auth_mode: AuthMode::understand(&read)?,
            user_header: read.parsed("FCFS_USER_HEADER", "the name of an HTTP header")?,
            budget: budget(&read)?,
            terms: Terms {
                user_ttl_ms: read.within("FCFS_USER_TTL", 0, 315_360_000)? * 1_000,
                key_ttl_ms: read.within("KEY_KEEP", 1, KEEP_MOST_S)? * 1_000,
                holds: read.holds()?,
            },
            confirm_by_service: match read.text("CONFIRM_BY") {
                "owner" => false,
                "service" => true,
                _ => return Err(read.bad("CONFIRM_BY", "owner or service")),
            },
            max_days_ahead: read.within("MAX_DAYS_AHEAD", 1, 36_500)? as u32,
            max_retries: read.within("FCFS_MAX_RETRIES", 0, 100)? as u32,
            anonymous: false,
            default_region: read.region("DEFAULT_REGION")?,
            admin_token: read.secret("ADMIN_TOKEN", ADMIN_TOKEN_CHARS)?,
            gateway_key: read.strong_secret("GATEWAY_KEY", GATEWAY_KEY_CHARS)?,
            allow_trusted_header: read.switch("ALLOW_TRUSTED_HEADER")?,
            cors_origins: cors_origins(&read)?,
            queue_depth: read.within("QUEUE_DEPTH", 1, 1_000_000)? as usize,
            keep: read.keep()?,
            audit_every: Duration::from_secs(read.within("AUDIT_EVERY", 0, KEEP_MOST_S)? as u64),
            backups: read.backups()?,
            replica: read.replica()?,
            max_connections: read.unless_empty("MAX_CONNECTIONS", |name| read.within(name, 1, 1_000_000))?,
            address_connections: read.unless_empty("ADDRESS_CONNECTIONS", |name| read.within(name, 0, 1_000_000))?,
            max_watchers: read.within("MAX_WATCHERS", 0, 1_000_000)? as usize,
            user_rate: read.within("USER_RATE", 0, 1_000_000)? as u32,
            address_rate: read.unless_empty("ADDRESS_RATE", |name| read.within(name, 0, 1_000_000))?,
            admin_listen: match read.text("ADMIN_LISTEN").trim() {
                "" => None,
                _ => Some(read.parsed("ADMIN_LISTEN", "an address and a port such as 127.0.0.1:5900")?),
            },
            webhook_private: read.switch("WEBHOOK_PRIVATE")?,
            log_filter: read.log_filter("RUST_LOG")?,
            log_format: match read.text("LOG_FORMAT") {
                "text" => LogFormat::Text,
                "json" => LogFormat::Json,
                _ => return Err(read.bad("LOG_FORMAT", "text or json")),
            },
            watching: WatchSettings::understand(&read)?,
            planted: OverloadBug::None,
        };
        let tokens_say_who = settings.auth_mode.jwt().is_some();
        settings.anonymous = match read.text("FCFS_ANONYMOUS") {
            "" => settings.app_host.is_loopback() && settings.gateway_key.is_none() && !tokens_say_who,
            _ => read.switch("FCFS_ANONYMOUS")?,
        };
        if settings.anonymous && tokens_say_who {
            return Err(read.bad("FCFS_ANONYMOUS", "0 with AUTH_MODE=jwt, where a token says who asks"));
        }
        if settings.admin_token.is_none() && settings.stores != Stores::Embedded {
            return Err(BadSetting(
                "ADMIN_TOKEN is unset: it is required with DATABASE_URL, with the same value on every server".into(),
            ));
        }
        settings.copies_of_sqlite(&read)?;
        settings.safe_to_listen()?;
        if settings.exposed() {
            read.strong_secret("ADMIN_TOKEN", EXPOSED_TOKEN_CHARS)?;
        }
        Ok(settings)
    }

    /// So few requests are never refused only because they wait long: at the default as many as one batch takes.
    pub fn few(&self) -> usize {
        (self.queue_depth / 16).max(64)
    }

    pub fn connection_limits(&self) -> ConnectionLimits {
        let most = self.max_connections.unwrap_or_else(room_for_connections);
        let many_behind_one = self.gateway_key.is_some() || self.allow_trusted_header;
        let (per_address, loopback_unlimited) = match self.address_connections {
            Some(0) => (usize::MAX, true),
            Some(given) => (given, false),
            None if many_behind_one => (usize::MAX, true),
            None => ((most / 4).max(1), true),
        };
        ConnectionLimits { most, per_address, loopback_unlimited }
    }

    pub fn rate_limits(&self) -> RateLimits {
        let (address, loopback_unlimited) = match self.address_rate {
            Some(given) => (given as u32, false),
            None => (ADDRESS_RATE, true),
        };
        RateLimits { user: self.user_rate, address, loopback_unlimited }
    }

    /// The data folder and the stores only, for commands that read the ledger and need no other setting.
    pub fn ledger(values: &Values) -> Result<(PathBuf, Stores), BadSetting> {
        let read = Reading { values };
        Ok((read.path("DATA_DIR")?, Stores::understand(&read)?))
    }

    /// Where health checks go, for the command that needs no other setting.
    pub fn health_address(values: &Values) -> Result<SocketAddr, BadSetting> {
        let read = Reading { values };
        match read.text("ADMIN_LISTEN").trim() {
            "" => {
                let host: IpAddr = read.parsed("APP_HOST", "an IP address such as 127.0.0.1 or ::1")?;
                Ok(SocketAddr::new(host, read.parsed("APP_PORT", "a port from 0 to 65535")?))
            }
            _ => read.parsed("ADMIN_LISTEN", "an address and a port such as 127.0.0.1:5900"),
        }
    }

    /// Others than programs on this machine can reach the server.
    pub fn exposed(&self) -> bool {
        let behind_proxy = self.gateway_key.is_some() || self.allow_trusted_header || self.auth_mode.jwt().is_some();
        let operators_too = self.admin_listen.is_some_and(|address| !address.ip().is_loopback());
        !self.app_host.is_loopback() || behind_proxy || operators_too
    }

    /// Trusting the user header from any address must be an explicit choice.
    fn safe_to_listen(&self) -> Result<(), BadSetting> {
        let tokens_say_who = self.auth_mode.jwt().is_some();
        if self.app_host.is_loopback() || self.gateway_key.is_some() || self.allow_trusted_header || tokens_say_who {
            return Ok(());
        }
        Err(BadSetting(format!(
            "APP_HOST {} is not loopback, and AUTH_MODE=header does not authenticate users: \
             set GATEWAY_KEY, or ALLOW_TRUSTED_HEADER=1 if a proxy in front sets {}",
            self.app_host, self.user_header
        )))
    }
}

/// Used by the servers and the gateway.
pub(super) fn budget(read: &Reading<'_>) -> Result<Budget, BadSetting> {
    Ok(Budget {
        limit: read.within("FCFS_IP_LIMIT", 0, 1_000_000)? as u32,
        window_ms: read.within("FCFS_IP_WINDOW", 1, 86_400)? * 1_000,
    })
}

pub(super) struct Reading<'a> {
    pub(super) values: &'a Values,
}

impl Reading<'_> {
    pub(super) fn text(&self, name: &str) -> &str {
        &self.values.get(name).text
    }

    pub(super) fn bad(&self, name: &str, expected: &str) -> BadSetting {
        let value = self.values.get(name);
        let secret = super::SETTINGS.iter().any(|s| s.name == name && s.secret);
        let shown = if secret { "hidden".to_owned() } else { format!("{:?}", value.text) };
        BadSetting(format!("{name} ({}) is {shown}: expected {expected}", value.origin))
    }

    fn holds(&self) -> Result<HoldTerms, BadSetting> {
        let (ttl, max_age) = (self.within("HOLD_TTL", 1, 86_400)?, self.within("HOLD_MAX_AGE", 1, 604_800)?);
        if ttl > max_age {
            return Err(self.bad("HOLD_TTL", &format!("at most HOLD_MAX_AGE, which is {max_age}")));
        }
        let (again_after, keep) =
            (self.within("HOLD_AGAIN_AFTER", 0, 86_400)?, self.within("HOLD_KEEP", 1, KEEP_MOST_S)?);
        if again_after > keep {
            return Err(self.bad("HOLD_AGAIN_AFTER", &format!("at most HOLD_KEEP, which is {keep}")));
        }
        Ok(HoldTerms {
            ttl_ms: ttl * 1_000,
            max_age_ms: max_age * 1_000,
            repeat: match self.text("HOLD_REPEAT") {
                "same" => Repeat::Same,
                "replace" => Repeat::Replace,
                _ => return Err(self.bad("HOLD_REPEAT", "same or replace")),
            },
            per_user: self.within("HOLDS_PER_USER", 1, 1_000)? as u32,
            again_after_ms: again_after * 1_000,
        })
    }

    fn keep(&self) -> Result<Keep, BadSetting> {
        let days = self.within("PERSONAL_DATA_DAYS", 0, 36_500)?;
        // A kept answer repeats what the order had.
        if days > 0 && self.within("KEY_KEEP", 1, KEEP_MOST_S)? > days * 86_400 {
            return Err(self.bad("PERSONAL_DATA_DAYS", "0, or at least as long as KEY_KEEP"));
        }
        Ok(Keep {
            holds_ms: self.within("HOLD_KEEP", 1, KEEP_MOST_S)? * 1_000,
            silent_ms: self.within("QUEUE_KEEP", 1, KEEP_MOST_S)? * 1_000,
            deleted_ms: self.within("DELETED_KEEP", 1, KEEP_MOST_S)? * 1_000,
            personal_ms: (days > 0).then_some(days * 86_400_000),
            unused: Duration::from_secs(self.within("CACHE_KEEP", 1, 86_400)? as u64),
        })
    }

    pub(super) fn parsed<T: FromStr>(&self, name: &str, expected: &str) -> Result<T, BadSetting> {
        self.text(name).trim().parse().map_err(|_| self.bad(name, expected))
    }

    pub(super) fn within(&self, name: &str, least: i64, most: i64) -> Result<i64, BadSetting> {
        let expected = || self.bad(name, &format!("a whole number from {least} to {most}"));
        let number: i64 = self.text(name).trim().parse().map_err(|_| expected())?;
        if (least..=most).contains(&number) { Ok(number) } else { Err(expected()) }
    }

    /// None: the setting is empty.
    fn unless_empty(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Result<i64, BadSetting>,
    ) -> Result<Option<usize>, BadSetting> {
        if self.text(name).trim().is_empty() { Ok(None) } else { read(name).map(|number| Some(number as usize)) }
    }

    pub(super) fn switch(&self, name: &str) -> Result<bool, BadSetting> {
        match self.text(name).trim() {
            "0" | "false" => Ok(false),
            "1" | "true" => Ok(true),
            _ => Err(self.bad(name, "0 or 1")),
        }
    }

    fn path(&self, name: &str) -> Result<PathBuf, BadSetting> {
        let text = self.text(name);
        if text.is_empty() { Err(self.bad(name, "a folder")) } else { Ok(PathBuf::from(text)) }
    }

    pub(super) fn region(&self, name: &str) -> Result<String, BadSetting> {
        let text = self.text(name);
        let plain = text.len() == 2 && text.bytes().all(|b| b.is_ascii_uppercase());
        let known = plain && text.parse::<phonenumber::country::Id>().is_ok();
        if known { Ok(text.to_owned()) } else { Err(self.bad(name, "a region such as KR")) }
    }

    pub(super) fn secret(&self, name: &str, least: usize) -> Result<Option<String>, BadSetting> {
        let text = self.text(name);
        if text.is_empty() {
            return Ok(None);
        }
        let visible = text.bytes().all(|b| b.is_ascii_graphic());
        if text.len() < least || !visible {
            return Err(self.bad(name, &format!("at least {least} visible ASCII characters")));
        }
        Ok(Some(text.to_owned()))
    }

    /// A secret that strangers may try to guess.
    pub(super) fn strong_secret(&self, name: &str, least: usize) -> Result<Option<String>, BadSetting> {
        let wanted = || {
            format!(
                "at least {least} visible ASCII characters, {VARIETY} of them different, and not the text of an example, because \
                 others than this machine can try to guess it; for example the output of: openssl rand -hex 32"
            )
        };
        match self.secret(name, least) {
            Ok(Some(secret)) if guessable(&secret) => Err(self.bad(name, &wanted())),
            Err(_) => Err(self.bad(name, &wanted())),
            told => told,
        }
    }

    fn log_filter(&self, name: &str) -> Result<String, BadSetting> {
        let text = self.text(name);
        match tracing_subscriber::EnvFilter::try_new(text) {
            Ok(_) => Ok(text.to_owned()),
            Err(_) => Err(self.bad(name, "a log filter such as info or debug,salvo=warn")),
        }
    }
}

#[cfg(test)]
mod tests;
