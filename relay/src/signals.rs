//! Turns the system's signals into orders to a relay and to robots.
//!
//! `SIGTERM` drains a relay, and a second one stops it; `SIGHUP` reads the file of settings again and takes over its
//! limits, and reads the certificate again; Ctrl-C stops it, and so does the end of its input if it shall. `SIGTERM` or Ctrl-C during the stop ends the
//! process at once. Robots leave at Ctrl-C and `SIGTERM`, and stop at a second one.

use std::io;
use std::sync::Arc;

use samovar_relay::settings::{LogConfig, SettingsError};
use samovar_relay::{Order, RelayError, ServeConfig};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// The most orders that wait in the channel. Further ones wait until it has room.
const WAITING: usize = 4;

/// The exit status after a second signal: the one that a shell gives to a program that Ctrl-C has ended.
#[cfg(unix)]
const STOPPED_TWICE: i32 = 130;

type Settings = Result<(ServeConfig, LogConfig), SettingsError>;

/// Listens to signals from now on, and returns the orders that they give; with `ends_with_input` the end of the standard
/// input gives one, too. `settings` reads the settings anew. The caller must be within a tokio runtime.
///
/// # Errors
/// The system does not allow listening to signals, or gives no thread.
pub(crate) fn orders(
    ends_with_input: bool,
    settings: impl Fn() -> Settings + Send + Sync + 'static,
) -> Result<Receiver<Order>, RelayError> {
    let (orders, receiver) = channel(WAITING);
    if ends_with_input {
        stop_with_input(orders.clone())
            .map_err(|source| RelayError::System { what: "start its threads", source })?;
    }
    listen(orders, settings).map_err(|source| RelayError::System { what: "listen to signals", source })?;
    Ok(receiver)
}

/// Listens to signals from now on. The returned future completes when robots are to stop. The caller must be within a
/// tokio runtime.
///
/// # Errors
/// The system does not allow listening to signals.
pub(crate) fn stop() -> Result<impl Future<Output = ()>, RelayError> {
    stopped().map_err(|source| RelayError::System { what: "listen to signals", source })
}

/// Orders the relay to stop when the standard input ends.
fn stop_with_input(orders: Sender<Order>) -> io::Result<()> {
    // The read blocks for as long as the process lives, so it has a thread that nothing waits for.
    std::thread::Builder::new()
        .name("input".to_owned())
        .spawn(move || {
            let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
            let _ = orders.blocking_send(Order::Stop);
        })
        .map(drop)
}

#[cfg(unix)]
fn stopped() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut next = async move || {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    Ok(async move {
        next().await;
        eprintln!("leaving; a second signal stops at once");
        tokio::spawn(async move {
            next().await;
            // A user who asks twice does not want to wait for the last messages.
            std::process::exit(STOPPED_TWICE);
        });
    })
}

#[cfg(not(unix))]
fn stopped() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    })
}

#[cfg(unix)]
fn listen(orders: Sender<Order>, settings: impl Fn() -> Settings + Send + Sync + 'static) -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let limits = orders.clone();
    tokio::spawn(async move {
        let settings = Arc::new(settings);
        while hang_up.recv().await.is_some() {
            let settings = Arc::clone(&settings);
            // A blocking thread reads the file, which may be anywhere, so that no other task waits for it.
            let limit = tokio::task::spawn_blocking(move || reload(&*settings)).await;
            // A mistake in the file of settings is none of the certificate's.
            for order in limit.ok().flatten().into_iter().chain([Order::Renew]) {
                limits.send(order).await.ok();
            }
        }
    });
    tokio::spawn(async move {
        loop {
            let order = tokio::select! {
                _ = interrupt.recv() => Order::Stop,
                _ = terminate.recv() => Order::Drain,
            };
            if orders.send(order).await.is_err() {
                // The relay stops already, and a user who asks again does not want to wait.
                std::process::exit(STOPPED_TWICE);
            }
        }
    });
    Ok(())
}

#[cfg(not(unix))]
fn listen(orders: Sender<Order>, _: impl Fn() -> Settings + Send + 'static) -> io::Result<()> {
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            drop(orders.send(Order::Stop).await);
        }
    });
    Ok(())
}

/// Reads the settings again, and returns their limits as an order. A mistake in the file changes nothing: a running
/// relay is worth more than one that reports the mistake and ends.
#[cfg(unix)]
fn reload(settings: &impl Fn() -> Settings) -> Option<Order> {
    match settings() {
        Ok((config, _)) => Some(Order::Limit(Box::new(config.limits))),
        Err(error) => {
            tracing::error!(%error, "the settings were not read again; the limits stay as they were");
            None
        }
    }
}
