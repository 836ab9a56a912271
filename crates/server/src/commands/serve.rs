//! `tickettock serve`: runs the server until it is stopped.

use std::sync::Arc;

use clap::ArgMatches;
use tokio::signal::unix::{SignalKind, signal};

use super::line;
use crate::settings::Settings;
use crate::terminal::say;
use crate::tidier::Tidier;
use crate::{backups, telemetry, wiring};

pub fn run(given: &ArgMatches) -> Result<(), String> {
    let settings = line::settings(given).map_err(|e| e.to_string())?;
    telemetry::begin_logging(&settings);
    use_small_pages();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|e| e.to_string())?;
    runtime.block_on(serve(settings))
}

/// The allocator asks for huge pages. What it gives back is smaller, so a huge page stays resident as long as
/// anything on it is used: after an hour of churn 9 MiB of live data kept 84.
fn use_small_pages() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "huge pages stay on");
    }
}

async fn serve(settings: Settings) -> Result<(), String> {
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
    tokio::spawn(backups::run(Arc::downgrade(&app)));
    drop(app);
    say!("Tickettock listens on http://{}", listening.address);
    if let Some(address) = listening.operators_address {
        say!("Health, metrics and the admin API also on http://{address}");
    }
    if let Some(file) = token_file {
        say!("Admin token: {}", file.display());
    }
    say!("Open the address in a browser for what to try first. Ctrl-C stops it.");
    listening.serve(asked_to_stop()).await;
    Ok(())
}

async fn asked_to_stop() {
    let interrupt = signal(SignalKind::interrupt());
    let terminate = signal(SignalKind::terminate());
    let (Ok(mut interrupt), Ok(mut terminate)) = (interrupt, terminate) else {
        tracing::error!("signals cannot be heard; only a kill stops this process");
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
