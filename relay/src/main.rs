//! The relay's command line.

mod commands;
mod log;
mod signals;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use commands::{admin, bots, init, serve};
use log::Log;
use samovar_relay::version;

/// The relay of Samovar: directory of games, witness of their hosts, forwarder of packets.
#[derive(Debug, Parser)]
#[command(name = "samovar-relay", version = version::TEXT, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serves the page, the list of games and the peers' WebSocket until Ctrl-C or SIGTERM.
    Serve(Box<serve::ServeArgs>),
    /// Writes settings and a service for this machine, and says what it did.
    Init(init::InitArgs),
    /// Asks a relay that runs on this machine, and orders it.
    Admin(admin::AdminArgs),
    /// Says whether a relay that runs on this machine takes games: the exit code is 0 if it does.
    Health(admin::Place),
    /// Lets native robots play until their time is over, Ctrl-C or SIGTERM; each prints its status as one line of JSON
    /// a second.
    Bots(bots::BotsArgs),
    /// Prints what makes a shell complete this program's words.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Prints the manual, for `man -l -`.
    Man,
}

fn main() -> ExitCode {
    let command = Cli::parse().command;
    let log = Log::start();
    let done = match command {
        Command::Serve(args) => serve::run(args, &log),
        Command::Init(args) => init::run(&args),
        Command::Admin(args) => admin::run(args),
        Command::Health(place) => admin::health(&place),
        Command::Bots(args) => bots::run(args, &log),
        Command::Completions { shell } => completions(shell),
        Command::Man => manual(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log.say(format!("samovar-relay: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// # Errors
/// Never: a missing reader is no mistake.
fn completions(shell: clap_complete::Shell) -> Result<(), String> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "samovar-relay", &mut script);
    commands::print(&script);
    Ok(())
}

/// # Errors
/// The manual cannot be made.
fn manual() -> Result<(), String> {
    let mut text = Vec::new();
    commands::manual(&Cli::command(), &mut text).map_err(|error| error.to_string())?;
    commands::print(&text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
