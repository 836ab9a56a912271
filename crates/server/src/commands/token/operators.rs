//! `tickettock token create|list|rotate|rotate-admin|end-old|revoke`: the tokens of operators, through the API of the
//! running server.

use std::path::Path;

use clap::{Arg, ArgMatches, Command};
use client::api::calls;
use client::api::forms::{RotationForm, TokenForm};
use serde_json::Value;

use super::seconds_from;
use crate::commands::line;
use crate::commands::reach::{self, reach, reaching};
use crate::http::wire::tokens::ROLES;
use crate::terminal::say;
use crate::wiring::{admin_token_file, replace_private};

pub fn commands() -> [Command; 6] {
    let name = || Arg::new("name").required(true).value_name("NAME").help("Name of the token");
    let grace = || {
        Arg::new("grace")
            .long("grace")
            .value_name("TIME")
            .default_value("1h")
            .value_parser(|text: &str| seconds_from(0, text))
            .help("How long the old token is still accepted, such as 0s, 15m, 1h or 7d")
    };
    let role = Arg::new("role")
        .long("role")
        .required(true)
        .value_parser(ROLES)
        .help("admin does everything, viewer reads, service confirms holds");
    let commands = [
        Command::new("create")
            .about("Make a token with a name and a role, and print it once")
            .arg(Arg::new("name").long("name").required(true).help("Name of the token, as the history records it"))
            .arg(role),
        Command::new("list").about("Print the names and roles of all tokens"),
        Command::new("rotate").about("Replace a token by a new one").arg(name()).arg(grace()),
        Command::new("rotate-admin")
            .about("Replace ADMIN_TOKEN, or the token in the data folder, by a new one")
            .arg(grace()),
        Command::new("end-old").about("End the grace of the tokens that were replaced").arg(name()),
        Command::new("revoke").about("End a token now").arg(name()),
    ];
    commands.map(reaching)
}

pub fn run(verb: &str, given: &ArgMatches) -> Result<(), String> {
    let api = reach(given)?;
    let name = given.try_get_one::<String>("name").ok().flatten().map_or("admin", String::as_str);
    let grace_seconds = given.try_get_one::<i64>("grace").ok().flatten().copied();
    let rotation = RotationForm { grace_seconds };
    match verb {
        "list" => {
            reach::show(given, &api.ask(calls::tokens())?, text);
        }
        "create" => {
            let role = given.get_one::<String>("role").cloned().unwrap_or_default();
            show(given, &api.ask(calls::create_token(&TokenForm { name: name.to_owned(), role }))?, None)?;
        }
        "rotate" => show(given, &api.ask(calls::rotate_token(name, &rotation))?, None)?,
        "rotate-admin" => {
            let settings = line::settings(given).map_err(|e| e.to_string())?;
            // Where the old one was read, the new one is written.
            let file = settings.admin_token.is_none().then(|| admin_token_file(&settings.data_dir));
            let answer = api.ask(calls::rotate_token(name, &rotation))?;
            show(given, &answer, file.as_deref())?;
        }
        "end-old" => {
            api.ask(calls::end_replaced_token(name))?;
            say!("the replaced tokens of {name} are ended");
        }
        _ => {
            api.ask(calls::revoke_token(name))?;
            say!("the token {name} is revoked");
        }
    }
    Ok(())
}

/// The token, where it can be used from now on.
fn show(given: &ArgMatches, answer: &Value, file: Option<&Path>) -> Result<(), String> {
    let secret = answer["secret"].as_str().ok_or("the server did not say which token it made")?;
    if let Some(file) = file {
        let written = replace_private(file, secret);
        // It is shown nowhere else: better on the terminal than lost.
        return match written {
            Ok(()) => {
                say!("Admin token: {}", file.display());
                Ok(())
            }
            Err(why) => Err(format!("{}: {why}. The new token is {secret}", file.display())),
        };
    }
    reach::show(given, answer, |_| format!("{secret}\n"));
    Ok(())
}

fn text(answer: &Value) -> String {
    let mut text = format!("{:<24}{:<10}{:<8}{:<26}{}\n", "name", "role", "live", "ends", "made by");
    for token in answer["tokens"].as_array().into_iter().flatten() {
        let word = |name: &str| token[name].as_str().unwrap_or("-").to_owned();
        let live = if token["live"] == true { "yes" } else { "no" };
        text +=
            &format!("{:<24}{:<10}{live:<8}{:<26}{}\n", word("name"), word("role"), word("endsAt"), word("createdBy"));
    }
    text
}
