//! A game beside the loop of its program.

use core::future::poll_fn;
use core::task::{Poll, Waker};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::entry::Entry;
use crate::error::Error;
use crate::game::{Game, MaybeSend};
#[cfg(not(target_arch = "wasm32"))]
use crate::native::Seat;
use crate::room::Room;
use crate::status::Status;
#[cfg(target_arch = "wasm32")]
use crate::web::Seat;

/// A game that goes on beside the program's own loop. The loop plays its frames: see [`Running::with`].
///
/// The library serves the network in between, natively on a thread of its own: this program answers the others however
/// long the loop draws. A host whose loop plays no frame for two seconds hands its office to another member.
///
/// When a `Running` is dropped, this program leaves the game; with a `seat_file` it only goes away and keeps its
/// seat. In a native program the drop waits until the others know, at most for some seconds.
pub struct Running<G: Game> {
    pub(crate) seat: Seat<G>,
    told: Arc<Mutex<Told>>,
}

/// The last status of a running game, and how it ended.
struct Told {
    status: Status,
    end: Option<Result<(), Error>>,
    waker: Option<Waker>,
}

impl Entry {
    /// Starts the game for a program that has a loop of its own, for example that of an engine or a window. Natively
    /// the program needs no tokio. The [`Game`] may leave out [`frame`](Game::frame): it is not called.
    ///
    /// `begin` makes the game when this program is a member, as in [`Entry::run`].
    ///
    /// ```no_run
    /// # use samovar::prelude::*;
    /// # struct Pulls;
    /// samovar::game! { Pulls: name = "pulls", version = 1, state = u32, asks = () }
    ///
    /// impl Game for Pulls {
    ///     fn decide(host: &mut Hosting<Self>, _: &Member, _: ()) {
    ///         *host.state += 1;
    ///     }
    /// }
    ///
    /// # fn play() -> Result<(), Error> {
    /// let mut running = samovar::join_or_create("ws://127.0.0.1:8080/ws", "TEA-4", "Ann").start(|_| Pulls)?;
    /// loop {
    ///     let pulls = running.with(|_, room| {
    ///         room.ask(()).or_log();
    ///         *room.state()
    ///     });
    ///     match pulls {
    ///         Some(pulls) => println!("{pulls} pulls"),
    ///         None => println!("{}", running.status()),
    ///     }
    ///     if let Some(end) = running.end() {
    ///         return end;
    ///     }
    ///     # #[cfg(not(target_arch = "wasm32"))]
    ///     std::thread::sleep(std::time::Duration::from_millis(16));
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// The settings cannot work: see [`Error`]. [`Running::end`] tells of later errors.
    pub fn start<G: Game>(
        mut self,
        begin: impl FnMut(&mut Room<'_, G>) -> G + MaybeSend + 'static,
    ) -> Result<Running<G>, Error> {
        let told = Arc::new(Mutex::new(Told { status: Status::Connecting, end: None, waker: None }));
        let (telling, ending) = (Arc::clone(&told), Ending(Arc::clone(&told)));
        let mut listener = self.on_status.take();
        let entry = self.on_status(move |status| {
            lock(&telling).status = status.clone();
            if let Some(listener) = &mut listener {
                listener(status);
            }
        });
        let seat = Seat::start(entry, Box::new(begin), move |end| ending.tell(end))?;
        Ok(Running { seat, told })
    }
}

impl<G: Game> Running<G> {
    /// Plays a frame: `call` gets the game and the room. Before that the game gets the messages that have arrived.
    /// Returns `None` while this program is no member: before it has joined, while it takes a lost seat back, and
    /// after the end.
    ///
    /// During the call this program sends nothing, so it should be short, as [`Game`] says.
    pub fn with<R>(&mut self, call: impl FnOnce(&mut G, &mut Room<'_, G>) -> R) -> Option<R> {
        self.seat.with(call)
    }

    /// Calls the game between two frames, for example when a key goes down. `call` sees the room as of the last frame,
    /// and the game gets no messages. Returns `None` as [`Running::with`] does.
    pub fn between<R>(&mut self, call: impl FnOnce(&mut G, &mut Room<'_, G>) -> R) -> Option<R> {
        self.seat.between(call)
    }

    /// The last change of the connection's state.
    #[must_use]
    pub fn status(&self) -> Status {
        lock(&self.told).status.clone()
    }

    /// How the game ended; `None` while it goes on. The end is an error unless this program left ([`Room::leave`]).
    #[must_use]
    pub fn end(&self) -> Option<Result<(), Error>> {
        lock(&self.told).end.clone()
    }

    /// Waits for the end. Any executor will do.
    ///
    /// # Errors
    /// See [`Running::end`].
    pub async fn finished(&self) -> Result<(), Error> {
        poll_fn(|context| {
            let mut told = lock(&self.told);
            match told.end.clone() {
                Some(end) => Poll::Ready(end),
                None => {
                    told.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

impl<G: Game> core::fmt::Debug for Running<G> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Running").field("status", &self.status()).field("end", &self.end()).finish()
    }
}

/// Tells how the game ended. If this is dropped before it has told the end, a panic has unwound the game.
struct Ending(Arc<Mutex<Told>>);

impl Ending {
    fn tell(&self, end: Result<(), Error>) {
        let mut told = lock(&self.0);
        told.end.get_or_insert(end);
        if let Some(waker) = told.waker.take() {
            waker.wake();
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.tell(Err(Error::Panicked));
    }
}

fn lock(told: &Mutex<Told>) -> MutexGuard<'_, Told> {
    // No thread leaves a change half done when it panics, so the data are valid.
    told.lock().unwrap_or_else(PoisonError::into_inner)
}
