//! The room as a resource.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bevy_ecs::prelude::{Resource, World};
use samovar::{Error, Game, Member, OrLog as _, RoomError, Running, Status, To};

use crate::news::RoomNews;
use crate::objects::{Kind, missing};

/// The room that the app has entered: see [`SamovarApp::enter`](crate::SamovarApp::enter). What it says is that of the
/// beginning of the frame, and what it sends goes at the frame's end.
#[derive(Resource)]
pub struct Room<G: Game> {
    // Bevy wants resources that threads can share, and a game can only be sent from one to another.
    inner: Mutex<Inner<G>>,
    members: Vec<Member>,
    host: Option<Member>,
    me: Option<Member>,
    is_joined: bool,
    time: f64,
    term: u64,
    code: String,
    was_over: bool,
}

type Call<G> = Box<dyn FnOnce(&mut samovar::Room<'_, G>) -> Result<(), RoomError> + Send>;
type Hear<G> = Box<dyn FnMut(&mut G, &mut World) + Send>;

struct Inner<G: Game> {
    running: Running<G>,
    kinds: Vec<Box<dyn Kind<G>>>,
    hear: Vec<Hear<G>>,
    calls: Vec<Call<G>>,
    state: G::State,
}

/// The most calls that wait for the end of a frame, or for this program to be a member. Further calls are dropped.
const CALLS_MAX: usize = 1_024;

impl<G: Game> Room<G> {
    pub(crate) fn new(running: Running<G>) -> Self {
        let (kinds, hear, calls) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            inner: Mutex::new(Inner { running, kinds, hear, calls, state: G::State::default() }),
            members: Vec::new(),
            host: None,
            me: None,
            is_joined: false,
            time: 0.0,
            term: 0,
            code: String::new(),
            was_over: false,
        }
    }

    pub(crate) fn share(&mut self, kind: Box<dyn Kind<G>>) {
        self.inner_mut().kinds.push(kind);
    }

    pub(crate) fn hear(&mut self, hear: impl FnMut(&mut G, &mut World) + Send + 'static) {
        self.inner_mut().hear.push(Box::new(hear));
    }

    fn inner_mut(&mut self) -> &mut Inner<G> {
        // No system leaves a change half done when it panics, so the data are valid.
        self.inner.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    fn inner(&self) -> MutexGuard<'_, Inner<G>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what has arrived, and returns the news.
    pub(crate) fn receive(&mut self, world: &mut World) -> Vec<RoomNews> {
        let Inner { running, kinds, hear, state, .. } = self.inner_mut();
        let seen = running.with(|game, room| {
            kinds.iter_mut().for_each(|kind| kind.receive(room, world));
            hear.iter_mut().for_each(|hear| hear(game, world));
            state.clone_from(room.state());
            (room.members(), room.host(), room.me(), room.time(), room.term(), room.code().to_owned())
        });
        let is_over = running.end().is_some();
        let mut news = Vec::new();
        if is_over && !core::mem::replace(&mut self.was_over, true) {
            news.push(RoomNews::Ended);
        }
        let Some((members, host, me, time, term, code)) = seen else {
            self.is_joined = false;
            return news;
        };
        if !core::mem::replace(&mut self.is_joined, true) {
            news.push(RoomNews::Joined);
        } else {
            news.extend(missing(&members, &self.members).cloned().map(RoomNews::Came));
            news.extend(missing(&self.members, &members).cloned().map(RoomNews::Went));
            let seat = |host: &Option<Member>| host.as_ref().map(|host| host.seat);
            if seat(&host) != seat(&self.host) {
                news.extend(host.clone().map(RoomNews::HostIs));
            }
        }
        (self.members, self.host, self.me, self.time, self.term, self.code) =
            (members, host, me, time, term, code);
        news
    }

    /// Sends what the app has changed and asked for.
    pub(crate) fn send(&mut self, world: &mut World) {
        let Inner { running, kinds, calls, .. } = self.inner_mut();
        running.with(|_, room| {
            kinds.iter_mut().for_each(|kind| kind.send(room, world));
            for call in calls.drain(..) {
                call(room).or_log();
            }
        });
    }

    /// Whether this program is a member now.
    #[must_use]
    pub const fn is_joined(&self) -> bool {
        self.is_joined
    }

    /// All players that are here, this one included.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// This player.
    #[must_use]
    pub const fn me(&self) -> Option<&Member> {
        self.me.as_ref()
    }

    /// The player that hosts; `None` when it is not known.
    #[must_use]
    pub const fn host(&self) -> Option<&Member> {
        self.host.as_ref()
    }

    /// The number of the host's term. The number grows with each change of host.
    #[must_use]
    pub const fn term(&self) -> u64 {
        self.term
    }

    /// The session's time in seconds: nearly the same at all members, and it goes on under each new host.
    #[must_use]
    pub const fn time(&self) -> f64 {
        self.time
    }

    /// The code by which others join; empty before this program is a member.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The state that the host keeps for all.
    #[must_use]
    pub fn state(&self) -> G::State {
        self.inner().state.clone()
    }

    /// The last change of the connection.
    #[must_use]
    pub fn status(&self) -> Status {
        self.inner().running.status()
    }

    /// How the game ended; `None` while it goes on. The end is an error unless this program left.
    #[must_use]
    pub fn end(&self) -> Option<Result<(), Error>> {
        self.inner().running.end()
    }

    /// Asks the host for something, which it carries out exactly once: see [`Game::decide`]. An ask that the room
    /// refuses is logged.
    pub fn ask(&mut self, ask: G::Ask) {
        self.call(|room| room.ask(ask));
    }

    /// Tells others something: see [`samovar::Room::tell`]. A message that the room refuses is logged.
    pub fn tell(&mut self, to: To, message: G::Message) {
        self.call(move |room| room.tell(to, message));
    }

    /// Leaves the game for good.
    pub fn leave(&mut self) {
        self.call(|room| {
            room.leave();
            Ok(())
        });
    }

    /// Calls the room below at the end of the frame, for all that has no function here. An error is logged.
    pub fn call(
        &mut self,
        call: impl FnOnce(&mut samovar::Room<'_, G>) -> Result<(), RoomError> + Send + 'static,
    ) {
        let calls = &mut self.inner_mut().calls;
        if calls.len() < CALLS_MAX {
            calls.push(Box::new(call));
        }
    }
}
