//! Direct connections. Their descriptions travel by the relay, their channels open or fail, and their packets may be
//! lost.

use samovar_directory::ConnId;
use samovar_wire::{Duration, Mode, PeerId, Time};

use super::process::Arrival;
use super::{Event, World};
use crate::dice::Dice;
use crate::game::{Game, ProcessId};
use crate::network::{Pipe, Place, Stream, Weather};

/// How long an attempt lasts if the two ends do not reach each other.
const ATTEMPT_LASTS: Duration = Duration::from_millis(15_000);
/// How long a browser takes to notice that the other end is gone.
pub(super) const CONSENT_LASTS: Duration = Duration::from_millis(20_000);

/// One end of a direct connection.
#[derive(Debug)]
pub(super) struct Channel {
    /// The peer at the other end, as this end was told.
    pub(super) peer: PeerId,
    /// The other end, if it is known and belongs to a process.
    pub(super) other: Option<(ProcessId, u32)>,
    /// The other end, if it is known and belongs to the relay.
    pub(super) relay_path: Option<ConnId>,
    is_open: bool,
    /// Whether the address of one end has changed, so that no packet gets through any more.
    pub(super) is_dead: bool,
    pipe: Pipe,
    pub(super) bulk: Stream<Vec<u8>>,
}

impl Channel {
    /// Returns the times at which a message that is sent now arrives: once, twice or not at all.
    pub(super) fn carry(
        &mut self,
        now: Time,
        (mode, bytes): (Mode, usize),
        weather: &Weather,
        dice: &mut Dice,
    ) -> [Option<Time>; 2] {
        match mode {
            Mode::Unreliable => self.pipe.carry(now, bytes, weather, dice),
            Mode::Reliable => [Some(self.bulk.carry(now, bytes, weather, dice)), None],
        }
    }
}

impl<G: Game> World<G> {
    /// The weather of direct paths from a place.
    pub(super) fn direct_weather(&self, from: Place) -> Weather {
        self.net.weather(from, self.plan.direct)
    }

    /// How much longer packets take from one place to another than the weather says.
    fn lag(&self, from: Place, to: Place) -> Duration {
        let is_this =
            |lag: &&(usize, usize, Duration)| (Place::Player(lag.0), Place::Player(lag.1)) == (from, to);
        self.plan.lags.iter().find(is_this).filter(|_| !self.healing).map_or(Duration::ZERO, |lag| lag.2)
    }

    /// Lets a driver make an offer, or the answer to `offer`.
    pub(super) fn describe(&mut self, id: ProcessId, peer: PeerId, attempt: u32, offer: Option<&str>) {
        let other = offer.and_then(parse);
        let channel = Channel {
            peer,
            other,
            relay_path: None,
            is_open: false,
            is_dead: false,
            pipe: Pipe::default(),
            bulk: Stream::new(),
        };
        self.cast.processes[id].channels.insert(attempt, channel);
        let gathered = self.now + self.chance.dice.millis(3, 40);
        let text = format!("{id} {attempt}");
        self.queue.push(gathered, Event::Described { process: id, peer, attempt, text });
    }

    pub(super) fn on_described(&mut self, id: ProcessId, peer: PeerId, attempt: u32, text: String) {
        let process = &mut self.cast.processes[id];
        if process.is_awake() && process.channels.contains_key(&attempt) {
            let now = process.clock.local(self.now);
            if let Some(running) = &mut process.peer {
                running.handle_local_description(now, peer, attempt, text);
            }
            self.turn(id);
        }
    }

    /// Takes an answer. Both ends know each other now, and try to reach each other.
    pub(super) fn connect(&mut self, id: ProcessId, peer: PeerId, attempt: u32, answer: &str) {
        if let Some(conn) = Self::relay_path_named(answer) {
            if let Some(channel) = self.cast.processes[id].channels.get_mut(&attempt) {
                channel.relay_path = Some(conn);
                self.connect_relay_path(id, attempt, conn);
            }
            return;
        }
        let Some((other, theirs)) = parse(answer) else { return };
        let Some(channel) = self.cast.processes[id].channels.get_mut(&attempt) else { return };
        (channel.other, channel.peer) = (Some((other, theirs)), peer);
        let (a, b) = (self.cast.place(id), self.cast.place(other));
        let reaches = self.net.cuts.lets_both(a, b);
        let open = self.net.lets_direct() && reaches && self.cast.processes[other].is_awake();
        for (process, attempt, from) in [(id, attempt, a), (other, theirs, b)] {
            if open {
                let trip = self.direct_weather(from).latency.times(2);
                let after = trip.times(2) + self.chance.dice.span(trip.times(2));
                self.queue.push(self.now + after, Event::DirectOpened { process, attempt });
            } else {
                self.queue.push(self.now + ATTEMPT_LASTS, Event::DirectClosed { process, attempt });
            }
        }
    }

    pub(super) fn on_direct_opened(&mut self, id: ProcessId, attempt: u32) {
        let process = &mut self.cast.processes[id];
        let now = process.clock.local(self.now);
        let Some(channel) = process.channels.get_mut(&attempt) else { return };
        channel.is_open = true;
        let peer = channel.peer;
        if process.is_awake()
            && let Some(running) = &mut process.peer
        {
            running.handle_direct_opened(now, peer, attempt);
            self.turn(id);
        }
    }

    pub(super) fn on_direct_closed(&mut self, id: ProcessId, attempt: u32) {
        if self.cast.processes[id].channels.contains_key(&attempt) {
            self.arrive(id, Arrival::DirectClosed(attempt));
        }
    }

    pub(super) fn send_direct(&mut self, id: ProcessId, attempt: u32, mode: Mode, bytes: Vec<u8>) {
        let from = self.cast.place(id);
        let Some(channel) = self.cast.processes[id].channels.get(&attempt).filter(|c| c.is_open) else {
            return;
        };
        if channel.relay_path.is_some() {
            return self.send_relay_path(id, attempt, mode, bytes);
        }
        let Some((to, theirs)) = channel.other else { return };
        let to_place = self.cast.place(to);
        let mut weather = self.direct_weather(from);
        weather.latency = weather.latency + self.lag(from, to_place);
        let Some(channel) = self.cast.processes[id].channels.get_mut(&attempt) else { return };
        let arrivals = channel.carry(self.now, (mode, bytes.len()), &weather, &mut self.chance.dice);
        let is_dead = channel.is_dead;
        if is_dead || !self.net.lets_direct() || !self.net.cuts.lets(from, to_place) {
            return;
        }
        let [first, second] = arrivals;
        self.tell_packet(from, to_place, &bytes, first.is_some());
        if let Some(at) = second {
            self.queue.push(at, Event::Packet { to, attempt: theirs, mode, bytes: bytes.clone() });
        }
        if let Some(at) = first {
            self.queue.push(at, Event::Packet { to, attempt: theirs, mode, bytes });
        }
    }

    pub(super) fn on_packet(&mut self, to: ProcessId, attempt: u32, mode: Mode, bytes: Vec<u8>) {
        if self.cast.processes[to].channels.get(&attempt).is_some_and(|channel| channel.is_open) {
            self.arrive(to, Arrival::Packet { attempt, mode, bytes });
        }
    }

    /// Closes a driver's end of a connection. The other end hears of it soon, or only after [`CONSENT_LASTS`] if the
    /// notice is lost.
    pub(super) fn close_direct(&mut self, id: ProcessId, attempt: u32) {
        let Some(channel) = self.cast.processes[id].channels.remove(&attempt) else { return };
        if let Some(conn) = channel.relay_path {
            let after = self.direct_weather(self.cast.place(id)).latency;
            self.queue.push(self.now + after, Event::RelayPathClosed(conn, attempt));
        }
        let Some((process, attempt)) = channel.other else { return };
        let (from, to) = (self.cast.place(id), self.cast.place(process));
        let weather = self.direct_weather(from);
        let heard = self.net.lets_direct()
            && self.net.cuts.lets(from, to)
            && !channel.is_dead
            && !self.chance.dice.chance(weather.loss.mean());
        let after = if heard { weather.delay(&mut self.chance.dice) } else { CONSENT_LASTS };
        self.queue.push(self.now + after, Event::DirectClosed { process, attempt });
    }

    /// Gives up the channels of a process that ended without closing them. Their other ends notice later.
    pub(super) fn abandon_channels(&mut self, id: ProcessId) {
        let channels = std::mem::take(&mut self.cast.processes[id].channels);
        for (process, attempt) in channels.values().filter_map(|channel| channel.other) {
            self.queue.push(self.now + CONSENT_LASTS, Event::DirectClosed { process, attempt });
        }
    }
}

/// Reads a description that [`World::describe`] wrote.
fn parse(description: &str) -> Option<(ProcessId, u32)> {
    let (process, attempt) = description.split_once(' ')?;
    Some((process.parse().ok()?, attempt.parse().ok()?))
}
