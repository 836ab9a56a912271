//! `tickettock completions` and `tickettock man`: what a package installs beside the binary.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;
use clap_mangen::Man;

use super::line;
use crate::terminal;

pub fn completions() -> Command {
    let shell = Arg::new("shell").required(true).value_parser(value_parser!(Shell)).help("Shell to complete in");
    Command::new("completions").about("Print the completions of a shell").arg(shell)
}

pub fn man() -> Command {
    let folder = Arg::new("folder").value_parser(value_parser!(PathBuf));
    let folder = folder.help("Write a page for every command into this folder [default: print that of tickettock]");
    Command::new("man").about("Write the manual pages").arg(folder)
}

pub fn run_completions(given: &ArgMatches) -> Result<(), String> {
    let Some(shell) = given.get_one::<Shell>("shell") else { return Ok(()) };
    let mut text = Vec::new();
    clap_complete::generate(*shell, &mut line::command(), "tickettock", &mut text);
    terminal::print(format_args!("{}", String::from_utf8_lossy(&text)));
    Ok(())
}

pub fn run_man(given: &ArgMatches) -> Result<(), String> {
    let mut command = line::command();
    command.build();
    let Some(folder) = given.get_one::<PathBuf>("folder") else {
        terminal::print(format_args!("{}", String::from_utf8_lossy(&page(command)?)));
        return Ok(());
    };
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    write(folder, "tickettock", command)
}

/// A page of this command, and of each below it.
fn write(folder: &Path, name: &str, command: Command) -> Result<(), String> {
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        let name = format!("{name}-{}", below.get_name());
        write(folder, &name, below.clone().name(name.clone()))?;
    }
    let file = folder.join(format!("{name}.1"));
    std::fs::write(&file, page(command)?).map_err(|e| format!("{}: {e}", file.display()))
}

fn page(command: Command) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    Man::new(command).render(&mut text).map_err(|e| e.to_string())?;
    Ok(text)
}
