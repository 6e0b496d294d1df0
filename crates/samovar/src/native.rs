//! Runs a game in a native program.

use std::future::pending;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use samovar_peer::{Peer, PeerEvent};
use samovar_peer_native::{self as driver, Lender, NativeConfig, NativePeer, OpenError, entropy, fit_name};
use samovar_wire::{GameCode, Time};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use crate::entry::{Attempts, Entry};
use crate::error::Error;
use crate::game::Game;
use crate::keeper::{Begin, End, Keeper, Parts};
use crate::memory::{BYTES_MAX, Memory};
use crate::room::Room;
use crate::status::Status;

impl Entry {
    /// Runs the game until this program leaves it, is refused, or is interrupted (Ctrl-C). An interrupted program
    /// leaves the game; with a [`seat_file`](Entry::seat_file) it only goes away and keeps its seat. A future that is
    /// dropped leaves the game. The caller must be within a tokio runtime. Tokio takes over Ctrl-C, so after `run` an
    /// interrupt no longer ends the program by itself.
    ///
    /// `begin` makes the game when this program becomes a member. When this program has lost its seat and taken it
    /// back, the game begins anew: `begin` is called again, and [`Room::own_or`](crate::Room::own_or) finds the
    /// object that the player had.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn run<G: Game>(
        self,
        begin: impl FnMut(&mut Room<'_, G>) -> G + Send + 'static,
    ) -> Result<(), Error> {
        let program = self.program(Box::new(begin), false)?;
        // If Ctrl-C cannot be received, this future waits forever.
        let interrupt = async || {
            if tokio::signal::ctrl_c().await.is_err() {
                pending().await
            }
        };
        program.play(interrupt, |_| ()).await
    }

    /// The settings of the sockets. This machine and all its networks are reached, unless [`Entry::bind`] says
    /// otherwise.
    #[cfg(feature = "direct")]
    fn sockets(&self) -> NativeConfig {
        NativeConfig { bind: self.bind.clone(), ..NativeConfig::default() }
    }

    /// The settings of the sockets.
    #[cfg(not(feature = "direct"))]
    fn sockets(&self) -> NativeConfig {
        NativeConfig::default()
    }

    /// # Errors
    /// The settings cannot work.
    fn program<G: Game>(self, begin: Begin<G>, has_loop: bool) -> Result<Program<G>, Error> {
        let (url, file) = (self.url.clone(), self.seat_file.clone());
        let sockets = self.sockets();
        let (attempts, on_status) = self.attempts::<G>()?;
        let mut memory = Memory::default();
        if let (Some(path), Some(code)) = (&file, attempts.code()) {
            memory = read(path, code, attempts.params())?;
        }
        if let Some(path) = &file {
            check(path)?;
        }
        Ok(Program { url, file, sockets, attempts, parts: Parts { memory, on_status, begin, has_loop } })
    }
}

/// A program that is about to play.
struct Program<G: Game> {
    url: String,
    file: Option<PathBuf>,
    sockets: NativeConfig,
    attempts: Attempts,
    parts: Parts<G>,
}

impl<G: Game> Program<G> {
    /// Plays until the game is over, or until this program has left it after an interrupt. A second interrupt ends
    /// the wait for that. Calls `on_start` for each peer that starts.
    ///
    /// # Errors
    /// See [`Error`].
    async fn play(
        self,
        mut interrupt: impl AsyncFnMut(),
        mut on_start: impl FnMut(&NativePeer<Runner<G>>),
    ) -> Result<(), Error> {
        let Self { url, file, sockets, mut attempts, mut parts } = self;
        (parts.on_status)(&Status::Connecting);
        loop {
            let config = attempts.config(entropy(), &parts.memory);
            let keeper = Keeper::new(attempts.identity(fit_name(attempts.name()), crate::seed()), parts);
            let (over, is_over) = oneshot::channel();
            let runner = Runner {
                keeper,
                file: file.clone(),
                params: attempts.params(),
                was_member: false,
                over: Some(over),
            };
            let peer = NativePeer::start(url.clone(), config, sockets.clone(), runner);
            on_start(&peer);
            let end = tokio::select! {
                end = is_over => end.map_err(|_| Error::Panicked)?,
                () = interrupt() => {
                    if file.is_some() {
                        // With a file the player may come back to the seat.
                        peer.with(|now, peer, runner| {
                            runner.keeper.remember(now, peer);
                            runner.after(peer);
                            peer.go_away(now);
                        })
                        .await;
                        tokio::select! {
                            _ = peer.stop() => {}
                            () = interrupt() => {}
                        }
                        return Ok(());
                    }
                    End::Left
                }
            };
            let stopped = tokio::select! {
                stopped = peer.stop() => stopped,
                () = interrupt() => return Ok(()),
            };
            let Some(runner) = stopped else { return Err(Error::Panicked) };
            let was_member = runner.was_member;
            attempts.note_code(runner.keeper.code());
            parts = runner.keeper.into_parts();
            match attempts.next(end, was_member)? {
                Some(pause) => tokio::select! {
                    () = tokio::time::sleep(Duration::from_millis(pause)) => {}
                    () = interrupt() => return Ok(()),
                },
                None => {
                    // A player who left for good has no seat to come back to.
                    if let Some(path) = file.filter(|_| parts.memory.ticket.is_none()) {
                        let _ = std::fs::remove_file(path);
                    }
                    return Ok(());
                }
            }
        }
    }
}

/// A game on a thread of its own.
pub(crate) struct Seat<G: Game> {
    lender: Arc<Mutex<Option<Lender<Runner<G>>>>>,
    interrupt: UnboundedSender<()>,
    thread: Option<JoinHandle<()>>,
}

impl<G: Game> Seat<G> {
    /// Plays on a thread of its own, and calls `on_end` with the result.
    ///
    /// # Errors
    /// The settings cannot work, or the system gives no thread.
    pub(crate) fn start(
        entry: Entry,
        begin: Begin<G>,
        on_end: impl FnOnce(Result<(), Error>) + Send + 'static,
    ) -> Result<Self, Error> {
        let program = entry.program(begin, true)?;
        let (interrupt, mut interrupts) = unbounded_channel();
        let lender = Arc::new(Mutex::new(None));
        let lending = Arc::clone(&lender);
        // One thread is for the game and one for the network, so packets are read while the program borrows the game.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| Error::NoThread(error.to_string()))?;
        let play = move || {
            let interrupt = async || {
                if interrupts.recv().await.is_none() {
                    pending().await
                }
            };
            let on_start = |peer: &NativePeer<Runner<G>>| {
                *lending.lock().unwrap_or_else(PoisonError::into_inner) = Some(peer.lender());
            };
            on_end(runtime.block_on(program.play(interrupt, on_start)));
        };
        let thread = std::thread::Builder::new()
            .name("samovar".to_owned())
            .spawn(play)
            .map_err(|error| Error::NoThread(error.to_string()))?;
        Ok(Self { lender, interrupt, thread: Some(thread) })
    }

    /// Plays a frame of the game by `call`; `None` while there is no game to play.
    pub(crate) fn with<R>(&mut self, call: impl FnOnce(&mut G, &mut Room<'_, G>) -> R) -> Option<R> {
        self.visit(|keeper, now, peer| keeper.with(now, peer, call))
    }

    /// Calls the game between two frames; `None` while there is no game to play.
    pub(crate) fn between<R>(&mut self, call: impl FnOnce(&mut G, &mut Room<'_, G>) -> R) -> Option<R> {
        self.visit(|keeper, now, peer| keeper.between(now, peer, call))
    }

    fn visit<R>(&mut self, visit: impl FnOnce(&mut Keeper<G>, Time, &mut Peer) -> Option<R>) -> Option<R> {
        let mut loan = {
            let lender = self.lender.lock().unwrap_or_else(PoisonError::into_inner);
            lender.as_ref()?.borrow()?
        };
        let (now, peer, runner) = loan.parts()?;
        let result = visit(&mut runner.keeper, now, peer);
        runner.after(peer);
        result
    }

    /// Gives access to the peer; `None` while there is none.
    pub(crate) fn peer<R>(&self, call: impl FnOnce(Time, &mut Peer) -> R) -> Option<R> {
        let mut loan = {
            let lender = self.lender.lock().unwrap_or_else(PoisonError::into_inner);
            lender.as_ref()?.borrow()?
        };
        let (now, peer, runner) = loan.parts()?;
        let result = call(now, peer);
        runner.after(peer);
        Some(result)
    }
}

impl<G: Game> Drop for Seat<G> {
    fn drop(&mut self) {
        // If the program is over already, nobody receives this.
        let _ = self.interrupt.send(());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The arguments of the program, as many as there are `names`.
///
/// # Errors
/// `Usage` when there are more or fewer arguments; the error names them all.
pub fn args<const N: usize>(names: [&str; N]) -> Result<[String; N], Error> {
    let words: Vec<_> = std::env::args().collect();
    let usage =
        || Error::Usage(format!("usage: {} {}", words.first().map_or("game", |own| own), names.join(" ")));
    words.get(1..).and_then(|words| words.to_vec().try_into().ok()).ok_or_else(usage)
}

/// The keeper as a native peer's game.
pub(crate) struct Runner<G: Game> {
    keeper: Keeper<G>,
    file: Option<PathBuf>,
    params: u64,
    was_member: bool,
    over: Option<oneshot::Sender<End>>,
}

impl<G: Game> Runner<G> {
    fn after(&mut self, peer: &Peer) {
        self.was_member |= peer.session().is_some_and(|session| session.is_member());
        if let Some((path, (memory, code))) = self.file.as_ref().zip(self.keeper.take_memory())
            && let Err(error) = write(path, &memory.to_bytes(code, self.params))
        {
            crate::log(&format!("samovar: the seat cannot be kept in {}: {error}", path.display()));
            self.file = None;
        }
        if let Some(end) = self.keeper.end(peer)
            && let Some(over) = self.over.take()
        {
            // If the program has stopped waiting, nobody receives the end.
            let _ = over.send(end);
        }
    }
}

impl<G: Game> driver::Game for Runner<G> {
    fn tick(&self) -> Duration {
        let rate = G::FRAMES_PER_SECOND;
        Duration::try_from_secs_f64(1.0 / rate).unwrap_or(Duration::from_millis(33))
    }

    fn on_event(&mut self, now: Time, peer: &mut Peer, event: PeerEvent) {
        self.keeper.on_event(now, peer, event);
        self.after(peer);
    }

    fn on_unreachable(&mut self, _now: Time, peer: &mut Peer, error: OpenError) {
        self.keeper.on_unreachable(error.to_string(), error.is_final());
        self.after(peer);
    }

    fn on_tick(&mut self, now: Time, peer: &mut Peer) {
        self.keeper.frame(now, peer);
        self.after(peer);
    }
}

/// # Errors
/// The file exists, but cannot be read or holds no seat.
fn read(path: &Path, code: &GameCode, params: u64) -> Result<Memory, Error> {
    let wrong = |why: &dyn core::fmt::Display| {
        Error::SeatFile(format!(
            "the file of the seat, {}, cannot be used: {why}; without it you join as a new player",
            path.display()
        ))
    };
    let length = match std::fs::metadata(path) {
        Ok(about) => about.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Memory::default()),
        Err(error) => return Err(wrong(&error)),
    };
    if length > BYTES_MAX as u64 {
        return Err(wrong(&"it is too large"));
    }
    let bytes = std::fs::read(path).map_err(|error| wrong(&error))?;
    Ok(Memory::from_bytes(&bytes, code, params).map_err(|why| wrong(&why))?.unwrap_or_default())
}

/// # Errors
/// The file cannot be written.
fn check(path: &Path) -> Result<(), Error> {
    let aside = aside(path);
    let _ = std::fs::remove_file(&aside);
    let result = private().open(&aside).and_then(|_| std::fs::remove_file(&aside));
    result.map_err(|error| {
        Error::SeatFile(format!("the file of the seat, {}, cannot be written: {error}", path.display()))
    })
}

fn aside(path: &Path) -> PathBuf {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".new");
    aside.into()
}

fn private() -> std::fs::OpenOptions {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Replaces the file as a whole, so that a program that is killed meanwhile leaves the previous file. Only the file's
/// owner may read it.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let aside = aside(path);
    // A file that an earlier run left behind may be readable by others.
    let _ = std::fs::remove_file(&aside);
    private().open(&aside)?.write_all(bytes)?;
    std::fs::rename(&aside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_seat_file_is_an_error_and_a_missing_one_is_not() {
        let path = std::env::temp_dir().join(format!("samovar-seat-{}", std::process::id()));
        let code = GameCode::parse("TEA-4").unwrap();
        assert_eq!(read(&path, &code, 7), Ok(Memory::default()), "no file is no seat");
        write(&path, &Memory::default().to_bytes("TEA-4", 7)).unwrap();
        assert_eq!(read(&path, &code, 7), Ok(Memory::default()));
        write(&path, b"tea").unwrap();
        let said = read(&path, &code, 7).unwrap_err().to_string();
        std::fs::remove_file(&path).unwrap();
        assert!(said.contains("damaged") && said.contains("as a new player"), "{said}");
    }
}
