//! `tickettock event ...`: makes, shows, turns and exports events, through the API of the running server.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command, value_parser};
use client::api::calls::{self, EventTurn};
use client::api::forms::EventForm;
use serde_json::{Value, json};

use super::api::Api;
use super::export::{ExportFormat, export};
use super::reach::{reach, reaching, show};
use crate::terminal::say;

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
        .arg(Arg::new("opens-at").long("opens-at").help("When the sale opens, such as 2026-12-24T18:00:00Z"))
        .arg(Arg::new("starts-at").long("starts-at").help("When it takes place, such as 2027-04-18T10:00:00Z"))
        .arg(Arg::new("time-zone").long("time-zone").help("The zone of the place, such as Asia/Seoul"))
        .arg(Arg::new("place").long("place").help("Where it takes place"))
        .arg(
            Arg::new("waiting-room")
                .long("waiting-room")
                .value_name("PLACES")
                .value_parser(value_parser!(u32).range(1..))
                .help("With a waiting room: so many buyers are inside at once"),
        )
        .arg(
            Arg::new("waiting-room-file")
                .long("waiting-room-file")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .conflicts_with("waiting-room")
                .help(r#"JSON file with a waiting room: {"maxConcurrent":800,"tokenTtl":300,"idleTimeout":60}"#),
        )
        .arg(
            Arg::new("rehearsal")
                .long("rehearsal")
                .action(ArgAction::SetTrue)
                .help("For a rehearsal: the event may be deleted with what it sold"),
        )
        .arg(
            Arg::new("hold-ttl")
                .long("hold-ttl")
                .value_name("SECONDS")
                .value_parser(value_parser!(u32))
                .help("How long a hold of its seats lasts [default: HOLD_TTL]"),
        );
    let list = Command::new("list").about("Print every event").arg(
        Arg::new("archived").long("archived").action(ArgAction::SetTrue).help("Those that are archived, and no others"),
    );
    let id = || Arg::new("id").required(true).value_parser(value_parser!(i64)).help("Number of the event");
    let show = Command::new("show").about("Print one event and its sections").arg(id());
    let turn = |name: &'static str, about: &'static str| Command::new(name).about(about).arg(id());
    let output = Arg::new("output").long("output").value_name("FILE").value_parser(value_parser!(PathBuf));
    let export = Command::new("export")
        .about("Print everything that was sold, as CSV or, with --json, one JSON object per line")
        .arg(id())
        .arg(output.help("Write it to this file"));
    let delete = Command::new("delete")
        .about("Delete an event in which nobody has a seat, or rehearsals with what they sold")
        .arg(id().required(false).required_unless_present("rehearsals"))
        .arg(Arg::new("sold").long("sold").action(ArgAction::SetTrue).help("With what it sold: of a rehearsal only"))
        .arg(
            Arg::new("rehearsals")
                .long("rehearsals")
                .action(ArgAction::SetTrue)
                .conflicts_with_all(["id", "sold"])
                .help("Every rehearsal, such as those of rush, with what they sold"),
        );
    Command::new("event")
        .about("Make, look at and turn events of the running server")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(
            [
                create,
                list,
                show,
                turn("open", "Open the sale now"),
                turn("pause", "Pause an open sale"),
                turn("resume", "Resume a paused sale"),
                turn("close", "Close the sale"),
                turn("archive", "Close the sale and take the event out of the list"),
                turn("unarchive", "List an archived event again"),
                delete,
                export,
            ]
            .map(reaching),
        )
}

pub fn run(given: &ArgMatches) -> Result<(), String> {
    let Some((verb, given)) = given.subcommand() else { unreachable!("clap asks for a subcommand") };
    let api = reach(given)?;
    let id = given.try_get_one::<i64>("id").ok().flatten().copied().unwrap_or_default();
    let answer = match verb {
        "create" => api.ask(calls::create_event(&wanted(given)?))?,
        "list" if given.get_flag("archived") => api.every("events", |after| calls::admin_events(true, after))?,
        "list" => api.every("events", calls::events)?,
        "export" => {
            let format = if given.get_flag("json") { ExportFormat::JsonLines } else { ExportFormat::Csv };
            return export(&api, id, format, given.get_one::<PathBuf>("output").map(PathBuf::as_path));
        }
        "delete" if given.get_flag("rehearsals") => return delete_rehearsals(&api),
        "delete" => {
            api.ask(calls::delete_event(id, given.get_flag("sold")))?;
            say!("event {id} is deleted");
            return Ok(());
        }
        "show" => one(&api, id)?,
        turn => {
            let turn = EventTurn::named(turn).ok_or_else(|| format!("{turn} is not something to do to an event"))?;
            api.ask(calls::turn_event(id, turn))?
        }
    };
    show(given, &answer, text);
    Ok(())
}

/// Archived or not.
fn delete_rehearsals(api: &Api) -> Result<(), String> {
    let mut deleted = 0;
    for archived in [false, true] {
        let listed = api.every("events", |after| calls::admin_events(archived, after))?;
        let rehearsals = listed["events"].as_array().into_iter().flatten().filter(|event| event["rehearsal"] == true);
        for id in rehearsals.filter_map(|event| event["id"].as_i64()) {
            api.ask(calls::delete_event(id, true))?;
            deleted += 1;
        }
    }
    say!("{deleted} rehearsals are deleted");
    Ok(())
}

fn wanted(given: &ArgMatches) -> Result<EventForm, String> {
    let seats = json_file(given, "hall")?.unwrap_or_else(|| json!(given.get_one::<u32>("seats")));
    let places = given.get_one::<u32>("waiting-room").map(|places| json!({ "maxConcurrent": places }));
    Ok(EventForm {
        name: given.get_one("name").cloned(),
        seats: Some(seats),
        waiting_room: json_file(given, "waiting-room-file")?.or(places),
        hold_ttl: given.get_one("hold-ttl").copied(),
        max_per_user: given.get_one("max-per-user").copied(),
        opens_at: given.get_one("opens-at").cloned(),
        starts_at: given.get_one("starts-at").cloned(),
        time_zone: given.get_one("time-zone").cloned(),
        place: given.get_one("place").cloned(),
        rehearsal: given.get_flag("rehearsal").then_some(true),
        ..EventForm::default()
    })
}

/// The JSON in the file that this flag names.
fn json_file(given: &ArgMatches, flag: &str) -> Result<Option<Value>, String> {
    let Some(file) = given.get_one::<PathBuf>(flag) else { return Ok(None) };
    let bad = |why: String| format!("--{flag} {}: {why}", file.display());
    let text = std::fs::read_to_string(file).map_err(|e| bad(e.to_string()))?;
    serde_json::from_str(&text).map(Some).map_err(|e| bad(e.to_string()))
}

fn one(api: &Api, id: i64) -> Result<Value, String> {
    let mut answer = api.existing("event", id, calls::event(id))?;
    let mut layout = api.ask(calls::layout(id))?;
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
        if let Some(since) = event["archivedAt"].as_str() {
            text += &format!("{:>6}  archived at {since}\n", "");
        }
        if event["rehearsal"] == true {
            text += &format!("{:>6}  a rehearsal: it may be deleted with what it sold\n", "");
        }
        let occasion = ["startsAt", "timeZone", "place"].map(|name| event[name].as_str());
        if occasion.iter().any(Option::is_some) {
            text +=
                &format!("{:>6}  takes place: {}\n", "", occasion.into_iter().flatten().collect::<Vec<_>>().join(", "));
        }
        if let Some(opens) = event["opensAt"].as_str() {
            text += &format!("{:>6}  opens at {opens}\n", "");
        }
        if let Some(places) = event["waitingRoomSettings"]["maxConcurrent"].as_u64() {
            text += &format!("{:>6}  waiting room: {places} inside at once\n", "");
        }
    }
    for section in answer["layout"]["sections"].as_array().into_iter().flatten() {
        let Some(name) = section["name"].as_str() else { continue };
        let rows = section["rows"].as_array().map_or(0, Vec::len);
        text += &format!("{:>6}  {name}: {rows} rows, {} seats\n", "", section["seatCount"]);
    }
    text
}
