//! `tickettock doctor`: what a sale depends on, looked at from this machine. `tickettock healthcheck`: whether the
//! server here is ready, for containers, which have no curl.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command};
use client::{HttpRequest, Target};
use serde_json::json;

use super::line;
use crate::doctor::{self, Diagnosis, PlannedSale, Severity};
use crate::settings::Settings;
use crate::terminal::{complain, say};

const HEALTH_TIME: Duration = Duration::from_secs(3);

pub fn doctor() -> Command {
    let sale = Arg::new("sale").long("sale").value_name("PEOPLE/SEATS");
    let sale = sale.value_parser(clap::value_parser!(PlannedSale));
    let json = Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print the findings as JSON");
    Command::new("doctor")
        .about("Look at limits, clocks, disk, PostgreSQL and Redis; exit 1 with a warning, 3 if it must not sell like this")
        .arg(sale.help("Also measure this machine, and reckon a sale such as 50000/500"))
        .arg(json)
}

pub fn healthcheck() -> Command {
    let url = Arg::new("url").long("url").help("The server, if not at ADMIN_LISTEN or APP_HOST and APP_PORT");
    let live = Arg::new("live").long("live").action(ArgAction::SetTrue);
    Command::new("healthcheck")
        .about("Ask the server whether it is ready; exit 1 if it is not")
        .arg(url)
        .arg(live.help("Ask whether it lives (/livez), not whether it is ready (/readyz)"))
}

pub fn run_doctor(given: &ArgMatches) -> ExitCode {
    let settings = match line::settings(given) {
        Ok(settings) => settings,
        Err(error) => return failed(&error.to_string()),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.to_string()),
    };
    let all = runtime.block_on(doctor::examine(&settings, given.get_one("sale").copied()));
    let worst = all.iter().map(|one| one.severity).max().unwrap_or(Severity::Ok);
    if given.get_flag("json") {
        say!("{:#}", json!({ "worst": worst, "findings": all }));
    } else {
        all.iter().for_each(show);
        say!("{}", verdict(worst));
    }
    ExitCode::from(match worst {
        Severity::Ok | Severity::Advice => 0,
        Severity::Warning => 1,
        Severity::Critical => 3,
    })
}

fn show(one: &Diagnosis) {
    let mark = match one.severity {
        Severity::Ok => "ok      ",
        Severity::Advice => "advice  ",
        Severity::Warning => "WARNING ",
        Severity::Critical => "CRITICAL",
    };
    say!("{mark}  {}: {}", one.check, one.found);
    if let Some(change) = &one.change {
        say!("          {change}");
    }
}

fn verdict(worst: Severity) -> &'static str {
    match worst {
        Severity::Ok => "Nothing to change.",
        Severity::Advice => "Nothing that a sale must wait for.",
        Severity::Warning => "A sale may suffer: see the warnings.",
        Severity::Critical => "Do not sell like this: see what is critical.",
    }
}

fn failed(why: &str) -> ExitCode {
    complain!("tickettock: {why}");
    ExitCode::from(2)
}

pub fn run_healthcheck(given: &ArgMatches) -> ExitCode {
    let path = if given.get_flag("live") { "/livez" } else { "/readyz" };
    let asked = address(given).and_then(|url| {
        let target = Target::resolve(&url).map_err(|why| format!("--url {why}"))?;
        client::blocking::ask_once(&target, HttpRequest::get(path), HEALTH_TIME).map_err(|e| format!("{url}: {e}"))
    });
    match asked {
        Ok(answer) if answer.is_success() => ExitCode::SUCCESS,
        Ok(answer) => {
            complain!("tickettock: {path} says {}", answer.text().trim());
            ExitCode::from(1)
        }
        Err(why) => {
            complain!("tickettock: {why}");
            ExitCode::from(1)
        }
    }
}

/// The second listener has a thread of its own, which a crowd cannot reach.
fn address(given: &ArgMatches) -> Result<String, String> {
    if let Some(url) = given.get_one::<String>("url") {
        return Ok(url.clone());
    }
    let values = line::values(given).map_err(|e| e.to_string())?;
    let address = Settings::health_address(&values).map_err(|e| e.to_string())?;
    // A server that listens everywhere also listens here.
    let address = if address.ip().is_unspecified() {
        let here = if address.is_ipv6() { [0, 0, 0, 0, 0, 0, 0, 1].into() } else { [127, 0, 0, 1].into() };
        SocketAddr::new(here, address.port())
    } else {
        address
    };
    match address.port() {
        0 => Err("APP_PORT 0 means any port: say which with --url".to_owned()),
        _ => Ok(format!("http://{address}")),
    }
}
