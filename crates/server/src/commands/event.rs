//! `tickettock event create|list|show`: through the API of the running server.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command, value_parser};
use serde_json::{Map, Value, json};

use super::api::Api;
use super::line;
use crate::settings::Settings;
use crate::terminal::{self, say};
use crate::wiring;

pub fn command() -> Command {
    let create = Command::new("create")
        .about("Make an event")
        .arg(Arg::new("name").long("name").required(true).help("Name of the event"))
        .arg(Arg::new("seats").long("seats").value_parser(value_parser!(u32)).help("So many seats, in one row"))
        .arg(
            Arg::new("hall")
                .long("hall")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help(r#"JSON file with a hall: {"sections":[{"name":"1F","rows":[{"name":"A","seats":20}]}]}"#),
        )
        .group(ArgGroup::new("stock").args(["seats", "hall"]).required(true))
        .arg(
            Arg::new("max-per-user")
                .long("max-per-user")
                .value_parser(value_parser!(u32))
                .help("Seats that one user may have [default: 1]"),
        )
        .arg(Arg::new("opens-at").long("opens-at").help("When the sale opens, such as 2026-12-24T18:00:00Z"));
    let list = Command::new("list").about("Print every event");
    let id = Arg::new("id").required(true).value_parser(value_parser!(u64)).help("Number of the event");
    let show = Command::new("show").about("Print one event and its sections").arg(id);
    Command::new("event")
        .about("Make and look at events of the running server")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands([create, list, show].map(reaching))
}

/// What is needed to reach the server.
fn reaching(command: Command) -> Command {
    let needed = ["APP_HOST", "APP_PORT", "DATA_DIR", "ADMIN_TOKEN_FILE"];
    line::with_settings_named(command, |name| needed.contains(&name))
        .arg(Arg::new("url").long("url").help("The server, if not at APP_HOST and APP_PORT: http://host:port"))
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print the server's answer as it is"))
}

pub fn run(given: &ArgMatches) -> Result<(), String> {
    let Some((verb, given)) = given.subcommand() else { unreachable!("clap asks for a subcommand") };
    let api = reach(given)?;
    let answer = match verb {
        "create" => api.post("/api/v1/admin/events", &wanted(given)?)?,
        "list" => every(&api)?,
        _ => one(&api, *given.get_one::<u64>("id").unwrap_or(&0))?,
    };
    if given.get_flag("json") {
        say!("{answer:#}");
    } else {
        terminal::print(format_args!("{}", text(&answer)));
    }
    Ok(())
}

fn reach(given: &ArgMatches) -> Result<Api, String> {
    let settings = line::settings(given).map_err(|e| e.to_string())?;
    let url = match given.get_one::<String>("url") {
        Some(url) => url.clone(),
        None if settings.app_port == 0 => return Err("APP_PORT 0 means any port: say which with --url".into()),
        None => {
            // A server that listens everywhere also listens here.
            let host = if settings.app_host.is_unspecified() { [127, 0, 0, 1].into() } else { settings.app_host };
            format!("http://{}", std::net::SocketAddr::new(host, settings.app_port))
        }
    };
    Api::at(&url, token(&settings))
}

fn token(settings: &Settings) -> Option<String> {
    let kept = || std::fs::read_to_string(wiring::admin_token_file(&settings.data_dir)).ok();
    let token = settings.admin_token.clone().or_else(kept)?;
    let token = token.trim();
    token.bytes().all(|b| b.is_ascii_graphic()).then(|| token.to_owned()).filter(|token| !token.is_empty())
}

fn wanted(given: &ArgMatches) -> Result<Value, String> {
    let mut body = Map::new();
    body.insert("name".into(), json!(given.get_one::<String>("name")));
    let seats = match given.get_one::<PathBuf>("hall") {
        None => json!(given.get_one::<u32>("seats")),
        Some(file) => {
            let bad = |why: String| format!("--hall {}: {why}", file.display());
            let text = std::fs::read_to_string(file).map_err(|e| bad(e.to_string()))?;
            serde_json::from_str(&text).map_err(|e| bad(e.to_string()))?
        }
    };
    body.insert("seats".into(), seats);
    if let Some(most) = given.get_one::<u32>("max-per-user") {
        body.insert("maxPerUser".into(), (*most).into());
    }
    if let Some(opens) = given.get_one::<String>("opens-at") {
        body.insert("opensAt".into(), opens.as_str().into());
    }
    Ok(Value::Object(body))
}

/// All pages of the list, as one.
fn every(api: &Api) -> Result<Value, String> {
    let mut events = Vec::new();
    let mut after = String::new();
    loop {
        let mut page = api.get(&format!("/api/v1/events?limit=1000{after}"))?;
        if let Value::Array(some) = page["events"].take() {
            events.extend(some);
        }
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return Ok(json!({ "success": true, "events": events })),
        }
    }
}

fn one(api: &Api, id: u64) -> Result<Value, String> {
    let found = api.find(&format!("/api/v1/events/{id}"))?;
    let mut answer = found.ok_or_else(|| format!("event {id} does not exist"))?;
    let mut layout = api.get(&format!("/api/v1/events/{id}/layout"))?;
    answer["layout"] = layout["layout"].take();
    Ok(answer)
}

fn text(answer: &Value) -> String {
    let events = answer["events"].as_array().map_or_else(|| vec![&answer["event"]], |list| list.iter().collect());
    let mut text = format!("{:>6}  {:<10}{:>10}{:>10}  {}\n", "id", "state", "seats", "left", "name");
    for event in events {
        let number = |name: &str| event[name].as_u64().unwrap_or_default();
        let state = event["state"].as_str().unwrap_or_default();
        let name = event["name"].as_str().unwrap_or_default();
        let (id, seats, left) = (number("id"), number("seatCount"), number("remainingSeats"));
        text += &format!("{id:>6}  {state:<10}{seats:>10}{left:>10}  {name}\n");
        if let Some(opens) = event["opensAt"].as_str() {
            text += &format!("{:>6}  opens at {opens}\n", "");
        }
    }
    for section in answer["layout"]["sections"].as_array().into_iter().flatten() {
        let Some(name) = section["name"].as_str() else { continue };
        let rows = section["rows"].as_array().map_or(0, Vec::len);
        text += &format!("{:>6}  {name}: {rows} rows, {} seats\n", "", section["seatCount"]);
    }
    text
}
