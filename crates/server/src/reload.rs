//! SIGHUP: reads the settings again and applies those that may change while the server runs. The others are named
//! in the log; they need a restart.

use crate::backups::BackupSchedule;
use crate::settings::{BadSetting, SETTINGS, Settings, Values};
use crate::telemetry::LogControl;

/// Applied at once.
pub const RELOADABLE: &[&str] = &["RUST_LOG", "BACKUP_DIR", "BACKUP_EVERY", "BACKUP_KEEP"];

/// What a running server can change.
pub struct Reloader {
    pub values: Values,
    pub log: LogControl,
    pub backups: tokio::sync::watch::Sender<Option<BackupSchedule>>,
}

/// Names of settings.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ReloadedSettings {
    pub applied: Vec<&'static str>,
    pub need_restart: Vec<&'static str>,
}

impl Reloader {
    /// Nothing changes if one of them is invalid.
    pub fn reload(&mut self, new: Values) -> Result<ReloadedSettings, BadSetting> {
        let settings = Settings::understand(&new)?;
        let mut reloaded = ReloadedSettings::default();
        for setting in SETTINGS {
            if self.values.get(setting.name).text == new.get(setting.name).text {
                continue;
            }
            let list =
                if RELOADABLE.contains(&setting.name) { &mut reloaded.applied } else { &mut reloaded.need_restart };
            list.push(setting.name);
        }
        if reloaded.applied.contains(&"RUST_LOG") {
            (self.log)(&settings.log_filter);
        }
        self.backups.send_if_modified(|schedule| {
            let changed = *schedule != settings.backups;
            *schedule = settings.backups;
            changed
        });
        self.values = new;
        Ok(reloaded)
    }
}
