//! `serve`: the relay itself.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use samovar_relay::settings::{Settings, SettingsError};
use samovar_relay::{Relay, RelayError, processors};

use crate::log::Log;
use crate::{commands, signals};

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
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

/// Serves, or checks the settings.
///
/// # Errors
/// The relay cannot: the text says why.
pub(crate) fn run(args: Box<ServeArgs>, log: &Log) -> Result<(), String> {
    if args.check { check(&args).map_err(|error| error.to_string()) } else { serve(args, log) }
}

fn check(args: &ServeArgs) -> Result<(), SettingsError> {
    let settings = args.settings()?.with_defaults();
    settings.clone().resolve()?;
    commands::print(settings.to_toml().as_bytes());
    Ok(())
}

fn serve(args: Box<ServeArgs>, log: &Log) -> Result<(), String> {
    let settings = args.settings().map_err(|error| error.to_string())?;
    let is_old = settings.has_old_names();
    let (mut config, log_config) = settings.resolve().map_err(|error| error.to_string())?;
    config.log = Some(log.trace(log_config)?);
    if is_old {
        tracing::warn!("`star` is called `by-host` now; the next release does not know the old name");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(processors::threads())
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
