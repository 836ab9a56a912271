//! `tickettock room-type create|list|show|change|calendar`: through the API of the running server.

use clap::{Arg, ArgMatches, Command, value_parser};
use serde_json::{Map, Value, json};

use super::reach::{reach, reaching, show};

pub fn command() -> Command {
    let id = || Arg::new("id").required(true).value_parser(value_parser!(u64)).help("Number of the room type");
    let fields = |command: Command, required: bool| {
        command
            .arg(Arg::new("name").long("name").required(required).help("Name of the room type"))
            .arg(
                Arg::new("rooms")
                    .long("rooms")
                    .required(required)
                    .value_parser(value_parser!(u32))
                    .help("How many rooms there are of it"),
            )
            .arg(Arg::new("time-zone").long("time-zone").help("Where it is, such as Asia/Seoul [default: UTC]"))
            .arg(Arg::new("description").long("description").help("A sentence for buyers"))
            .arg(Arg::new("price").long("price").value_parser(value_parser!(f64)).help("Price that is shown"))
    };
    let create = fields(Command::new("create").about("Make a room type"), true);
    let list = Command::new("list").about("Print every room type");
    let show = Command::new("show").about("Print one room type").arg(id());
    let change = fields(Command::new("change").about("Change what is named").arg(id()), false);
    let calendar = Command::new("calendar")
        .about("Print what is left on the nights of one month")
        .arg(id())
        .arg(Arg::new("month").long("month").required(true).help("Such as 2026-12"));
    Command::new("room-type")
        .about("Make and look at room types of the running server")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands([create, list, show, change, calendar].map(reaching))
}

pub fn run(given: &ArgMatches) -> Result<(), String> {
    let Some((verb, given)) = given.subcommand() else { unreachable!("clap asks for a subcommand") };
    let api = reach(given)?;
    let id = given.try_get_one::<u64>("id").ok().flatten().copied().unwrap_or_default();
    let answer = match verb {
        "create" => api.post("/api/v1/admin/room-types", &wanted(given))?,
        "list" => api.every("/api/v1/room-types", "roomTypes")?,
        "change" => api.patch(&format!("/api/v1/admin/room-types/{id}"), &wanted(given))?,
        "calendar" => {
            let month = given.get_one::<String>("month").map_or("", String::as_str);
            api.existing("room type", id, &format!("/api/v1/room-types/{id}/calendar?month={month}"))?
        }
        _ => api.existing("room type", id, &format!("/api/v1/room-types/{id}"))?,
    };
    show(given, &answer, text);
    Ok(())
}

fn wanted(given: &ArgMatches) -> Value {
    let mut body = Map::new();
    let text = |name: &str| given.get_one::<String>(name).map(|text| json!(text));
    for (flag, field) in [("name", "name"), ("time-zone", "timeZone"), ("description", "description")] {
        body.extend(text(flag).map(|value| (field.to_owned(), value)));
    }
    body.extend(given.get_one::<u32>("rooms").map(|rooms| ("totalQuantity".to_owned(), json!(rooms))));
    body.extend(given.get_one::<f64>("price").map(|price| ("price".to_owned(), json!(price))));
    Value::Object(body)
}

fn text(answer: &Value) -> String {
    if let Some(nights) = answer["nights"].as_array() {
        let mut text = format!("{:<12}{:>8}{:>10}{:>8}{:>8}\n", "night", "rooms", "reserved", "held", "left");
        for night in nights {
            let number = |name: &str| night[name].as_u64().unwrap_or_default();
            let date = night["date"].as_str().unwrap_or_default();
            let (total, reserved, held, left) =
                (number("total"), number("reserved"), number("held"), number("available"));
            text += &format!("{date:<12}{total:>8}{reserved:>10}{held:>8}{left:>8}\n");
        }
        return text;
    }
    let all = answer["roomTypes"].as_array().map_or_else(|| vec![&answer["roomType"]], |list| list.iter().collect());
    let mut text = format!("{:>6}  {:>8}{:>12}  {:<20}{}\n", "id", "rooms", "price", "time zone", "name");
    for room_type in all {
        let word = |name: &str| room_type[name].as_str().unwrap_or_default();
        let (id, rooms) = (&room_type["id"], &room_type["totalQuantity"]);
        let price = if room_type["price"].is_null() { String::new() } else { room_type["price"].to_string() };
        text += &format!("{id:>6}  {rooms:>8}{price:>12}  {:<20}{}\n", word("timeZone"), word("name"));
    }
    text
}
