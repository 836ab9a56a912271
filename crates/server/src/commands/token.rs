//! `tickettock token ...`: tokens of users, to try `AUTH_MODE=jwt` out, and the tokens of operators.

mod operators;

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};
use rules::ids::User;

use super::line;
use crate::auth::key_source::KeySource;
use crate::auth::mint::SigningKey;
use crate::auth::token::TokenReader;
use crate::clock::{Hands, SystemHands};
use crate::settings::identity::MintSettings;
use crate::terminal::say;

/// A month: longer ones are nothing to try out with.
const TTL_MOST_S: i64 = 30 * 86_400;

pub fn command() -> Command {
    let mint = Command::new("mint")
        .about("Print a token of a user, signed with JWT_SECRET or a private key")
        .arg(Arg::new("sub").long("sub").value_name("USER").required(true).help("The user"))
        .arg(
            Arg::new("ttl")
                .long("ttl")
                .value_name("TIME")
                .default_value("1h")
                .value_parser(seconds)
                .help("How long it is valid, such as 90s, 15m, 1h or 7d"),
        )
        .arg(
            Arg::new("private-key")
                .long("private-key")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Private key in PEM, where the servers have the public one"),
        )
        .arg(Arg::new("kid").long("kid").value_name("ID").help("Name of the key, where the servers have several"));
    Command::new("token")
        .about("Make tokens of users, and make, rotate and revoke tokens of operators")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(line::with_settings_named(mint, |name| name.starts_with("JWT_")))
        .subcommands(operators::commands())
}

pub fn run(given: &ArgMatches) -> Result<(), String> {
    let Some((verb, given)) = given.subcommand() else { unreachable!("clap asks for a subcommand") };
    if verb != "mint" {
        return operators::run(verb, given);
    }
    say!("{}", mint(given)?);
    Ok(())
}

fn mint(given: &ArgMatches) -> Result<String, String> {
    let values = line::values(given).map_err(|e| e.to_string())?;
    let settings = MintSettings::understand(&values).map_err(|e| e.to_string())?;
    let key = match (given.get_one::<PathBuf>("private-key"), &settings.secret) {
        (None, Some(secret)) => SigningKey::of_secret(secret),
        (Some(file), None) => {
            let bad = |why: String| format!("--private-key {}: {why}", file.display());
            SigningKey::of_pem(&std::fs::read(file).map_err(|e| bad(e.to_string()))?).map_err(bad)?
        }
        (Some(_), Some(_)) => {
            return Err("JWT_SECRET is set: the servers would not accept a private key's token".into());
        }
        (None, None) => {
            return Err("a token needs JWT_SECRET, or the private key of the servers' (--private-key)".into());
        }
    };
    let sub = given.get_one::<String>("sub").map_or("", String::as_str);
    let user = User::new(sub).ok_or("--sub: expected 1 to 128 printable characters")?;
    let (now, ttl_s) = (SystemHands.wall(), *given.get_one::<i64>("ttl").unwrap_or(&3_600));
    let terms = &settings.jwt.terms;
    let key_id = given.get_one::<String>("kid").map(String::as_str);
    let token = key.mint(&user, terms, key_id, now, ttl_s)?;
    // What an address has is not known here.
    if !matches!(settings.jwt.source, KeySource::Address(_)) {
        let read = TokenReader::new(terms.clone()).user(token.as_bytes(), &settings.jwt.keys, now);
        if read != Ok(user) {
            return Err(
                "servers with these settings would not accept the token: the private key is not of their public \
                        key, or --kid names another"
                    .into(),
            );
        }
    }
    Ok(token)
}

/// At least a second.
fn seconds(text: &str) -> Result<i64, String> {
    seconds_from(1, text)
}

pub(super) fn seconds_from(least: i64, text: &str) -> Result<i64, String> {
    let bad = || "expected a time such as 90s, 15m, 1h or 7d, at most 30d".to_owned();
    let split = text.len() - text.chars().next_back().map_or(0, char::len_utf8);
    let (number, unit) = text.split_at(split);
    let each = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(bad()),
    };
    let seconds = number.parse::<u32>().ok().map(|number| i64::from(number) * each);
    seconds.filter(|seconds| (least..=TTL_MOST_S).contains(seconds)).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn times_have_a_unit() {
        for (text, read) in [("90s", 90), ("15m", 900), ("1h", 3_600), ("30d", 2_592_000)] {
            assert_eq!(seconds(text), Ok(read));
        }
        for bad in ["", "1", "h", "0s", "-1h", "31d", "1w", "1h30m", "+1h ", "1ｈ"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }
}
