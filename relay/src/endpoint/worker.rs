//! The endpoint's thread. In a loop, it handles datagrams, timers and tasks.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::mem;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use samovar_directory::ConnId;
use samovar_directory::description::Offer;
use samovar_wire::relay::Addressed;

use super::association::{Association, End, Identity, Message};
use super::ledger::Ledger;
use super::stun;
use super::wire::{Datagram, Inbox, Socket, Wire};
use crate::hub::Hub;
use crate::line::Line;
use crate::metrics::{Ended, Kind, Offered, Undelivered, Way};
use crate::reach::{Reach, Task};
use crate::seldom::Seldom;

/// The most reads of the socket in a row before their results are sent.
const READS: usize = 8;
/// The largest datagram that the relay handles. No member sends a larger one.
const DATAGRAM_MAX: usize = 2_048;
/// The time between two searches for abandoned connections.
const REVIEW_EVERY: Duration = Duration::from_secs(1);

/// A connection that ends without a message counts as a failure only from this age on. A younger one may have had no
/// time.
const TRIED_FOR: Duration = Duration::from_secs(2);

/// If the thread wakes up within this time of its last run, it sleeps this long, so that datagrams gather and it
/// takes them together. One wake-up costs as much as several datagrams.
const GATHER: Duration = Duration::from_micros(200);

/// The thread's state.
pub(super) struct Worker {
    socket: Socket,
    identity: Identity,
    reach: Arc<Reach>,
    hub: Arc<Hub>,
    associations: HashMap<u64, Association>,
    /// Each member's current connection, and a newer one that has not been heard yet.
    members: HashMap<ConnId, Pair>,
    by_ufrag: HashMap<String, u64>,
    by_address: HashMap<SocketAddr, u64>,
    timers: BinaryHeap<Reverse<(Instant, u64)>>,
    ledger: Ledger,
    opened: u64,
    /// Connections to poll in this run of the loop.
    busy: Vec<u64>,
    reviewed: Instant,
    /// For each reason, the offers that led to no channels and are not logged yet.
    failed: [Seldom; 3],
    is_stopping: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    current: Option<u64>,
    next: Option<u64>,
}

impl Worker {
    pub(super) fn new(socket: Socket, identity: Identity, reach: Arc<Reach>, hub: Arc<Hub>) -> Self {
        Self {
            socket,
            identity,
            reach,
            hub,
            associations: HashMap::new(),
            members: HashMap::new(),
            by_ufrag: HashMap::new(),
            by_address: HashMap::new(),
            timers: BinaryHeap::new(),
            ledger: Ledger::default(),
            opened: 0,
            busy: Vec::new(),
            reviewed: Instant::now(),
            failed: Default::default(),
            is_stopping: false,
        }
    }

    /// Runs the endpoint until it is told to stop.
    pub(super) async fn run(mut self) {
        let mut inbox = Inbox::new();
        let mut rested = Instant::now();
        while !self.is_stopping {
            let review = self.reviewed + REVIEW_EVERY;
            let next = self.timers.peek().map_or(review, |Reverse((at, _))| review.min(*at));
            tokio::select! {
                biased;
                () = self.socket.readable() => {}
                () = self.reach.changed() => {}
                () = tokio::time::sleep_until(next.into()) => {}
            }
            if rested.elapsed() < GATHER {
                // The thread may block, because it has no other work.
                std::thread::sleep(GATHER);
            }
            self.read(&mut inbox);
            let now = Instant::now();
            self.fire(now);
            self.settle();
            self.obey(now);
            self.review(now);
            // Yields to the runtime, so that the tasks of other threads do not wait for a socket that is always
            // readable.
            tokio::task::yield_now().await;
            rested = Instant::now();
        }
        for mut association in mem::take(&mut self.associations).into_values() {
            let wire = wire(&self.socket, &self.identity, &self.hub);
            drop(catch_unwind(AssertUnwindSafe(|| association.close(&wire))));
        }
    }

    fn read(&mut self, inbox: &mut Inbox) {
        for _ in 0..READS {
            let may_be_more = self.socket.receive(inbox);
            for datagram in inbox.datagrams() {
                self.hub.metrics.datagram_in(datagram.bytes.len());
                match self.receiver(datagram) {
                    Some(id) => self.hand_over(id, datagram),
                    None => self.on_stranger(datagram),
                }
            }
            if !may_be_more {
                return;
            }
        }
    }

    /// The connection that a datagram is for. A STUN request names it by its user name; of all other datagrams the
    /// sender's address tells it. STUN requests come from any address, so str0m gets one only when the relay knows
    /// its connection.
    fn receiver(&self, Datagram { from, bytes, .. }: Datagram<'_>) -> Option<u64> {
        if bytes.len() > DATAGRAM_MAX {
            return None;
        }
        if stun::success(bytes).is_none()
            && let Some(username) = stun::username(bytes)
        {
            return self.by_ufrag.get(username.split(':').next()?).copied();
        }
        let known = self.by_address.get(&from).copied();
        known.filter(|_| !stun::is_stun(bytes) || stun::success(bytes).is_some())
    }

    /// Handles a datagram that is for no connection. Answers a plain binding request only if at least as many bytes
    /// came from its address as the answer has, and drops all others. So an attacker that forges its address cannot
    /// use the relay to amplify an attack.
    fn on_stranger(&mut self, Datagram { from, to, bytes }: Datagram<'_>) {
        let Some(transaction) = stun::request(bytes) else {
            return self.hub.metrics.undelivered(Undelivered::Unknown);
        };
        let answer = stun::answer(transaction, from);
        if self.ledger.pays(from, bytes.len(), answer.len()) {
            wire(&self.socket, &self.identity, &self.hub).send(from, to, &answer);
        } else {
            self.hub.metrics.undelivered(Undelivered::Unproven);
        }
    }

    fn hand_over(&mut self, id: u64, datagram: Datagram<'_>) {
        let Datagram { from, bytes, .. } = datagram;
        let Some(association) = self.associations.get_mut(&id) else { return };
        let rate = self.hub.limits.datagrams();
        let takes = association.line.takes_datagram(self.hub.nanos(), rate);
        if !takes || stun::is_stun(bytes) && !association.takes_checks_from(from) {
            return self.hub.metrics.undelivered(Undelivered::Rate);
        }
        let wire = wire(&self.socket, &self.identity, &self.hub);
        let now = Instant::now();
        let done = isolated(|| association.receive(now, datagram, &wire));
        let is_due = stun::is_stun(bytes) || association.is_due();
        self.finish(id, done);
        if is_due {
            // Polls at once: the bytes of this datagram count for its own answer, and the relay knows its address
            // before the next one comes.
            self.poll(id);
        } else {
            self.busy.push(id);
        }
    }

    /// Runs the timers that are due.
    fn fire(&mut self, now: Instant) {
        while let Some(&Reverse((at, id))) = self.timers.peek()
            && at <= now
        {
            self.timers.pop();
            let Some(association) = self.associations.get_mut(&id) else { continue };
            if association.armed > at {
                continue;
            }
            association.armed = now + Duration::from_secs(3_600);
            if association.timeout <= now {
                let done = isolated(|| association.pass_time(now));
                self.finish(id, done);
                self.busy.push(id);
            } else {
                self.arm(id);
            }
        }
    }

    /// Sends the results of this run's datagrams and timers, and passes on the messages that came with them.
    fn settle(&mut self) {
        let mut busy = mem::take(&mut self.busy);
        busy.sort_unstable();
        busy.dedup();
        busy.drain(..).for_each(|id| self.poll(id));
        self.busy = busy;
    }

    /// Carries out other threads' tasks, and sends the waiting messages.
    fn obey(&mut self, now: Instant) {
        for task in self.reach.take() {
            match task {
                Task::Offer(line, attempt, description) => self.on_offer(now, &line, attempt, &description),
                Task::Send(line) => self.send(&line),
                Task::Forget(conn) => {
                    let pair = self.members.remove(&conn).unwrap_or_default();
                    [pair.current, pair.next].into_iter().flatten().for_each(|id| self.close(id));
                }
                Task::Stop => self.is_stopping = true,
            }
        }
    }

    fn on_offer(&mut self, now: Instant, line: &Arc<Line>, attempt: u32, description: &str) {
        let offer = match Offer::parse(description) {
            Ok(offer) => offer,
            Err(reason) => return self.refuse_offer(line, &format!("{reason:?}")),
        };
        let mut secrets = [0; 32];
        if getrandom::fill(&mut secrets).is_err() {
            return self.refuse_offer(line, "the system has no randomness");
        }
        let answered =
            isolated(|| Association::answer(now, &self.identity, Arc::clone(line), offer, secrets));
        let (association, answer) = match answered {
            Ok(answered) => answered,
            Err(end) => return self.refuse_offer(line, &end.to_string()),
        };
        self.opened += 1;
        let id = self.opened;
        self.by_ufrag.insert(association.ufrag.clone(), id);
        self.associations.insert(id, association);
        if let Some(former) = self.members.entry(line.conn).or_default().next.replace(id) {
            self.close(former);
        }
        self.poll(id);
        self.hub.answer(line.conn, attempt, answer);
    }

    /// Leaves an offer without an answer, and notes the failure.
    fn refuse_offer(&self, line: &Line, reason: &str) {
        tracing::debug!(conn = line.conn.0, reason, "an offer of data channels is not answered");
        self.note_failure(
            Offered::Refused,
            "a member's offer of data channels was none; it stays on its WebSocket",
        );
    }

    /// Counts and logs that a member has no data channels, for a reason that the operator may be able to change.
    fn note_failure(&self, outcome: Offered, what: &str) {
        self.hub.metrics.offered(outcome);
        let place = match outcome {
            Offered::Refused => 0,
            Offered::Unreached => 1,
            Offered::Unopened | Offered::Opened => 2,
        };
        if let Some(times) = self.failed[place].happened(Instant::now()) {
            let told = self.identity.addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            tracing::warn!(times, told, "{what}");
        }
    }

    /// Notes that a connection has ended without a message on its channels. A connection that ended early is left
    /// out, because it may have had no time.
    fn on_unheard(&self, association: &Association) {
        if association.born.elapsed() < TRIED_FOR {
            return;
        }
        if association.is_reached() {
            self.note_failure(
                Offered::Unopened,
                "a member reaches the UDP port and has no data channels: do answers reach it, from the address that it asked? \
                 It stays on its WebSocket",
            );
        } else {
            self.note_failure(
                Offered::Unreached,
                "a member was told of the UDP port and nothing came from it: is the port open, and is --public-address right? \
                 It stays on its WebSocket",
            );
        }
    }

    /// Sends the messages that wait for a member.
    fn send(&mut self, line: &Line) {
        // Answers the call even if the channels have just ended. Otherwise no further call would report the messages
        // for the member's next channels.
        line.channels.answer_call();
        let Some(id) = self.members.get(&line.conn).and_then(|pair| pair.current) else { return };
        // The connection may have been polled since the call, because of a message from its member. Then no message
        // waits any more.
        if line.channels.outbox.depth().messages > 0 {
            self.poll(id);
        }
    }

    /// Polls a connection: sends its datagrams, takes its messages, and passes them on.
    fn poll(&mut self, id: u64) {
        let Some(association) = self.associations.get_mut(&id) else { return };
        let wire = wire(&self.socket, &self.identity, &self.hub);
        let is_current =
            self.members.get(&association.line.conn).is_some_and(|pair| pair.current == Some(id));
        let hub = &self.hub;
        let shard = association.line.shard;
        let mut messages = Vec::new();
        let done = isolated(|| {
            if is_current {
                association.fill(|message| {
                    hub.metrics.went(shard, Way::Channels, message.kind, message.bytes.len());
                    let time = hub.nanos().saturating_sub(message.since);
                    hub.metrics.forwarded(shard, Duration::from_nanos(time));
                })?;
            }
            let known = association.poll(&wire, &mut messages)?;
            #[cfg(test)]
            messages.iter().for_each(|(_, bytes)| crate::panics::trip(bytes));
            Ok(known)
        });
        let line = Arc::clone(&association.line);
        let done = done.and_then(|known| {
            // The sender of a check may have forged its address. So the connection does not take over an address that
            // another member has proved. It takes over the address of an older connection of the same member.
            if let Some(address) = known
                && !self.belongs_to_another(address, line.conn)
            {
                self.by_address.insert(address, id);
            }
            isolated(|| self.take(id, &line, messages))
        });
        self.finish(id, done);
        self.arm(id);
    }

    /// Whether another member has proved that it is at this address.
    fn belongs_to_another(&self, address: SocketAddr, conn: ConnId) -> bool {
        let holder = self.by_address.get(&address).and_then(|id| self.associations.get(id));
        holder.is_some_and(|holder| holder.line.conn != conn && holder.is_at(address))
    }

    /// Handles messages of a member.
    fn take(&mut self, id: u64, line: &Arc<Line>, messages: Vec<Message>) -> Result<(), End> {
        if messages.is_empty() {
            return Ok(());
        }
        let pair = self.members.entry(line.conn).or_default();
        if pair.next == Some(id) {
            pair.next = None;
            self.hub.metrics.offered(Offered::Opened);
            if let Some(former) = pair.current.replace(id) {
                self.close(former);
            }
        }
        let now = self.hub.nanos();
        line.channels.hear(now);
        for (mode, bytes) in messages {
            if bytes.is_empty() {
                continue;
            }
            let kind = Kind::of_mode(mode);
            self.hub.metrics.came(line.shard, Way::Channels, kind, bytes.len());
            let receiver = Addressed::decode(mode, &bytes).map_err(|_| End::Misbehaved)?.peer;
            match self.hub.limits.pay(line.payers(), now, bytes.len(), false) {
                Ok(()) => self.hub.channel_message(line, receiver, (kind, bytes), now),
                Err(unpaid) => self.hub.metrics.dropped(line.shard, unpaid.reason, 1),
            }
        }
        Ok(())
    }

    /// Makes sure that a connection's timer fires. Timers are never cancelled: one that fires too early is set again.
    fn arm(&mut self, id: u64) {
        let Some(association) = self.associations.get_mut(&id) else { return };
        if association.timeout < association.armed {
            association.armed = association.timeout;
            self.timers.push(Reverse((association.timeout, id)));
        }
    }

    fn review(&mut self, now: Instant) {
        if now < self.reviewed + REVIEW_EVERY {
            return;
        }
        self.reviewed = now;
        let is_over = |(&id, association): (&u64, &Association)| Some((id, association.review(now).err()?));
        let over: Vec<_> = self.associations.iter().filter_map(is_over).collect();
        for (id, end) in over {
            self.finish(id, Err(end));
        }
    }

    /// Closes a connection if its last step has ended it.
    fn finish(&mut self, id: u64, done: Result<(), End>) {
        let Err(end) = done else { return };
        if let Some(association) = self.associations.get(&id) {
            tracing::debug!(conn = association.line.conn.0, %end, "data channels ended");
        }
        if matches!(end, End::Panicked) {
            self.hub.metrics.ended(Ended::Panicked);
            tracing::error!("data channels panicked, and are closed; this is a bug");
        }
        self.close(id);
    }

    /// Closes a connection, tells its other end if possible, and forgets it.
    fn close(&mut self, id: u64) {
        let Some(mut association) = self.associations.remove(&id) else { return };
        if !association.is_heard {
            self.on_unheard(&association);
        }
        self.by_ufrag.remove(&association.ufrag);
        self.by_address.retain(|_, other| *other != id);
        if let Some(pair) = self.members.get_mut(&association.line.conn) {
            if pair.current == Some(id) {
                pair.current = None;
                association.line.channels.lose();
            }
            pair.next = pair.next.filter(|next| *next != id);
        }
        let wire = wire(&self.socket, &self.identity, &self.hub);
        drop(isolated(|| association.close(&wire)));
    }
}

fn wire<'a>(socket: &'a Socket, identity: &'a Identity, hub: &'a Hub) -> Wire<'a> {
    Wire { socket, addresses: &identity.addresses, provider: &identity.provider, metrics: &hub.metrics }
}

/// Steps a state machine. A state machine that panics has ended, and is never stepped again.
fn isolated<R>(step: impl FnOnce() -> Result<R, End>) -> Result<R, End> {
    catch_unwind(AssertUnwindSafe(step)).unwrap_or(Err(End::Panicked))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::{Endpoint, UdpConfig};

    /// The endpoint answers a call even if the channels have just ended. Otherwise it would not notice any later
    /// call.
    #[tokio::test]
    async fn a_call_for_ended_channels_is_answered() {
        let udp = UdpConfig { listen: "127.0.0.1:0".parse().expect("an address"), public: Vec::new() };
        let endpoint = Endpoint::bind(&udp).expect("binds");
        let reach = endpoint.reach();
        let hub = Arc::new(crate::hub::tests::hub(Some(Arc::clone(&reach))));
        let line = hub.open(crate::line::Visitor::default());
        let Endpoint { socket, identity, .. } = endpoint;
        let socket = socket.into_socket().expect("a socket");
        let mut worker = Worker::new(socket, identity, Arc::clone(&reach), hub);
        // Another thread has just queued a message, and the channels have ended at the same time.
        reach.call(&line);
        worker.obey(Instant::now());
        assert!(line.channels.call(), "the next call is heard");
    }
}
