//! The relay's command line.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use samovar_relay::{Relay, RelayError, ServeConfig};
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
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false).init();
    let done = match cli.command {
        Command::Serve(args) => serve(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("samovar-relay: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(args: ServeArgs) -> Result<(), RelayError> {
    let ServeArgs { listen, data, web } = args;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|source| RelayError::System { what: "start its threads", source })?;
    runtime.block_on(async {
        let relay = Relay::bind(ServeConfig { listen, data, web }).await?;
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
