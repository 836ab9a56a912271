//! `tickettock rush`: the crowd in a box.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use indicatif::{ProgressBar, ProgressStyle};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Broken, Ended};
use crate::clock::{Hands, SystemHands};
use crate::rush::crowd::{CrowdStop, Live, come};
use crate::rush::goodput::Goodput;
use crate::rush::page::{self, RushSetting};
use crate::rush::plan::{EventChoice, RushPlan};
use crate::rush::proof::{Proof, audited, listed, prove};
use crate::rush::report;
use crate::rush::report::grouped;
use crate::rush::shop::Shop;
use crate::rush::tally::RushFigures;
use crate::rush::timeline::RushTimeline;
use crate::terminal::{complain, say};
use crate::wiring::admin_token_file;
use client::Target;

const SEATS: u32 = 1_000;

pub fn command() -> Command {
    let number = |name: &'static str, help: &'static str| Arg::new(name).long(name).value_name("N").help(help);
    let share = |name: &'static str, default: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("PERCENT")
            .default_value(default)
            .value_parser(value_parser!(f64))
            .help(help)
    };
    Command::new("rush")
        .about("Send a crowd of buyers, and prove what they were told")
        .after_help(
            "Examples:\n  \
             tickettock rush                                  20,000 buyers for 1,000 seats on http://127.0.0.1:5800\n  \
             tickettock rush --event 1 --buyers 100           the nine seats of the first event\n  \
             tickettock rush --waiting-room 100               the same crowd stands in line for 100 places\n  \
             tickettock rush --cancel 50 --duration 600       a soak of ten minutes, half of the buyers cancel\n  \
             tickettock rush --json | jq .latencyMs           for machines",
        )
        .arg(Arg::new("url").value_name("URL").default_value("http://127.0.0.1:5800").help("Server to go to"))
        .arg(number("buyers", "How many come").value_parser(value_parser!(u64).range(1..=10_000_000)).default_value("20000"))
        .arg(number("seats", "Make an event of so many seats [default: 1000]").value_parser(value_parser!(u32)).conflicts_with("event"))
        .arg(number("waiting-room", "Make that event with a waiting room of so many places").value_parser(value_parser!(u32).range(1..)).conflicts_with("event"))
        .arg(number("event", "Go to this event").value_parser(value_parser!(i64)))
        .arg(number("rate", "Arrivals per second").value_parser(value_parser!(f64)).default_value("2000"))
        .arg(number("ramp", "Seconds in which the rate rises").value_parser(value_parser!(f64)).default_value("1"))
        .arg(number("duration", "A soak: buyers come for so many seconds").value_parser(value_parser!(f64)))
        .arg(share("double-click", "5", "Share that sends everything twice at once"))
        .arg(share("lost-answers", "2", "Share that hangs up and asks again with the same key"))
        .arg(share("cancel", "0", "Share that cancels what it got"))
        .arg(Arg::new("admin-token-file").long("admin-token-file").value_name("FILE").help("File with the admin token. Else ADMIN_TOKEN, else the one in the data folder"))
        .arg(Arg::new("data-dir").long("data-dir").value_name("DIR").value_parser(value_parser!(PathBuf)).help("Data folder [default: ./tickettock-data]"))
        .arg(Arg::new("delete-after").long("delete-after").action(ArgAction::SetTrue).conflicts_with("event").help("Delete the event that was made, with what it sold, once everything is proven"))
        .arg(Arg::new("crowd").long("crowd").action(ArgAction::SetTrue).help("Print what the crowd got as well: sold per second, requests per person, who gave up"))
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print the figures as JSON"))
        .arg(Arg::new("html").long("html").value_name("FILE").value_parser(value_parser!(PathBuf)).help("Write one self-contained page with charts and the verdict"))
        .arg(Arg::new("i-own-this-host").long("i-own-this-host").action(ArgAction::SetTrue).help("The target is not loopback, and it is mine"))
}

pub fn run(given: &ArgMatches) -> Ended {
    let plan = Arc::new(plan(given)?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|e| e.to_string())?;
    let (shop, told) = runtime.block_on(async {
        let (shop, told) = rush(plan.clone(), given.get_flag("json")).await?;
        // What is not proven is evidence, and stays.
        if given.get_flag("delete-after") && told.proof.holds() {
            shop.delete().await?;
        }
        Ok::<_, String>((shop, told))
    })?;
    let Told { figures, goodput, proof, timeline } = told;
    let machine = report::machine(&figures, &goodput, &proof);
    let (table, sentence) = (report::table(&figures, &proof), report::sentence(&proof));
    if given.get_flag("json") {
        say!("{machine}");
    } else {
        if given.get_flag("crowd") {
            say!("{}", report::crowd(&goodput));
        }
        say!("{table}\n{sentence}");
    }
    if let Some(file) = given.get_one::<PathBuf>("html") {
        let setting = RushSetting {
            target: plan.target.to_string(),
            event: shop.event,
            seats: shop.seats,
            ended: SystemHands.wall(),
            sentence: &sentence,
            table: &table,
        };
        let page = page::page(&setting, &machine, &timeline);
        std::fs::write(file, page).map_err(|e| format!("{}: {e}", file.display()))?;
    }
    if proof.holds() { Ok(()) } else { Err(Broken::Proof("what people were told is not what happened".into())) }
}

struct Told {
    figures: RushFigures,
    goodput: Goodput,
    proof: Proof,
    timeline: RushTimeline,
}

async fn rush(plan: Arc<RushPlan>, quiet: bool) -> Result<(Arc<Shop>, Told), String> {
    let shop = Arc::new(Shop::visit(&plan).await?);
    let run: Arc<str> = uuid::Uuid::new_v4().simple().to_string()[..8].into();
    if !quiet {
        let (event, target) = (shop.event, &plan.target);
        say!("event {event} with {} free seats: {target}/api/v1/events/{event}", grouped(shop.seats));
    }
    let (bar, asked) = (bar(&plan, quiet), CrowdStop::default());
    let interrupts = signal(SignalKind::interrupt()).map_err(|e| e.to_string())?;
    let stopping = tokio::spawn(stop_on_interrupt(interrupts, asked.clone()));
    let memories = come(plan.clone(), shop.clone(), run.clone(), &asked, |live| show(&bar, live)).await;
    stopping.abort();
    bar.finish_and_clear();
    // Who was sent home has perhaps bought something and cannot say so.
    let listed = if shop.has_admin() && !asked.sent_home() { Some(listed(&shop).await?) } else { None };
    let mut proof = prove(&run, &memories, listed.as_deref());
    proof.invariants_broken = if shop.has_admin() { audited(&shop).await } else { None };
    let goodput = Goodput::of(&memories, plan.arrivals(), plan.due(plan.arrivals()));
    let figures = RushFigures::of(&memories, memories.len() as u64);
    Ok((shop, Told { figures, goodput, proof, timeline: RushTimeline::of(&memories) }))
}

/// The first Ctrl-C ends the arrivals and waits for those who asked; the second sends them home.
async fn stop_on_interrupt(mut interrupts: Signal, asked: CrowdStop) {
    while interrupts.recv().await.is_some() {
        complain!("\nstopping: those who asked get their answer; Ctrl-C again does not wait for them");
        asked.interrupt();
    }
}

fn bar(plan: &RushPlan, quiet: bool) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} settled  {msg}");
    ProgressBar::new(plan.arrivals()).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn show(bar: &ProgressBar, live: &Live) {
    let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    bar.set_position(count(&live.settled));
    bar.set_message(format!("{} arrived, {} have a seat", count(&live.arrived), count(&live.reserved)));
}

fn plan(given: &ArgMatches) -> Result<RushPlan, String> {
    let target = Target::resolve(given.get_one::<String>("url").ok_or("a URL is needed")?)?;
    if !target.is_loopback() && !given.get_flag("i-own-this-host") {
        return Err(format!("{target} is not loopback: a crowd goes there only with --i-own-this-host"));
    }
    let float = |name: &str| given.get_one::<f64>(name).copied().unwrap_or_default();
    let share = |name: &str| match float(name) / 100.0 {
        share if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(format!("--{name}: expected a percentage from 0 to 100")),
    };
    let seconds = |name: &str| match float(name) {
        seconds if (0.0..=86_400.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(format!("--{name}: expected seconds, at most a day")),
    };
    let rate = float("rate");
    if !(0.1..=1_000_000.0).contains(&rate) {
        return Err("--rate: expected arrivals per second from 0.1 to 1,000,000".into());
    }
    Ok(RushPlan {
        target,
        sale: match given.get_one::<i64>("event") {
            Some(id) => EventChoice::Event(*id),
            None => EventChoice::Make {
                seats: given.get_one("seats").copied().unwrap_or(SEATS),
                places: given.get_one("waiting-room").copied(),
            },
        },
        buyers: given.get_one("buyers").copied().unwrap_or(1),
        rate,
        ramp: seconds("ramp")?,
        duration: given.contains_id("duration").then(|| seconds("duration")).transpose()?,
        double_click: share("double-click")?,
        lost_answers: share("lost-answers")?,
        cancel: share("cancel")?,
        admin_token: admin_token(given),
    })
}

fn admin_token(given: &ArgMatches) -> Option<String> {
    let named = given.get_one::<String>("admin-token-file").cloned();
    let named = named.or_else(|| std::env::var("ADMIN_TOKEN_FILE").ok()).filter(|file| !file.is_empty());
    let typed = named.and_then(|file| std::fs::read_to_string(file).ok()).map(|token| token.trim().to_owned());
    let environment = || std::env::var("ADMIN_TOKEN").ok().filter(|token| !token.is_empty());
    let folder = || {
        let typed = given.get_one::<PathBuf>("data-dir").cloned();
        typed.or_else(|| std::env::var_os("DATA_DIR").map(PathBuf::from)).unwrap_or_else(|| "./tickettock-data".into())
    };
    let stored = || std::fs::read_to_string(admin_token_file(&folder())).ok().map(|token| token.trim().to_owned());
    typed.or_else(environment).or_else(stored)
}
