//! `bots`: native robots.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};
use samovar_duel::mode::Mode;
use samovar_peer::PathPolicy;
use samovar_peer_native::Trust;
use samovar_relay::RelayError;
use samovar_relay::bots::{self, BOTS_MAX, BotsConfig};
use samovar_relay::settings::{LogConfig, LogFormat};
use samovar_wire::GameCode;
use tracing_subscriber::EnvFilter;

use crate::log::Log;
use crate::signals;

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("where").required(true).args(["game", "new"]))]
pub(crate) struct BotsArgs {
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

/// Lets the robots play.
///
/// # Errors
/// They cannot: the text says why.
pub(crate) fn run(args: BotsArgs, log: &Log) -> Result<(), String> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    log.trace(LogConfig { filter, format: LogFormat::Text })?;
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
