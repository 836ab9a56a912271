//! `tickettock room-type create|list|show|change|calendar`: through the API of the running server.

use clap::{Arg, ArgMatches, Command, value_parser};
use client::api::calls;
use client::api::forms::RoomTypeForm;
use serde_json::{Number, Value};

use super::reach::{reach, reaching, show};

pub fn command() -> Command {
    let id = || Arg::new("id").required(true).value_parser(value_parser!(i64)).help("Number of the room type");
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
            .arg(Arg::new("price").long("price").value_parser(value_parser!(Number)).help("Price that is shown"))
            .arg(Arg::new("currency").long("currency").help("Its currency, such as KRW"))
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
    let id = given.try_get_one::<i64>("id").ok().flatten().copied().unwrap_or_default();
    let answer = match verb {
        "create" => api.ask(calls::create_room_type(&wanted(given)))?,
        "list" => api.every("roomTypes", calls::room_types)?,
        "change" => api.ask(calls::amend_room_type(id, &wanted(given)))?,
        "calendar" => {
            let month = given.get_one::<String>("month").map_or("", String::as_str);
            api.existing("room type", id, calls::calendar(id, month))?
        }
        _ => api.existing("room type", id, calls::room_type(id))?,
    };
    show(given, &answer, text);
    Ok(())
}

fn wanted(given: &ArgMatches) -> RoomTypeForm {
    let text = |name: &str| given.get_one::<String>(name).cloned();
    RoomTypeForm {
        name: text("name"),
        total_quantity: given.get_one("rooms").copied(),
        time_zone: text("time-zone"),
        description: text("description"),
        price: given.get_one::<Number>("price").cloned(),
        currency: text("currency"),
    }
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
        // A `Value` would ignore the width.
        let (id, rooms) = (room_type["id"].to_string(), room_type["totalQuantity"].to_string());
        let amount = if room_type["price"].is_null() { String::new() } else { room_type["price"].to_string() };
        let price = format!("{amount} {}", word("currency"));
        let price = price.trim();
        text += &format!("{id:>6}  {rooms:>8}{price:>12}  {:<20}{}\n", word("timeZone"), word("name"));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_stand_under_their_names() {
        let double = json!({
            "id": 7, "name": "Double", "totalQuantity": 5, "timeZone": "Asia/Seoul", "price": 129000, "currency": "KRW",
        });
        let single = json!({ "id": 12, "name": "Single", "totalQuantity": 40, "timeZone": "UTC", "price": null });
        let listed = text(&json!({ "roomTypes": [double, single] }));
        assert_eq!(
            listed,
            "    id     rooms       price  time zone           name\n     7         5  129000 KRW  Asia/Seoul          \
             Double\n    12        40              UTC                 Single\n"
        );
    }
}
