//! The relay's command line.

mod log;
mod signals;

use std::io::Write as _;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use log::Log;
use samovar_duel::mode::Mode;
use samovar_peer::PathPolicy;
use samovar_peer_native::Trust;
use samovar_relay::bots::{self, BOTS_MAX, BotsConfig};
use samovar_relay::settings::{LogConfig, LogFormat, Settings, SettingsError};
use samovar_relay::{Relay, RelayError};
use samovar_wire::GameCode;
use tracing_subscriber::EnvFilter;

/// The relay of Samovar: directory of games, witness of their hosts, forwarder of packets.
#[derive(Debug, Parser)]
#[command(name = "samovar-relay", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serves the page, the list of games and the peers' WebSocket until Ctrl-C or SIGTERM.
    Serve(Box<ServeArgs>),
    /// Lets native robots play until their time is over, Ctrl-C or SIGTERM; each prints its status as one line of JSON
    /// a second.
    Bots(BotsArgs),
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("where").required(true).args(["game", "new"]))]
struct BotsArgs {
    /// The relay's address, like https://tea.example/ or http://127.0.0.1:8080/; with the path that its page has.
    #[arg(long, value_name = "URL")]
    relay: String,
    /// Certificates of authorities, in PEM, that a relay's own may be of, beside those that this machine trusts.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Joins the game with this code.
    #[arg(long, value_name = "CODE", value_parser = game_code)]
    game: Option<GameCode>,
    /// Founds a game; its code is printed on the standard error output.
    #[arg(long)]
    new: bool,
    /// The game that they found, duel or maze; with --game, a guess that saves time.
    #[arg(long, value_name = "MODE", default_value = Mode::Duel.word(), value_parser = mode)]
    mode: Mode,
    /// How many robots.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=i64::from(BOTS_MAX)))]
    count: u8,
    /// How long they play.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    seconds: u64,
    /// Which paths their packets may take.
    #[arg(long, value_enum, default_value_t = PathArg::Auto)]
    path: PathArg,
    /// The same as --path by-host: client-server.
    #[arg(long, conflicts_with = "path")]
    by_host: bool,
    /// Local address of direct links, and again for each further one; loopback alone unless told.
    #[arg(long, value_name = "ADDRESS")]
    bind: Vec<IpAddr>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PathArg {
    /// Relayed at once, direct when it can be.
    Auto,
    /// Direct only.
    Direct,
    /// Relayed only.
    Relayed,
    /// Direct with the host and its backups only, which carry the rest.
    ByHost,
}

fn mode(text: &str) -> Result<Mode, String> {
    Mode::parse(text).ok_or_else(|| "the games are duel and maze".to_owned())
}

fn game_code(text: &str) -> Result<GameCode, String> {
    GameCode::parse(text).ok_or_else(|| "a code is 3 to 12 letters, digits or hyphens".to_owned())
}

#[derive(Debug, Args)]
struct ServeArgs {
    /// File of settings, in TOML. Each flag below but the next is a key there, without its dashes in front. Flags count
    /// before the environment, and that before the file.
    #[arg(long, env = "SAMOVAR_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Checks the settings and prints what they come to, as such a file; starts nothing.
    #[arg(long)]
    check: bool,
    /// Stops when the standard input ends: for a program that starts a relay with a pipe as its input, and that may be
    /// killed.
    #[arg(long)]
    until_input_ends: bool,
    #[command(flatten)]
    settings: Settings,
}

impl ServeArgs {
    /// The settings from flags, environment and file. Each call reads the file anew.
    fn settings(&self) -> Result<Settings, SettingsError> {
        let file = self.config.as_deref().map(Settings::read).transpose()?;
        Ok(self.settings.clone().or(file.unwrap_or_default()))
    }
}

fn main() -> ExitCode {
    let command = Cli::parse().command;
    let log = Log::start();
    let done = match command {
        Command::Serve(args) if args.check => check(&args).map_err(|error| error.to_string()),
        Command::Serve(args) => serve(args, &log),
        Command::Bots(args) => play(args, &log),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log.say(format!("samovar-relay: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn play(args: BotsArgs, log: &Log) -> Result<(), String> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    log.trace(LogConfig { filter, format: LogFormat::Text });
    let BotsArgs { relay, ca, game, mode, count, seconds, path, by_host, bind, .. } = args;
    let trust = ca.map_or_else(|| Ok(Trust::default()), |file| Trust::with_file(&file));
    let trust = trust.map_err(|error| error.to_string())?;
    let paths = match path {
        _ if by_host => PathPolicy::ByHost,
        PathArg::Auto => PathPolicy::Auto,
        PathArg::Direct => PathPolicy::Direct,
        PathArg::Relayed => PathPolicy::Relayed,
        PathArg::ByHost => PathPolicy::ByHost,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime =
        runtime.map_err(|source| RelayError::System { what: "start its threads", source }.to_string())?;
    runtime.block_on(async {
        let stop = signals::stop().map_err(|error| error.to_string())?;
        let config = BotsConfig { relay, trust, game, mode, count, seconds, paths, bind };
        bots::run(config, stop).await.map_err(|error| error.to_string())
    })
}

fn check(args: &ServeArgs) -> Result<(), SettingsError> {
    let settings = args.settings()?.with_defaults();
    settings.clone().resolve()?;
    // Ignores a write error: a missing reader is no mistake in the settings.
    let _ = std::io::stdout().write_all(settings.to_toml().as_bytes());
    Ok(())
}

/// The number of worker threads for this many processors. One processor is left to the data channels' thread and the
/// system. A small machine has one worker: two that wake each other up would need a third more time for a packet.
const fn workers(processors: usize) -> usize {
    if processors > 2 { processors - 1 } else { 1 }
}

fn serve(args: Box<ServeArgs>, log: &Log) -> Result<(), String> {
    let settings = args.settings().map_err(|error| error.to_string())?;
    let is_old = settings.has_old_names();
    let (config, log_config) = settings.resolve().map_err(|error| error.to_string())?;
    log.trace(log_config);
    if is_old {
        tracing::warn!("`star` is called `by-host` now; the next release does not know the old name");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers(std::thread::available_parallelism().map_or(1, usize::from)))
        .enable_all()
        .build()
        .map_err(|source| RelayError::System { what: "start its threads", source }.to_string())?;
    let served = runtime.block_on(async {
        // Handles signals before the line below is printed, because its reader may send one at once.
        let ends_with_input = args.until_input_ends;
        let orders = signals::orders(ends_with_input, move || args.settings().and_then(Settings::resolve))?;
        let relay = Relay::bind(config).await?;
        let scheme = if relay.has_tls() { "https" } else { "http" };
        say(format_args!("listening on {scheme}://{}/", relay.address()));
        if let Some(address) = relay.private_address() {
            say(format_args!("metrics on http://{address}/metrics"));
        }
        if let Some(address) = relay.udp_address() {
            say(format_args!("data channels at {address}"));
        }
        // A reader of these lines through a pipe needs them now. A missing reader is no reason to stop.
        std::io::stdout().flush().ok();
        relay.run(orders).await
    });
    // Does not wait for the runtime's remaining tasks: they may wait for ever for a disk that does not answer.
    runtime.shutdown_background();
    served.map_err(|error| error.to_string())
}

/// Prints a line for the person who started the program; a missing reader is no reason to stop.
fn say(what: core::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stdout(), "{what}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_processor_is_left_free_on_larger_machines() {
        assert_eq!([1, 2, 3, 4, 16].map(workers), [1, 1, 2, 3, 15]);
    }
}
