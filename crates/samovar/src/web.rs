//! Runs a game in a page.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::{Rc, Weak};
use std::task::{Poll, Waker};

use samovar_peer::{PathPolicy, Peer, PeerConfig};
use samovar_peer_web::scope::{self, scope};
use samovar_peer_web::{Listener, Obstacle, WebPeer, entropy, fit_name, now, tab};
use samovar_session::Role;
use samovar_wire::control::Presence;
use samovar_wire::{Duration, Time};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::Window;

use crate::entry::{Attempts, Entry};
use crate::error::Error;
use crate::farewell;
use crate::game::Game;
use crate::keeper::{Begin, End, Keeper, Parts};
use crate::memory::{BYTES_MAX, Memory};
use crate::room::Room;
use crate::status::Status;

/// If no frame came for this long, the browser withholds frames, and the game goes on without them.
const WITHHELD_AFTER: Duration = Duration::from_millis(100);
/// If the relay has not answered for this long, the program is told why.
const UNANSWERED_AFTER: Duration = Duration::from_millis(3_000);
/// The time between two signs of life to other tabs.
const LIVES_EVERY: Duration = Duration::from_millis(tab::LIVES_EVERY as u64);

impl Entry {
    /// Runs the game until this program leaves it or is refused. The game gets the browser's frames, or some frames a
    /// second while the browser withholds its own. A future that is dropped leaves the game.
    ///
    /// The tab keeps the seat. A page that is loaded again and joins by the game's code gets it back, with its
    /// objects, and so does a new tab after this one was closed. A page that is hidden lets another member host.
    /// After a panic, or an exception that the browser throws through the game, the others are told that this player
    /// is away. A reload brings the player back.
    ///
    /// `begin` makes the game when this program becomes a member. When this program has lost its seat and taken it
    /// back, the game begins anew: `begin` is called again, and [`Room::own_or`](crate::Room::own_or) finds the
    /// object that the player had.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn run<G: Game>(self, begin: impl FnMut(&mut Room<'_, G>) -> G + 'static) -> Result<(), Error> {
        self.program(Box::new(begin), false)?.play(|_| ()).await
    }

    /// # Errors
    /// The settings cannot work.
    fn program<G: Game>(mut self, begin: Begin<G>, has_loop: bool) -> Result<Program<G>, Error> {
        let url = self.url.clone();
        if !scope::has_direct() {
            self = self.paths(PathPolicy::Relayed);
        }
        let on_wake = Rc::new(RefCell::new(self.on_wake.take()));
        let (attempts, on_status) = self.attempts::<G>()?;
        let mut memory = Memory::default();
        if let Some(code) = attempts.code() {
            let key = key(code.as_str());
            take_over(code.as_str());
            let kept =
                tab::get(&key, BYTES_MAX).map(|bytes| Memory::from_bytes(&bytes, code, attempts.params()));
            match kept.transpose() {
                Ok(kept) => memory = kept.flatten().unwrap_or_default(),
                Err(why) => crate::log(&format!(
                    "samovar: the kept seat cannot be used, you join as a new player: {why}"
                )),
            }
        }
        Ok(Program { url, attempts, on_wake, parts: Parts { memory, on_status, begin, has_loop } })
    }
}

/// The function that lets the page's own loop play on.
type OnWake = Rc<RefCell<Option<Box<dyn FnMut()>>>>;

/// Lets the page's own loop play on.
fn wake(on_wake: &OnWake) {
    if let Ok(mut on_wake) = on_wake.try_borrow_mut()
        && let Some(on_wake) = &mut *on_wake
    {
        on_wake();
    }
}

/// A program that is about to play.
struct Program<G: Game> {
    url: String,
    attempts: Attempts,
    on_wake: OnWake,
    parts: Parts<G>,
}

impl<G: Game> Program<G> {
    /// Plays until the game is over. Calls `on_start` for each peer that starts.
    ///
    /// # Errors
    /// See [`Error`].
    async fn play(self, mut on_start: impl FnMut(&Rc<Page<G>>)) -> Result<(), Error> {
        let Self { url, mut attempts, on_wake, mut parts } = self;
        tab::live();
        (parts.on_status)(&Status::Connecting);
        if !scope::has_direct() {
            (parts.on_status)(&Status::NoDirectPaths);
        }
        loop {
            let config = attempts.config(entropy(), &parts.memory);
            let keeper = Keeper::new(attempts.identity(fit_name(attempts.name()), crate::seed()), parts);
            let run = Run::start(&url, config, keeper, Rc::clone(&on_wake))?;
            on_start(&run.0);
            let end = run.ended().await;
            let was_member = run.0.was_member.get();
            if run.0.is_broken.get() {
                return Err(Error::Panicked);
            }
            let Some((code, keeper)) = run.finish() else { return Err(Error::Panicked) };
            attempts.note_code(&code);
            parts = keeper.into_parts();
            match attempts.next(end, was_member)? {
                Some(pause) => sleep(pause).await,
                None => {
                    if parts.memory.ticket.is_none() {
                        // A player who left for good has no seat to come back to.
                        tab::remove(&key(&code));
                    }
                    return Ok(());
                }
            }
        }
    }
}

/// A running game whose frames the page's own loop plays. When it is dropped, this program leaves the game.
pub(crate) struct Seat<G: Game> {
    page: Rc<RefCell<Weak<Page<G>>>>,
    stop: Rc<Stop>,
}

/// Whether a game is to stop, and the task that plays it.
#[derive(Default)]
struct Stop {
    is_wanted: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl<G: Game> Seat<G> {
    /// Plays in a task of its own, and calls `on_end` with the result.
    ///
    /// # Errors
    /// The settings cannot work.
    pub(crate) fn start(
        entry: Entry,
        begin: Begin<G>,
        on_end: impl FnOnce(Result<(), Error>) + 'static,
    ) -> Result<Self, Error> {
        let program = entry.program(begin, true)?;
        let on_wake = Rc::clone(&program.on_wake);
        let (page, stop) = (Rc::new(RefCell::new(Weak::new())), Rc::new(Stop::default()));
        let (playing, stopping) = (Rc::clone(&page), Rc::clone(&stop));
        spawn_local(async move {
            let play = program.play(|page| *playing.borrow_mut() = Rc::downgrade(page));
            let mut play = core::pin::pin!(play);
            let end = core::future::poll_fn(|context| {
                if stopping.is_wanted.get() {
                    return Poll::Ready(Ok(()));
                }
                *stopping.waker.borrow_mut() = Some(context.waker().clone());
                play.as_mut().poll(context)
            });
            on_end(end.await);
            // A hidden page gets no frame in which it would see the end.
            wake(&on_wake);
        });
        Ok(Self { page, stop })
    }

    /// Plays a frame of the game by `call`; `None` while there is no game to play.
    pub(crate) fn with<R>(&mut self, call: impl FnOnce(&mut G, &mut Room<'_, G>) -> R) -> Option<R> {
        self.visit(|keeper, now, peer| {
            keeper.take_events(now, peer);
            keeper.with(now, peer, call)
        })
    }

    /// Calls the game between two frames; `None` while there is no game to play.
    pub(crate) fn between<R>(&mut self, call: impl FnOnce(&mut G, &mut Room<'_, G>) -> R) -> Option<R> {
        self.visit(|keeper, now, peer| keeper.between(now, peer, call))
    }

    fn visit<R>(&self, visit: impl FnOnce(&mut Keeper<G>, Time, &mut Peer) -> Option<R>) -> Option<R> {
        let page = self.page.borrow().upgrade()?;
        let mut result = None;
        page.play(|keeper, now, peer| result = visit(keeper, now, peer));
        result
    }

    /// Gives access to the peer; `None` while there is none.
    pub(crate) fn peer<R>(&self, call: impl FnOnce(Time, &mut Peer) -> R) -> Option<R> {
        let page = self.page.borrow().upgrade()?;
        let peer = page.peer.get().filter(|_| !page.is_busy.get())?;
        Some(peer.with(|peer, now| call(now, peer)))
    }

    /// The HTTP answer that came in place of the relay's WebSocket, if one came.
    pub(crate) fn obstacle(&self) -> Option<Obstacle> {
        self.page.borrow().upgrade()?.peer.get()?.obstacle()
    }
}

impl<G: Game> Drop for Seat<G> {
    fn drop(&mut self) {
        self.stop.is_wanted.set(true);
        if let Some(waker) = self.stop.waker.take() {
            waker.wake();
        }
    }
}

/// The name under which the browser's storage keeps the seat. A relay has one game of a code at a time.
fn key(code: &str) -> String {
    format!("samovar.seat.{code}")
}

/// Makes this tab take over the seat of one that is gone.
pub(crate) fn take_over(code: &str) {
    tab::inherit(&key(code));
}

/// A peer's run in a page. When it is dropped, the peer leaves the game.
struct Run<G: Game>(Rc<Page<G>>);

impl<G: Game> Run<G> {
    /// # Errors
    /// The program runs in no browser.
    fn start(url: &str, config: PeerConfig, keeper: Keeper<G>, on_wake: OnWake) -> Result<Self, Error> {
        if !scope::is_browser() {
            return Err(Error::NoPage);
        }
        let window = scope();
        let has_loop = keeper.has_loop();
        let page = Rc::new(Page {
            keeper: RefCell::new(Some(keeper)),
            peer: OnceCell::new(),
            url: url.to_owned(),
            params: config.params,
            on_wake,
            began: now(),
            has_loop,
            is_busy: Cell::new(false),
            was_member: Cell::new(false),
            told: RefCell::default(),
            went: Cell::new(false),
            is_broken: Cell::new(false),
            farewell: OnceCell::new(),
            frame: OnceCell::new(),
            next: Cell::new(None),
            framed: Cell::new(Time::ZERO),
            lived: Cell::new(Time::ZERO),
            end: RefCell::new(None),
            waker: RefCell::new(None),
            listeners: RefCell::new(Vec::new()),
        });
        let waking = Rc::downgrade(&page);
        let peer = WebPeer::start(url, config, move || {
            if let Some(page) = waking.upgrade() {
                page.turn(false);
                wake(&page.on_wake);
            }
        });
        let (goodbye, broken) = (peer.farewell(), Rc::downgrade(&page));
        let farewell = farewell::Farewell::new(goodbye, move || {
            if let Some(page) = broken.upgrade() {
                page.break_off();
            }
        });
        // Both cells were empty, so this cannot fail.
        let _ = page.farewell.set(farewell);
        let _ = page.peer.set(peer);
        page.listen(&window).map_err(|error| {
            let error = String::from(error.unchecked_into::<js_sys::Object>().to_string());
            Error::Misbehaved(format!("the browser: {error}"))
        })?;
        page.turn(false);
        page.ask_for_frames(window);
        Ok(Self(page))
    }

    async fn ended(&self) -> End {
        core::future::poll_fn(|context| match self.0.end.borrow_mut().take() {
            Some(end) => Poll::Ready(end),
            None => {
                *self.0.waker.borrow_mut() = Some(context.waker().clone());
                Poll::Pending
            }
        })
        .await
    }

    /// The keeper of a run that ended, with the game's code; `None` after a panic.
    fn finish(self) -> Option<(String, Keeper<G>)> {
        let keeper = self.0.keeper.try_borrow_mut().ok()?.take()?;
        Some((keeper.code().to_owned(), keeper))
    }
}

impl<G: Game> Drop for Run<G> {
    fn drop(&mut self) {
        self.0.listeners.borrow_mut().clear();
        // The browser must not call the closure of a page that is gone.
        if let Some(next) = self.0.next.take() {
            let _ = scope().cancel_animation_frame(next);
        }
        let is_going = self.0.went.get() || self.0.is_busy.get();
        if let Some(peer) = self.0.peer.get().filter(|_| !is_going) {
            peer.with(|peer, now| peer.leave_at_once(now));
        }
    }
}

/// Waits for `millis` milliseconds.
async fn sleep(millis: u64) {
    let over = js_sys::Promise::new(&mut |resolve, _| {
        let millis = i32::try_from(millis).unwrap_or(i32::MAX);
        let _ = scope().set_timeout_with_callback_and_timeout_and_arguments_0(&resolve, millis);
    });
    let _ = JsFuture::from(over).await;
}

pub(crate) struct Page<G: Game> {
    keeper: RefCell<Option<Keeper<G>>>,
    peer: OnceCell<WebPeer>,
    url: String,
    params: u64,
    on_wake: OnWake,
    began: Time,
    /// Whether the program's own loop plays the frames.
    has_loop: bool,
    /// Whether a call of the game is running. After a panic this stays true.
    is_busy: Cell<bool>,
    was_member: Cell<bool>,
    /// The last message to the program about a relay that lets nobody in.
    told: RefCell<String>,
    /// Whether the page was hidden for unloading, and the peer went away.
    went: Cell<bool>,
    /// Whether a panic or an exception ended the game.
    is_broken: Cell<bool>,
    farewell: OnceCell<farewell::Farewell>,
    /// The closure that the browser calls for each frame.
    frame: OnceCell<Closure<dyn FnMut()>>,
    /// The browser's number of the next frame.
    next: Cell<Option<i32>>,
    /// When the game had its last frame.
    framed: Cell<Time>,
    /// When other tabs had their last sign of life from this one.
    lived: Cell<Time>,
    end: RefCell<Option<End>>,
    waker: RefCell<Option<Waker>>,
    listeners: RefCell<Vec<Listener>>,
}

impl<G: Game> Page<G> {
    /// Handles the events that arrived. Then plays a frame of the game, if the browser gives one (`is_frame`) or
    /// withholds frames.
    fn turn(&self, is_frame: bool) {
        self.play(|keeper, now, peer| {
            keeper.take_events(now, peer);
            if is_frame || self.framed.get() + WITHHELD_AFTER <= now {
                self.framed.set(now);
                keeper.frame(now, peer);
            }
            self.tend_office(now, peer);
            self.watch_relay(now, keeper);
        });
    }

    /// Gives the game the browser's frames for as long as the page runs it.
    fn ask_for_frames(self: &Rc<Self>, window: Window) {
        let page = Rc::downgrade(self);
        let frame = Closure::<dyn FnMut()>::new(move || {
            let Some(page) = page.upgrade().filter(|page| !page.is_broken.get()) else { return };
            if page.is_busy.get() {
                // A frame cannot interrupt a call, so an exception of the browser has ended the last call.
                if let Some(farewell) = page.farewell.get() {
                    farewell.say();
                }
                return;
            }
            // The next frame is requested first, so that it can notice an exception in this frame.
            page.next_frame(&window);
            // A turn before that of the program's own loop would send the states of the frame before.
            if !page.has_loop {
                page.turn(true);
            }
        });
        // The cell was empty, so this cannot fail.
        let _ = self.frame.set(frame);
        self.next_frame(&scope());
    }

    fn next_frame(&self, window: &Window) {
        if let Some(frame) = self.frame.get() {
            // A page that is being torn down gets no more frames.
            self.next.set(window.request_animation_frame(frame.as_ref().unchecked_ref()).ok());
        }
    }

    /// Ends the run after a panic or an exception.
    fn break_off(&self) {
        self.is_broken.set(true);
        self.finish_with(End::Failed(String::new()));
    }

    fn finish_with(&self, end: End) {
        *self.end.borrow_mut() = Some(end);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Calls the keeper, unless a call of it is running: the game may cause an event that the browser reports at
    /// once.
    fn play(&self, call: impl FnOnce(&mut Keeper<G>, Time, &mut Peer)) {
        let Some(peer) = self.peer.get().filter(|_| !self.is_busy.replace(true)) else { return };
        peer.with(|peer, now| {
            let mut keeper = self.keeper.borrow_mut();
            let Some(keeper) = keeper.as_mut() else { return };
            call(keeper, now, peer);
            self.after(now, keeper, peer);
        });
        self.is_busy.set(false);
    }

    fn after(&self, now: Time, keeper: &mut Keeper<G>, peer: &Peer) {
        if peer.session().is_some_and(|session| session.is_member()) {
            self.was_member.set(true);
        }
        if self.lived.get() + LIVES_EVERY <= now && !self.went.get() {
            self.lived.set(now);
            tab::live();
        }
        if let Some((memory, code)) = keeper.take_memory() {
            tab::set(&key(code), &memory.to_bytes(code, self.params));
        }
        if let Some(end) = keeper.end(peer)
            && !self.went.get()
        {
            self.finish_with(end);
        }
    }

    /// Tells the program why the relay lets nobody in. If another server answers in the relay's place, that is final,
    /// unless the server is a gateway whose relay is starting.
    fn watch_relay(&self, now: Time, keeper: &mut Keeper<G>) {
        // A relay that is connected may make newcomers wait, which is no fault.
        let is_open = self.peer.get().is_some_and(WebPeer::is_relay_open);
        if keeper.was_let_in() || is_open || now < self.began + UNANSWERED_AFTER {
            return;
        }
        let url = &self.url;
        let obstacle = self.peer.get().and_then(WebPeer::obstacle);
        let is_final = obstacle.as_ref().is_some_and(Obstacle::is_final);
        let (why, is_final) = match obstacle {
            Some(Obstacle { status, text }) if text.is_empty() => {
                (format!("{url} answers with status {status}, and is no relay"), is_final)
            }
            Some(Obstacle { status, text }) => {
                (format!("{url} answers with status {status}: {text}"), is_final)
            }
            None => (format!("the relay {url} does not answer"), false),
        };
        if self.told.replace(why.clone()) != why {
            keeper.on_unreachable(why, is_final);
        }
    }

    /// Hands over the office of a hidden page as soon as a visible member can host. When the page was hidden, it may
    /// have been alone, without a member to hand over to.
    fn tend_office(&self, now: Time, peer: &mut Peer) {
        if !is_hidden() {
            return;
        }
        let Some(session) = peer.session_mut() else { return };
        let backup = session.view().backup().and_then(|backup| session.seat_of(backup));
        let is_seen = backup.is_some_and(|seat| seat.standing.presence == Presence::Visible);
        if is_seen && session.role(now) == Role::ActiveBackedUp {
            session.hand_over(now);
        }
    }

    /// Listens to the events of the page's life cycle.
    ///
    /// # Errors
    /// The browser refuses a listener.
    fn listen(self: &Rc<Self>, window: &Window) -> Result<(), JsValue> {
        let with = |act: fn(&Self)| {
            let page = Rc::downgrade(self);
            move |_: web_sys::Event| {
                if let Some(page) = page.upgrade() {
                    act(&page);
                }
            }
        };
        // A worker has no life of its own.
        let Some(document) = window.document() else { return Ok(()) };
        *self.listeners.borrow_mut() = vec![
            Listener::on(&document, "visibilitychange", with(Self::on_visibility))?,
            Listener::on(&document, "freeze", with(Self::on_freeze))?,
            Listener::on(window, "pagehide", with(Self::on_page_hide))?,
            Listener::on(window, "pageshow", with(Self::on_page_show))?,
        ];
        self.on_visibility();
        Ok(())
    }

    fn on_visibility(&self) {
        self.play(|_, now, peer| peer.set_visible(now, !is_hidden()));
    }

    /// Hands over, because the browser stops the page in a moment.
    fn on_freeze(&self) {
        self.play(|_, now, peer| _ = peer.session_mut().map(|session| session.hand_over(now)));
    }

    /// Goes away from the seat, because the page goes and may come back. So the others need not wait until they miss
    /// this peer.
    fn on_page_hide(&self) {
        self.went.set(true);
        self.play(|keeper, now, peer| {
            keeper.remember(now, peer);
            peer.go_away(now);
        });
        tab::end();
    }

    /// Reloads a page that the browser kept in its cache and shows again, so that it comes back to its seat.
    fn on_page_show(&self) {
        if self.went.get() {
            let _ = scope().location().reload();
        }
    }
}

fn is_hidden() -> bool {
    scope().document().is_some_and(|document| document.hidden())
}
