//! The relay's command line.

use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use samovar_peer::PathPolicy;
use samovar_relay::bots::{self, BOTS_MAX, BotsConfig};
use samovar_relay::{RefereeConfig, Relay, RelayError, ServeConfig};
use samovar_session::Topology;
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
    Serve(ServeArgs),
    /// Lets native robots play; each prints its status as one line of JSON a second.
    Bots(BotsArgs),
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("where").required(true).args(["game", "new"]))]
struct BotsArgs {
    /// The relay's address, like http://127.0.0.1:8080/.
    #[arg(long, value_name = "URL")]
    relay: String,
    /// Joins the game with this code.
    #[arg(long, value_name = "CODE", value_parser = game_code)]
    game: Option<GameCode>,
    /// Founds a game; its code is printed on the standard error output.
    #[arg(long)]
    new: bool,
    /// How many robots.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=i64::from(BOTS_MAX)))]
    count: u8,
    /// How long they play.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    seconds: u64,
    /// Which paths their packets may take.
    #[arg(long, value_enum, default_value_t = PathArg::Auto)]
    path: PathArg,
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
}

fn game_code(text: &str) -> Result<GameCode, String> {
    GameCode::parse(text).ok_or_else(|| "a code is 3 to 12 letters, digits or hyphens".to_owned())
}

#[derive(Debug, Args)]
struct ServeArgs {
    /// Address to listen at; port 0 takes a free one, which is printed.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Directory of the relay's key and of the terms it has granted; created when it is not there.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Directory of the built page, read at the start; without it the page that was built in, if any.
    #[arg(long, value_name = "DIR")]
    web: Option<PathBuf>,
    /// Hosts games itself: one, under this code (REFEREE unless told), and a further one whenever all are full. When the
    /// relay dies their players go on by themselves.
    #[arg(long, value_name = "CODE", num_args = 0..=1, default_missing_value = "REFEREE", value_parser = game_code)]
    referee: Option<GameCode>,
    /// Makes the referee's tables stars: players have links to the referee and to its backup, which speak for the others.
    #[arg(long, requires = "referee")]
    star: bool,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false).init();
    let done = match cli.command {
        Command::Serve(args) => serve(args).map_err(|error| error.to_string()),
        Command::Bots(args) => play(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("samovar-relay: {error}");
            ExitCode::FAILURE
        }
    }
}

fn play(args: BotsArgs) -> Result<(), String> {
    let BotsArgs { relay, game, count, seconds, path, bind, .. } = args;
    let paths = match path {
        PathArg::Auto => PathPolicy::Auto,
        PathArg::Direct => PathPolicy::Direct,
        PathArg::Relayed => PathPolicy::Relayed,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime =
        runtime.map_err(|source| RelayError::System { what: "start its threads", source }.to_string())?;
    runtime
        .block_on(bots::run(BotsConfig { relay, game, count, seconds, paths, bind }))
        .map_err(|error| error.to_string())
}

fn serve(args: ServeArgs) -> Result<(), RelayError> {
    let ServeArgs { listen, data, web, referee, star } = args;
    let topology = if star { Topology::Star } else { Topology::Mesh };
    let referee = referee.map(|code| RefereeConfig { code, topology });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|source| RelayError::System { what: "start its threads", source })?;
    runtime.block_on(async {
        let relay = Relay::bind(ServeConfig { listen, data, web, referee }).await?;
        println!("listening on http://{}/", relay.address());
        // Whoever reads this line through a pipe wants it now. That nobody does is no reason to stop.
        std::io::stdout().flush().ok();
        relay.run(asked_to_stop()).await
    })
}

/// Ends at Ctrl-C, or at SIGTERM where there is one.
async fn asked_to_stop() {
    let interrupted = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    };
    #[cfg(unix)]
    let terminated = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminated = std::future::pending::<()>();
    tokio::select! {
        () = interrupted => {}
        () = terminated => {}
    }
}
