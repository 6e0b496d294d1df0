//! A thread of the endpoint. In a loop, it handles datagrams, timers and tasks.

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

use super::answered::Answered;
use super::association::{Association, End, Identity, Message, OPEN_WITHIN};
use super::failures::Failures;
use super::holder::Holder;
use super::ledger::Ledger;
use super::registry::{Claim, Former, Registry};
use super::stun;
use super::wire::{Datagram, Inbox, Socket, Wire};
use crate::hub::Hub;
use crate::line::Line;
use crate::metrics::{Ended, Kind, Offered, Undelivered, Way};
use crate::processors::ThreadId;
use crate::reach::{Passed, Reach, Route, Task};

/// The most reads of the socket in a row before their results are sent.
const READS: usize = 8;
/// The largest datagram that the relay handles. No member sends a larger one.
const DATAGRAM_MAX: usize = 2_048;
/// The time between two searches for abandoned connections.
const REVIEW_EVERY: Duration = Duration::from_secs(1);

/// If the thread wakes up within this time of its last run, it sleeps this long, so that datagrams gather and it
/// takes them together. One wake-up costs as much as several datagrams.
const GATHER: Duration = Duration::from_micros(200);

/// The state that all threads of the endpoint share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) identity: Identity,
    pub(super) reach: Arc<Reach>,
    pub(super) hub: Arc<Hub>,
    pub(super) registry: Registry,
    pub(super) failures: Failures,
}

/// The thread's state.
pub(super) struct Worker {
    thread: ThreadId,
    socket: Socket,
    shared: Arc<Shared>,
    associations: HashMap<u64, Association>,
    /// The current connections of members, if this thread serves them.
    members: HashMap<ConnId, u64>,
    by_ufrag: HashMap<String, u64>,
    /// For each address from which datagrams come to this thread, the connection that gets them.
    by_address: HashMap<SocketAddr, Holder>,
    timers: BinaryHeap<Reverse<(Instant, u64)>>,
    ledger: Ledger,
    /// Tasks that were taken and not carried out yet.
    later: Vec<Task>,
    /// Connections to poll in this run of the loop.
    busy: Vec<u64>,
    reviewed: Instant,
    is_stopping: bool,
}

impl Worker {
    pub(super) fn new(thread: ThreadId, socket: Socket, shared: Arc<Shared>) -> Self {
        Self {
            thread,
            socket,
            shared,
            associations: HashMap::new(),
            members: HashMap::new(),
            by_ufrag: HashMap::new(),
            by_address: HashMap::new(),
            later: Vec::new(),
            timers: BinaryHeap::new(),
            ledger: Ledger::default(),
            busy: Vec::new(),
            reviewed: Instant::now(),
            is_stopping: false,
        }
    }

    /// Runs until told to stop.
    pub(super) async fn run(mut self) {
        let mut inbox = Inbox::new();
        let mut rested = Instant::now();
        while !self.is_stopping {
            let review = self.reviewed + REVIEW_EVERY;
            let next = self.timers.peek().map_or(review, |Reverse((at, _))| review.min(*at));
            tokio::select! {
                biased;
                () = self.socket.readable() => {}
                () = self.shared.reach.changed(self.thread) => {}
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
            while !self.busy.is_empty() {
                self.settle();
                self.obey(now);
            }
            self.review(now);
            // Yields to the runtime, so that the tasks of other threads do not wait for a socket that is always
            // readable.
            tokio::task::yield_now().await;
            rested = Instant::now();
        }
        for mut association in mem::take(&mut self.associations).into_values() {
            let wire = wire(self.thread, &self.socket, &self.shared);
            drop(catch_unwind(AssertUnwindSafe(|| association.close(&wire))));
        }
    }

    fn read(&mut self, inbox: &mut Inbox) {
        for _ in 0..READS {
            let may_be_more = self.socket.receive(inbox);
            for datagram in inbox.datagrams() {
                self.shared.hub.metrics.datagram_in(self.thread, datagram.bytes.len());
                if !self.deliver(datagram, None) {
                    self.on_stranger(datagram);
                }
            }
            if !may_be_more {
                return;
            }
        }
    }

    /// Delivers a datagram to its connection: one of this thread, or one of another, unless it was passed on by that.
    /// Returns `false` if there is none. A STUN request names its connection by its user name; of all other datagrams
    /// the sender's address tells it. STUN requests come from any address, so str0m gets one only when the relay
    /// knows its connection.
    fn deliver(&mut self, datagram: Datagram<'_>, by: Option<ThreadId>) -> bool {
        let Datagram { from, bytes, .. } = datagram;
        if bytes.len() > DATAGRAM_MAX {
            return false;
        }
        let is_success = stun::success(bytes).is_some();
        if !is_success && let Some(username) = stun::username(bytes) {
            let ufrag = username.split(':').next().unwrap_or_default();
            let own = self.by_ufrag.get(ufrag).map(|id| Holder::Own(*id));
            let Some(holder) = own.or_else(|| self.claim(ufrag, by)) else { return false };
            self.deliver_to(&holder, datagram, by);
            return true;
        }
        if stun::is_stun(bytes) && !is_success {
            return false;
        }
        if !self.by_address.contains_key(&from) {
            // Another thread may have answered a check from there just now.
            self.take_routes();
        }
        let Some(holder) = self.by_address.get(&from).cloned() else { return false };
        self.deliver_to(&holder, datagram, by);
        true
    }

    fn deliver_to(&mut self, holder: &Holder, datagram: Datagram<'_>, by: Option<ThreadId>) {
        match holder {
            Holder::Own(id) => self.hand_over(*id, datagram, by),
            // A datagram is passed on once. The two threads will agree in a moment.
            Holder::Other { .. } if by.is_some() => {
                self.shared.hub.metrics.undelivered(Undelivered::Unknown);
            }
            Holder::Other { thread, line, .. } => self.pass_on(*thread, line, datagram),
        }
    }

    /// The connection that a check names, if it is none that this thread knows.
    fn claim(&mut self, ufrag: &str, by: Option<ThreadId>) -> Option<Holder> {
        if by.is_some() {
            // The connection has ended while the check was on its way between the threads.
            return None;
        }
        match self.shared.registry.claim(ufrag, self.thread) {
            Claim::Begins(id, answered) => self.open(id, *answered).map(Holder::Own),
            Claim::Elsewhere(thread, line) => Some(Holder::Other { thread, line, is_proven: false }),
            Claim::Unknown => None,
        }
    }

    /// Makes a connection whose first check has come.
    fn open(&mut self, id: u64, answered: Answered) -> Option<u64> {
        let line = Arc::clone(&answered.line);
        let opened = isolated(|| Association::open(Instant::now(), &self.shared.identity, answered));
        match opened {
            Ok(association) => {
                self.by_ufrag.insert(association.ufrag.clone(), id);
                self.associations.insert(id, association);
                Some(id)
            }
            Err(end) => {
                tracing::debug!(conn = line.conn.0, %end, "data channels cannot begin");
                self.shared.failures.unusable();
                self.shared.registry.close(id, &line);
                None
            }
        }
    }

    fn pass_on(&self, thread: ThreadId, line: &Line, Datagram { from, to, bytes }: Datagram<'_>) {
        let hub = &self.shared.hub;
        if !line.takes_datagram(hub.nanos(), hub.limits.datagrams()) {
            return hub.metrics.undelivered(Undelivered::Rate);
        }
        let passed = || Passed { from, to, bytes: bytes.into(), by: self.thread };
        if self.shared.reach.pass(thread, passed) {
            hub.metrics.datagram_passed(self.thread);
        } else {
            hub.metrics.undelivered(Undelivered::Busy);
        }
    }

    /// Takes the waiting tasks, and carries out those that tell where an address belongs.
    fn take_routes(&mut self) {
        for task in self.shared.reach.take(self.thread) {
            match task {
                Task::Pass(route) => self.add_route(route),
                Task::PassNoMore(from, ended) => {
                    if let Some(Holder::Other { thread, .. }) = self.by_address.get(&from)
                        && *thread == ended
                    {
                        self.by_address.remove(&from);
                    }
                }
                task => self.later.push(task),
            }
        }
    }

    /// Notes that another thread wants the datagrams of an address, unless another member has proved that it is there:
    /// the sender of a check may have forged its address.
    fn add_route(&mut self, Route { from, thread, line, is_proven }: Route) {
        if !self.belongs_to_another(from, line.conn) {
            self.by_address.insert(from, Holder::Other { thread, line, is_proven });
        }
    }

    /// Handles a datagram that is for no connection. Answers a plain binding request only if at least as many bytes
    /// came from its address as the answer has, and drops all others. So an attacker that forges its address cannot
    /// use the relay to amplify an attack.
    fn on_stranger(&mut self, Datagram { from, to, bytes }: Datagram<'_>) {
        let Some(transaction) = stun::request(bytes) else {
            return self.shared.hub.metrics.undelivered(Undelivered::Unknown);
        };
        let answer = stun::answer(transaction, from);
        if self.ledger.pays(from, bytes.len(), answer.len()) {
            wire(self.thread, &self.socket, &self.shared).send(from, to, &answer);
        } else {
            self.shared.hub.metrics.undelivered(Undelivered::Unproven);
        }
    }

    fn hand_over(&mut self, id: u64, datagram: Datagram<'_>, by: Option<ThreadId>) {
        let Datagram { from, bytes, .. } = datagram;
        let Some(association) = self.associations.get_mut(&id) else { return };
        let hub = &self.shared.hub;
        // A datagram that was passed on has been counted before.
        let takes = by.is_some() || association.line.takes_datagram(hub.nanos(), hub.limits.datagrams());
        if !takes || stun::is_stun(bytes) && !association.takes_checks_from(from) {
            return hub.metrics.undelivered(Undelivered::Rate);
        }
        let wire = wire(self.thread, &self.socket, &self.shared);
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
        if let Some(by) = by
            && stun::is_stun(bytes)
            && matches!(self.by_address.get(&from), Some(Holder::Own(own)) if *own == id)
            && let Some(association) = self.associations.get_mut(&id)
        {
            association.comes_by(from, by);
            let (line, is_proven) = (Arc::clone(&association.line), association.is_at(from));
            let route = Route { from, thread: self.thread, line, is_proven };
            self.shared.reach.put(by, Task::Pass(route));
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
        self.take_routes();
        for task in mem::take(&mut self.later) {
            match task {
                Task::Offer(line, attempt, description) => self.on_offer(now, &line, attempt, &description),
                Task::Send(line) => self.send(&line),
                Task::Forget(conn) => {
                    self.shared.registry.forget(conn).for_each(|former| self.end(former));
                }
                Task::Close(id) => self.close(id),
                Task::Datagram(Passed { from, to, bytes, by }) => {
                    self.shared.reach.handled(self.thread);
                    if !self.deliver(Datagram { from, to, bytes: &bytes }, Some(by)) {
                        self.shared.hub.metrics.undelivered(Undelivered::Unknown);
                    }
                }
                Task::Pass(_) | Task::PassNoMore(..) => {}
                Task::Stop => self.is_stopping = true,
            }
        }
    }

    fn on_offer(&mut self, now: Instant, line: &Arc<Line>, attempt: u32, description: &str) {
        let refuse = |reason: &str| {
            tracing::debug!(conn = line.conn.0, reason, "an offer of data channels is not answered");
            self.shared.failures.refused();
        };
        let offer = match Offer::parse(description) {
            Ok(offer) => offer,
            Err(reason) => return refuse(&format!("{reason:?}")),
        };
        let mut secrets = [0; 32];
        if getrandom::fill(&mut secrets).is_err() {
            return refuse("the system has no randomness");
        }
        let (answered, answer) = Answered::new(now, &self.shared.identity, Arc::clone(line), offer, &secrets);
        if let Some(former) = self.shared.registry.add(answered) {
            self.end(former);
        }
        self.shared.hub.answer(line.conn, attempt, answer);
    }

    /// Ends a connection whose member is gone or has a newer one.
    fn end(&mut self, former: Former) {
        match former {
            Former::Unclaimed(answered) => self.shared.failures.unreached(answered.born),
            Former::Served(thread, id) if thread == self.thread => self.close(id),
            Former::Served(thread, id) => self.shared.reach.put(thread, Task::Close(id)),
        }
    }

    /// Sends the messages that wait for a member.
    fn send(&mut self, line: &Arc<Line>) {
        // Answers the call even if the channels have just ended. Otherwise no further call would report the messages
        // for the member's next channels.
        line.channels.answer_call();
        let Some(&id) = self.members.get(&line.conn) else {
            // The member's channels may have begun at another thread since the call.
            if line.channels.thread() != self.thread {
                self.shared.reach.call(line);
            }
            return;
        };
        // The connection may have been polled since the call, because of a message from its member. Then no message
        // waits any more.
        if line.channels.outbox.depth().messages > 0 {
            self.poll(id);
        }
    }

    /// Polls a connection: sends its datagrams, takes its messages, and passes them on.
    fn poll(&mut self, id: u64) {
        let Some(association) = self.associations.get_mut(&id) else { return };
        let wire = wire(self.thread, &self.socket, &self.shared);
        let is_current = association.line.channels.are_served_by(id);
        let hub = &self.shared.hub;
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
                self.by_address.insert(address, Holder::Own(id));
            }
            isolated(|| self.take(id, &line, messages))
        });
        self.finish(id, done);
        self.arm(id);
    }

    /// Whether another member has proved that it is at this address.
    fn belongs_to_another(&self, address: SocketAddr, conn: ConnId) -> bool {
        match self.by_address.get(&address) {
            Some(Holder::Own(id)) => {
                let holder = self.associations.get(id);
                holder.is_some_and(|holder| holder.line.conn != conn && holder.is_at(address))
            }
            Some(Holder::Other { line, is_proven, .. }) => *is_proven && line.conn != conn,
            None => false,
        }
    }

    /// Handles messages of a member.
    fn take(&mut self, id: u64, line: &Arc<Line>, messages: Vec<Message>) -> Result<(), End> {
        if messages.is_empty() {
            return Ok(());
        }
        let now = self.shared.hub.nanos();
        if line.channels.are_served_by(id) {
            line.channels.hear(now);
        } else {
            self.begin(id, line, now);
        }
        let hub = &self.shared.hub;
        for (mode, bytes) in messages {
            if bytes.is_empty() {
                continue;
            }
            let kind = Kind::of_mode(mode);
            hub.metrics.came(line.shard, Way::Channels, kind, bytes.len());
            let receiver = Addressed::decode(mode, &bytes).map_err(|_| End::Misbehaved)?.peer;
            match hub.limits.pay(line.payers(), now, bytes.len(), false) {
                Ok(()) => hub.channel_message(line, receiver, (kind, bytes), now),
                Err(unpaid) => hub.metrics.dropped(line.shard, unpaid.reason, 1),
            }
        }
        Ok(())
    }

    /// Makes a connection that was heard for the first time its member's current one.
    fn begin(&mut self, id: u64, line: &Line, now: u64) {
        let former = self.shared.registry.hear((id, self.thread), (line, now));
        if line.channels.are_served_by(id) {
            self.members.insert(line.conn, id);
            self.shared.hub.metrics.offered(Offered::Opened);
            // Messages may wait that were queued for the former one.
            self.busy.push(id);
        }
        former.into_iter().for_each(|former| self.end(former));
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
        if self.thread == 0 {
            for answered in self.shared.registry.expire(now, OPEN_WITHIN) {
                self.shared.failures.unreached(answered.born);
            }
        }
    }

    /// Closes a connection if its last step has ended it.
    fn finish(&mut self, id: u64, done: Result<(), End>) {
        let Err(end) = done else { return };
        if let Some(association) = self.associations.get(&id) {
            tracing::debug!(conn = association.line.conn.0, %end, "data channels ended");
        }
        if matches!(end, End::Panicked) {
            self.shared.hub.metrics.ended(Ended::Panicked);
            tracing::error!("data channels panicked, and are closed; this is a bug");
        }
        self.close(id);
    }

    /// Closes a connection, tells its other end if possible, and forgets it.
    fn close(&mut self, id: u64) {
        let Some(mut association) = self.associations.remove(&id) else { return };
        if !association.is_heard {
            self.shared.failures.unopened(association.born);
        }
        self.by_ufrag.remove(&association.ufrag);
        let is_own = |holder: &Holder| matches!(holder, Holder::Own(own) if *own == id);
        self.by_address.retain(|_, holder| !is_own(holder));
        for (from, by) in association.passed.drain(..) {
            if !self.by_address.contains_key(&from) {
                self.shared.reach.put(by, Task::PassNoMore(from, self.thread));
            }
        }
        if self.members.get(&association.line.conn) == Some(&id) {
            self.members.remove(&association.line.conn);
        }
        self.shared.registry.close(id, &association.line);
        let wire = wire(self.thread, &self.socket, &self.shared);
        drop(isolated(|| association.close(&wire)));
    }
}

fn wire<'a>(thread: ThreadId, socket: &'a Socket, shared: &'a Shared) -> Wire<'a> {
    let Shared { identity, hub, .. } = shared;
    Wire {
        thread,
        socket,
        addresses: &identity.addresses,
        provider: &identity.provider,
        metrics: &hub.metrics,
    }
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
        let listen = "127.0.0.1:0".parse().expect("an address");
        let endpoint = Endpoint::bind(&UdpConfig { listen, public: Vec::new(), threads: 1 }).expect("binds");
        let reach = endpoint.reach();
        let hub = Arc::new(crate::hub::tests::hub(Some(Arc::clone(&reach))));
        let line = hub.open(crate::line::Visitor::default());
        let Endpoint { sockets, identity, .. } = endpoint;
        let socket = sockets.into_iter().next().and_then(|socket| socket.into_socket().ok());
        let failures = Failures::new(Arc::default(), &[]);
        let shared =
            Shared { identity, reach: Arc::clone(&reach), hub, registry: Registry::default(), failures };
        let mut worker = Worker::new(0, socket.expect("a socket"), Arc::new(shared));
        // Another thread has just queued a message, and the channels have ended at the same time.
        reach.call(&line);
        worker.obey(Instant::now());
        assert!(line.channels.call(), "the next call is heard");
    }
}
