//! `tickettock serve`: runs the server until it is stopped.

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{oneshot, watch};

use super::{Broken, Ended, line};
use crate::backups::BackupSchedule;
use crate::clock::{Hands, SystemHands};
use crate::reload::{ReloadedSettings, Reloader};
use crate::settings::{LogFormat, Settings};
use crate::supervisor::Supervisor;
use crate::terminal::say;
use crate::tidier::Tidier;
use crate::{backups, replica, telemetry, wiring};

const DEMO_CONTROL: &str = "demo-control";
const WITHOUT_METRICS: &str = "without-metrics";

pub fn command() -> Command {
    // For `tickettock demo`, which starts the server as a process of its own.
    let demo = Arg::new(DEMO_CONTROL).long(DEMO_CONTROL).value_parser(value_parser!(PathBuf)).hide(true);
    // For the benchmark that measures what metrics cost.
    let off = Arg::new(WITHOUT_METRICS).long(WITHOUT_METRICS).action(ArgAction::SetTrue).hide(true);
    Command::new("serve").about("Start the server").arg(demo).arg(off)
}

pub fn run(given: &ArgMatches) -> Ended {
    let mut settings = line::settings(given).map_err(|e| e.to_string())?;
    settings.demo_control = given.get_one::<PathBuf>(DEMO_CONTROL).cloned();
    if given.get_flag(WITHOUT_METRICS) {
        telemetry::switch::switch_off();
    }
    let log = telemetry::begin_logging(&settings);
    use_small_pages();
    let format = settings.log_format;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|e| e.to_string())?;
    let values = line::values(given).map_err(|e| e.to_string())?;
    let (backups, schedules) = watch::channel(settings.backups.clone());
    let reloader = Reloader { values, log, backups };
    runtime.block_on(serve(settings, given, reloader, schedules)).map_err(|why| match format {
        LogFormat::Text => Broken::Command(why),
        LogFormat::Json => {
            tracing::error!(%why, "the server ends");
            Broken::Logged
        }
    })
}

/// For whoever started it. With LOG_FORMAT=json a program reads that, too.
fn greet(format: LogFormat, text: &str) {
    match format {
        LogFormat::Text => say!("{text}"),
        LogFormat::Json => say!("{}", telemetry::as_event(SystemHands.wall(), text)),
    }
}

/// The allocator asks for huge pages. What it gives back is smaller, so a huge page stays resident as long as
/// anything on it is used: after an hour of a soak 9 MiB of live data kept 84.
fn use_small_pages() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "huge pages stay on");
    }
}

async fn serve(
    settings: Settings,
    given: &ArgMatches,
    reloader: Reloader,
    schedules: watch::Receiver<Option<BackupSchedule>>,
) -> Result<(), String> {
    let supervisor = Arc::new(Supervisor::from_environment());
    let format = settings.log_format;
    if settings.allow_trusted_header && settings.auth_mode.jwt().is_none() {
        tracing::warn!("ALLOW_TRUSTED_HEADER=1: {} is believed from any address", settings.user_header);
    }
    if settings.auth_mode.jwt().is_some() && settings.allow_trusted_header {
        tracing::warn!("ALLOW_TRUSTED_HEADER=1 has no effect with AUTH_MODE=jwt");
    }
    let token_file = settings.admin_token.is_none().then(|| wiring::admin_token_file(&settings.data_dir));
    let app = wiring::start(settings).await?;
    let listening = wiring::listen(app.clone()).await?;
    tokio::spawn(Tidier::new(&app).run());
    if !telemetry::switch::is_off() {
        tokio::spawn(telemetry::audits::audit(Arc::downgrade(&app), app.settings.audit_every));
        tokio::spawn(telemetry::audits::census(Arc::downgrade(&app)));
    }
    tokio::spawn(backups::run(Arc::downgrade(&app), schedules));
    if let Some(plan) = app.settings.replica.clone() {
        tokio::spawn(replica::run(Arc::downgrade(&app), plan));
    }
    drop(app);
    // Heard before anybody is told that the server is there: a signal would end it otherwise.
    let reloading = reload_on_hangup(given.clone(), reloader, supervisor.clone());
    let asked = asked_to_stop();
    greet(format, &format!("Tickettock listens on http://{}", listening.address));
    if let Some(address) = listening.operators_address {
        greet(format, &format!("Health, metrics and the admin API also on http://{address}"));
    }
    if let Some(file) = token_file {
        greet(format, &format!("Admin token: {}", file.display()));
    }
    if format == LogFormat::Text {
        say!("Open the address in a browser for what to try first. Ctrl-C stops it.");
    }
    supervisor.ready(listening.address);
    let alive = tokio::spawn({
        let supervisor = supervisor.clone();
        async move { supervisor.stay_alive().await }
    });
    let reloading = tokio::spawn(reloading);
    let in_demo = given.contains_id(DEMO_CONTROL);
    let stop = async move {
        tokio::select! {
            () = asked => {}
            () = demo_ended(), if in_demo => {}
        }
        supervisor.stopping();
    };
    listening.serve(stop).await;
    alive.abort();
    reloading.abort();
    Ok(())
}

fn reload_on_hangup(
    given: ArgMatches,
    mut reloader: Reloader,
    supervisor: Arc<Supervisor>,
) -> impl Future<Output = ()> + Send {
    let hangup = signal(SignalKind::hangup());
    async move {
        let Ok(mut hangup) = hangup else { return };
        while hangup.recv().await.is_some() {
            supervisor.reloading();
            match line::values(&given).and_then(|values| reloader.reload(values)) {
                Ok(reloaded) => log_reload(&reloaded),
                Err(why) => tracing::error!(%why, "the settings stay as they are"),
            }
            supervisor.reloaded();
        }
    }
}

fn log_reload(reloaded: &ReloadedSettings) {
    tracing::info!(applied = reloaded.applied.join(", "), "settings read again");
    if !reloaded.need_restart.is_empty() {
        tracing::warn!(settings = reloaded.need_restart.join(", "), "these changed too, and need a restart");
    }
}

/// Nobody is left behind: the demo holds the other end of standard input.
async fn demo_ended() {
    let (ended, hears) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        let _ = std::io::stdin().lock().read_to_end(&mut Vec::new());
        drop(ended);
    });
    let _ = hears.await;
}

fn asked_to_stop() -> impl Future<Output = ()> + Send {
    let interrupt = signal(SignalKind::interrupt());
    let terminate = signal(SignalKind::terminate());
    async move {
        let (Ok(mut interrupt), Ok(mut terminate)) = (interrupt, terminate) else {
            tracing::error!("signals cannot be heard; only a kill stops this process");
            return std::future::pending().await;
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }
}
