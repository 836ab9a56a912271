//! `tickettock webhook create|list|show|test|replay|rotate|enable|disable|delete`: through the API of the running server.

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use client::api::webhooks::{self as calls, OverlapForm, ReplayForm, WebhookForm};
use serde_json::Value;
use stores::ledger::webhooks::WebhookType;

use super::reach::{reach, reaching, show};
use super::token::seconds_from;
use crate::terminal::say;

pub fn command() -> Command {
    let id = || Arg::new("id").required(true).value_parser(value_parser!(i64)).help("Number of the webhook");
    let number = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("N").value_parser(value_parser!(i64)).help(help)
    };
    let create = Command::new("create")
        .about("Make a webhook, and print its secret once")
        .arg(Arg::new("to").long("to").required(true).value_name("URL").help("Where messages are posted to"))
        .arg(
            Arg::new("type")
                .long("type")
                .action(ArgAction::Append)
                .value_parser(WebhookType::NAMES)
                .help("What it is told; may be repeated [default: everything]"),
        );
    let replay = Command::new("replay")
        .about("Deliver the history of an event or room type again")
        .arg(id())
        .arg(number("event", "Number of the event").required_unless_present("room-type"))
        .arg(number("room-type", "Number of the room type").conflicts_with("event"))
        .arg(number("from", "The first history row that is delivered again").required(true));
    let rotate = Command::new("rotate").about("Make a new secret, and print it once").arg(id()).arg(
        Arg::new("overlap")
            .long("overlap")
            .value_name("TIME")
            .default_value("1d")
            .value_parser(|text: &str| seconds_from(0, text))
            .help("How long messages are signed with the old secret, too, such as 0s, 15m, 1h or 7d"),
    );
    let commands = [
        create,
        Command::new("list").about("Print every webhook"),
        Command::new("show").about("Print one webhook and its last deliveries").arg(id()),
        Command::new("test").about("Send a test message now, and print what it led to").arg(id()),
        replay,
        rotate,
        Command::new("enable").about("Deliver again, also what is outstanding").arg(id()),
        Command::new("disable").about("Deliver nothing until it is enabled").arg(id()),
        Command::new("delete").about("Delete a webhook").arg(id()),
    ];
    Command::new("webhook")
        .about("Make and look at webhooks of the running server")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(commands.map(reaching))
}

pub fn run(given: &ArgMatches) -> Result<(), String> {
    let Some((verb, given)) = given.subcommand() else { unreachable!("clap asks for a subcommand") };
    let api = reach(given)?;
    let number = |name: &str| given.try_get_one::<i64>(name).ok().flatten().copied();
    let id = number("id").unwrap_or_default();
    let asked = |call: client::api::ApiCall<Value>| api.existing("webhook", id, call);
    match verb {
        "create" => {
            let types = given.get_many::<String>("type").map(|all| all.cloned().collect());
            let form = WebhookForm { url: given.get_one::<String>("to").cloned(), types, enabled: None };
            show(given, &api.ask(calls::create_webhook(&form))?, secret);
        }
        "list" => show(given, &api.ask(calls::webhooks())?, table),
        "test" => show(given, &asked(calls::test_webhook(id).untyped())?, |answer| line(&answer["delivery"])),
        "replay" => {
            let from = number("from").unwrap_or(1);
            let form = ReplayForm { event_id: number("event"), room_type_id: number("room-type"), from };
            api.ask(calls::replay_webhook(id, &form))?;
            say!("webhook {id} is replayed");
        }
        "rotate" => {
            let form = OverlapForm { overlap_seconds: number("overlap") };
            show(given, &asked(calls::rotate_webhook(id, &form).untyped())?, secret);
        }
        "enable" | "disable" => {
            let form = WebhookForm { enabled: Some(verb == "enable"), ..WebhookForm::default() };
            show(given, &asked(calls::amend_webhook(id, &form).untyped())?, whole);
        }
        "delete" => {
            asked(calls::delete_webhook(id).untyped())?;
            say!("webhook {id} is deleted");
        }
        _ => show(given, &asked(calls::webhook(id).untyped())?, whole),
    }
    Ok(())
}

fn secret(answer: &Value) -> String {
    format!("webhook {}\n{}\n", answer["webhook"]["id"], answer["secret"].as_str().unwrap_or_default())
}

fn table(answer: &Value) -> String {
    let mut text = format!("{:>6}  {:<10}{}\n", "id", "state", "url");
    for webhook in answer["webhooks"].as_array().into_iter().flatten() {
        let word = |name: &str| webhook[name].as_str().unwrap_or_default();
        // A `Value` would ignore the width.
        text += &format!("{:>6}  {:<10}{}\n", webhook["id"].to_string(), word("state"), word("url"));
    }
    text
}

fn whole(answer: &Value) -> String {
    let webhook = &answer["webhook"];
    let word = |name: &str| webhook[name].as_str().unwrap_or("-");
    let types: Vec<&str> = webhook["types"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut text = format!("url          {}\nstate        {}\n", word("url"), word("state"));
    if webhook["why"].is_string() {
        text += &format!("why          {}\n", word("why"));
    }
    text += &format!("types        {}\noutstanding  {}\n", types.join(", "), answer["outstanding"]);
    for delivery in answer["deliveries"].as_array().into_iter().flatten() {
        text += &line(delivery);
    }
    text
}

fn line(delivery: &Value) -> String {
    let word = |name: &str| delivery[name].as_str().unwrap_or_default();
    let about = match (&delivery["eventId"], &delivery["roomTypeId"]) {
        (Value::Null, Value::Null) => "-".to_owned(),
        (event, Value::Null) => format!("e{event}-{}", delivery["number"]),
        (_, room_type) => format!("r{room_type}-{}", delivery["number"]),
    };
    let result = if delivery["delivered"] == true { "delivered" } else { word("error") };
    let took = delivery["tookMs"].to_string();
    format!("{:<26}{:<24}{about:<12}{took:>6} ms  {result}\n", word("at"), word("type"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_stand_under_their_names() {
        let webhook = |id: u64, url: &str| json!({ "id": id, "state": "enabled", "url": url });
        let listed = table(&json!({ "webhooks": [webhook(7, "https://a/"), webhook(12, "https://b/")] }));
        assert_eq!(listed, "    id  state     url\n     7  enabled   https://a/\n    12  enabled   https://b/\n");
        let attempt = |took: u64| {
            let at = "2026-11-16T09:00:00.000Z";
            json!({ "at": at, "type": "hold.expired", "eventId": 1, "number": 43, "tookMs": took, "delivered": true })
        };
        assert_eq!(line(&attempt(5)).len(), line(&attempt(15_000)).len());
    }
}
