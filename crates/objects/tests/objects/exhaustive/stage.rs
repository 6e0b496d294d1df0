//! The peers of a scenario: real machines, which compose the letters that the observer hears.

use std::collections::BTreeMap;

use samovar_objects::{Objects, Place, Schemas};
use samovar_wire::object::{Announcement, Destroy, Granted, MessageKind, Traits};
use samovar_wire::{Kind, ObjectId, PeerId, Reader, Receipt, Stamp, Term, Time};

pub(crate) const HOST: PeerId = PeerId(1);
pub(crate) const A: PeerId = PeerId(2);
pub(crate) const B: PeerId = PeerId(3);
pub(crate) const C: PeerId = PeerId(4);
pub(crate) const X: PeerId = PeerId(5);
const ALL: [PeerId; 5] = [HOST, A, B, C, X];

pub(crate) const STAYS: Traits = Traits::of(Kind(1));

fn machine(me: PeerId) -> Objects {
    let mut objects = Objects::new(me, HOST, Term(1), Schemas::new());
    ALL.into_iter().filter(|&peer| peer != me).for_each(|peer| objects.add_peer(peer));
    objects
}

/// Something that happens to the observer. An update happens up to two times, everything else once.
#[derive(Clone, Debug)]
pub(crate) struct Letter {
    /// The kind's first letter, the sender and the counter of the stamp, as in the source (docs/sources.md,
    /// "Bitsquid"): `C_a_0`, `M_b_1`, `D_b_1`, `U_b_1`. The host's word for `M_b_1` is `word_h_1`.
    pub(crate) name: String,
    pub(crate) from: PeerId,
    pub(crate) content: Content,
    /// Another letter that must come before this one, whatever the lanes promise: a warrant comes before the letters
    /// under it.
    pub(crate) after: Option<usize>,
}

#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// A message of the reliable lane. In an announcement `value` is the state.
    Reliable { kind: MessageKind, stamp: Stamp, value: Vec<u8>, body: Vec<u8> },
    /// A datagram and the number of its packet.
    Update { packet: u64, stamp: Stamp, value: Vec<u8>, body: Vec<u8> },
    /// The view drops this peer: the observer hears none of its later letters.
    Gone(PeerId),
    /// A warrant names this peer as the host of this term.
    Host(PeerId, Term),
}

impl Letter {
    /// Whether the network may lose or double this letter.
    pub(crate) const fn is_unreliable(&self) -> bool {
        matches!(self.content, Content::Update { .. })
    }
}

/// How the object must end, in every order of the letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Owned(PeerId, Stamp),
    Dead,
}

/// The observer's first state, its letters, and the end they must lead to.
pub(crate) struct Scenario {
    pub(crate) id: ObjectId,
    pub(crate) start: Objects,
    pub(crate) letters: Vec<Letter>,
    pub(crate) end: End,
}

/// The peers of a scenario, which write the messages for the observer.
pub(crate) struct Stage {
    pub(crate) peers: BTreeMap<PeerId, Objects>,
    observer: PeerId,
    start: Objects,
    letters: Vec<Letter>,
    clock: u64,
}

impl Stage {
    pub(crate) fn new(observer: PeerId) -> Self {
        let peers: BTreeMap<_, _> = ALL.into_iter().map(|peer| (peer, machine(peer))).collect();
        Self { peers, observer, start: machine(observer), letters: Vec::new(), clock: 0 }
    }

    pub(crate) fn peer(&mut self, peer: PeerId) -> &mut Objects {
        self.peers.get_mut(&peer).unwrap()
    }

    fn now(&mut self) -> Time {
        self.clock += 1;
        Time::from_micros(self.clock)
    }

    pub(crate) fn create(&mut self, owner: PeerId) -> ObjectId {
        let now = self.now();
        self.peer(owner).create(now, STAYS, &[b"created"]).unwrap()
    }

    fn messages(&mut self, from: PeerId, to: PeerId) -> Vec<Vec<u8>> {
        let now = self.now();
        let (sender, mut all) = (self.peer(from), Vec::new());
        loop {
            let mut bytes = Vec::new();
            let Some(pending) = sender.poll_message(now, to, &mut bytes) else { return all };
            sender.on_sent(to, pending, Receipt::Lane(0));
            all.push(bytes);
        }
    }

    /// Delivers all reliable messages that one peer has for another now.
    pub(crate) fn tell(&mut self, from: PeerId, to: PeerId) {
        for bytes in self.messages(from, to) {
            let kind = MessageKind::decode(&mut Reader::new(&bytes)).unwrap();
            self.peer(to).handle_message(from, kind, &bytes[1..]).unwrap();
        }
    }

    /// Makes the observer's present state its state before the first letter.
    pub(crate) fn begin(&mut self) {
        self.start = self.peers[&self.observer].clone();
    }

    /// Turns all reliable messages that a peer has for the observer now into letters.
    pub(crate) fn seal(&mut self, from: PeerId) {
        let bytes = self.messages(from, self.observer);
        assert!(!bytes.is_empty(), "{from} has nothing to tell");
        for bytes in bytes {
            let mut reader = Reader::new(&bytes);
            let kind = MessageKind::decode(&mut reader).unwrap();
            let (stamp, value) = if kind == MessageKind::Destroy {
                (Destroy::decode(&mut reader).unwrap().stamp, Vec::new())
            } else if kind == MessageKind::Granted {
                (Granted::decode(&mut reader).unwrap().stamp, Vec::new())
            } else {
                let announcement = Announcement::decode(&mut reader).unwrap();
                (announcement.stamp, announcement.fields.iter().next().unwrap().to_vec())
            };
            let letter = if kind == MessageKind::Granted { "word" } else { &format!("{kind:?}")[..1] };
            let name = format!("{letter}_{}_{}", initial(from), stamp.counter);
            let content = Content::Reliable { kind, stamp, value, body: bytes[1..].to_vec() };
            self.letters.push(Letter { name, from, content, after: None });
        }
    }

    /// Turns a datagram with a new value into a letter. The sender assumes that its announcement is acked.
    pub(crate) fn seal_update(&mut self, from: PeerId, id: ObjectId, value: &[u8]) {
        let (now, observer) = (self.now(), self.observer);
        let packet = self.clock;
        let sender = self.peer(from);
        sender.set(now, id, 0, value).unwrap();
        let stamp = sender.get(id).unwrap().stamp();
        let mut bytes = Vec::new();
        sender.write_datagram(Place { now, peer: observer, packet, room: 1_000 }, &|_| true, &mut bytes);
        assert!(!bytes.is_empty(), "{from} has no update");
        let name = format!("U_{}_{}", initial(from), stamp.counter);
        let content = Content::Update { packet, stamp, value: value.to_vec(), body: bytes[1..].to_vec() };
        self.letters.push(Letter { name, from, content, after: None });
    }

    /// Adds the letter that a peer is gone.
    pub(crate) fn seal_departure(&mut self, gone: PeerId) {
        let (name, content) = (format!("gone_{}", initial(gone)), Content::Gone(gone));
        self.letters.push(Letter { name, from: self.observer, content, after: None });
    }

    /// Adds the letter that a warrant names a host. The letters that `said` adds under that warrant come after it.
    pub(crate) fn seal_host(&mut self, host: PeerId, term: Term, said: impl FnOnce(&mut Self)) {
        let (name, content) = (format!("host_{}_{}", initial(host), term.0), Content::Host(host, term));
        let warrant = self.letters.len();
        self.letters.push(Letter { name, from: self.observer, content, after: None });
        said(self);
        self.letters[warrant + 1..].iter_mut().for_each(|letter| letter.after = Some(warrant));
    }

    pub(crate) fn ends(self, id: ObjectId, end: End) -> Scenario {
        Scenario { id, start: self.start, letters: self.letters, end }
    }
}

fn initial(peer: PeerId) -> char {
    ['h', 'a', 'b', 'c', 'x'][peer.0 as usize - 1]
}

/// A receiver of letters: the real machine or a test-only variant of the protocol.
pub(crate) trait Hearer: Clone + Eq + core::hash::Hash {
    /// Takes one letter. Returns its fault, if it is refused.
    fn hear(&mut self, letter: &Letter) -> Result<(), String>;
    /// Owner, stamp where the protocol has one, and value of the object; `None` when it is not there.
    fn picture(&self) -> Option<(PeerId, Option<Stamp>, Vec<u8>)>;
}

/// The real machine.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Observer {
    id: ObjectId,
    objects: Objects,
    gone: Vec<PeerId>,
}

impl Observer {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        Self { id: scenario.id, objects: scenario.start.clone(), gone: Vec::new() }
    }
}

impl Hearer for Observer {
    fn hear(&mut self, letter: &Letter) -> Result<(), String> {
        if self.gone.contains(&letter.from) {
            return Ok(());
        }
        let heard = match &letter.content {
            Content::Reliable { kind, body, .. } => self.objects.handle_message(letter.from, *kind, body),
            Content::Update { body, .. } => self.objects.handle_datagram(letter.from, body),
            Content::Gone(peer) => {
                self.gone.push(*peer);
                self.objects.remove_peer(*peer);
                self.objects.adopt(|owner| owner == *peer);
                self.objects.report_orphans(|owner| owner == *peer);
                Ok(())
            }
            Content::Host(host, term) => {
                self.objects.set_host(*host, *term);
                Ok(())
            }
        };
        // Events for the game are no part of the peer's knowledge. If they stayed, equal states would seem to differ.
        while self.objects.poll_event().is_some() {}
        heard.map_err(|code| format!("{} is taken for {code:?}", letter.name))
    }

    fn picture(&self) -> Option<(PeerId, Option<Stamp>, Vec<u8>)> {
        let object = self.objects.get(self.id)?;
        Some((object.owner(), Some(object.stamp()), object.field(0).to_vec()))
    }
}
