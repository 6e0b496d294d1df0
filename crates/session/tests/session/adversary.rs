//! A hostile member and a hostile host, which send well-formed messages with absurd contents.

use std::collections::BTreeMap;

use crate::world::{CUBE, TEAPOT, World};
use samovar_roster::View;
use samovar_roster::authority::Signatory;
use samovar_session::{Schemas, Session, SessionConfig};
use samovar_wire::call::{Call as CallBody, Reply as ReplyBody};
use samovar_wire::claim::{Answer, Denial, Request, Wish};
use samovar_wire::control::{Hello, PeerControl, Presence, Standing, encode};
use samovar_wire::input::{Held, Input, Told};
use samovar_wire::limits::RESUME_MAX;
use samovar_wire::link_frame::{Ack, AckHistory, BulkChunk, Frame, PacketHeader};
use samovar_wire::object::Access;
use samovar_wire::object::{
    Announcement, FrameHead, MessageKind, Orphan, Traits, encode_announcement, encode_update_head,
};
use samovar_wire::range_coder::RangeEncoder;
use samovar_wire::sight::{Focus, Sight};
use samovar_wire::symbol::{Model, encode_wide};
use samovar_wire::view::Electorate;
use samovar_wire::{
    CloseCode, Duration, Entropy, Generations, Kind, Mode, ObjectId, PROTOCOL_VERSION, PeerId, SeatId,
    SessionId, Stamp, Term, TicketHash, Time, Writer,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// How many packets and segments the liar has sent to one peer, so that the next ones have the expected numbers.
#[derive(Default)]
struct Said {
    packets: u16,
    segments: u64,
}

/// Writes packets by hand, so that any number can be absurd.
struct Liar {
    me: PeerId,
    dice: Entropy,
    said: BTreeMap<PeerId, Said>,
}

impl Liar {
    fn new(me: PeerId, seed: u8) -> Self {
        Self { me, dice: Entropy::new([seed; 32]), said: BTreeMap::new() }
    }

    fn roll(&mut self, sides: u64) -> u64 {
        self.dice.number() % sides
    }

    /// A number as it should be, a small one, or one at an end of its range.
    fn number(&mut self, usual: u64) -> u64 {
        match self.roll(8) {
            0 => u64::MAX,
            1 => u64::MAX - self.roll(3),
            2 => i64::MAX as u64 - self.roll(2),
            3 => u64::from(u32::MAX) + self.roll(2),
            4 => self.roll(4),
            _ => usual,
        }
    }

    fn small(&mut self, usual: u32) -> u32 {
        u32::try_from(self.number(u64::from(usual))).unwrap_or(u32::MAX)
    }

    fn packet(&mut self, to: PeerId, frames: &[Frame<'_>]) -> Vec<u8> {
        let lies = self.roll(40) == 0;
        let ack = lies.then(|| {
            let words = core::array::from_fn(|_| self.dice.number());
            Ack { newest: self.roll(9) as u16, history: AckHistory::from_words(words) }
        });
        let said = self.said.entry(to).or_default();
        let header = PacketHeader { generations: Generations::FIRST, number: said.packets, ack };
        said.packets = said.packets.wrapping_add(1);
        let mut bytes = Vec::new();
        let mut out = Writer::new(&mut bytes);
        header.encode(&mut out);
        frames.iter().for_each(|frame| frame.encode(&mut out));
        bytes
    }

    fn message(&mut self, to: PeerId, message: &[u8]) -> Vec<u8> {
        let said = self.said.entry(to).or_default();
        let number = said.segments;
        said.segments += 1;
        self.packet(to, &[Frame::Segment { lane: 0, number: number as u16, last: true, bytes: message }])
    }

    fn control(&mut self, to: PeerId, message: &PeerControl) -> Vec<u8> {
        let mut bytes = vec![MessageKind::Control as u8];
        encode(message, &mut bytes);
        self.message(to, &bytes)
    }

    fn hello(&mut self, to: PeerId) -> Vec<u8> {
        let hello = Hello {
            version: PROTOCOL_VERSION,
            params: 1,
            name: "M".into(),
            attributes: 0,
            ticket: TicketHash([9; 16]),
            resume: [None; RESUME_MAX],
            voucher: None,
        };
        self.control(to, &PeerControl::Hello(hello))
    }

    fn stamp(&mut self, term: u64) -> Stamp {
        // A term that is later than the known one ends the link at once, so it is rare.
        let term = if self.roll(20) == 0 { self.number(term) } else { term - self.roll(2) };
        Stamp { term: Term(term), counter: self.small(0) }
    }

    /// An object's id: of an object of the liar, of no object, or of one of the given objects.
    fn id(&mut self, honest: &[ObjectId]) -> ObjectId {
        match self.roll(4) {
            0 if !honest.is_empty() => honest[self.roll(honest.len() as u64) as usize],
            1 => ObjectId { creator: PeerId(self.small(1)), number: self.small(1) },
            _ => ObjectId { creator: self.me, number: self.small(5) },
        }
    }

    fn object_message(&mut self, id: ObjectId, term: u64) -> Vec<u8> {
        let kind = match self.roll(7) {
            0 => MessageKind::Migrate,
            1 => MessageKind::Grant,
            2 => MessageKind::Orphan,
            3 => MessageKind::Destroy,
            4 => MessageKind::Update,
            5 => MessageKind::Snapshot,
            _ => MessageKind::Create,
        };
        let mut bytes = vec![kind as u8];
        let stamp = self.stamp(term);
        match kind {
            MessageKind::Destroy => {
                let mut out = Writer::new(&mut bytes);
                out.object_id(id);
                out.stamp(stamp);
            }
            MessageKind::Update => self.updates(&mut bytes, id, stamp),
            MessageKind::Snapshot => {
                bytes.push(MessageKind::Create as u8);
                self.announcement(&mut bytes, id, stamp);
            }
            _ => self.announcement(&mut bytes, id, stamp),
        }
        bytes
    }

    fn announcement(&mut self, bytes: &mut Vec<u8>, id: ObjectId, stamp: Stamp) {
        let session = id == ObjectId::SESSION;
        let (flags, fields) = (self.roll(64) as u8 & 0b10_1111, self.roll(65) as usize);
        let kind = if session { Kind::SESSION } else { Kind(1 + self.roll(250) as u8) };
        let traits = Traits::from_flags(kind, flags).unwrap();
        let head = Announcement::head(id, self.me, stamp, traits, Time::from_micros(self.number(9)));
        let state = [7; 12];
        encode_announcement(&head, (0..fields).map(|_| &state[..]), &mut Writer::new(bytes));
    }

    fn updates(&mut self, bytes: &mut Vec<u8>, id: ObjectId, stamp: Stamp) {
        let (base, age) = (self.number(9), Duration::from_micros(self.number(9)));
        let (index, length) = (self.roll(3) as u8, self.roll(256) as usize);
        let mut out = Writer::new(bytes);
        out.varint(base);
        encode_update_head(id, stamp, age, 1, &mut out);
        out.u8(index);
        out.prefixed(&vec![9; length]);
    }

    /// A message about ownership, calls, interest or inputs that no peer asked for, with honest numbers or absurd ones.
    fn talk(&mut self, to: PeerId, ids: &[ObjectId]) -> Vec<u8> {
        let (id, known, usual) = (self.id(ids), self.stamp(256), self.roll(40));
        let (time, number) = (Time::from_micros(self.number(9)), self.number(usual));
        let wish = [Wish::Request, Wish::Release, Wish::Transfer(PeerId(self.small(100))), Wish::Touch]
            [self.roll(4) as usize];
        let kind = [
            MessageKind::Request,
            MessageKind::Answer,
            MessageKind::Call,
            MessageKind::Reply,
            MessageKind::Cancel,
            MessageKind::Focus,
            MessageKind::Sight,
            MessageKind::Input,
            MessageKind::Held,
            MessageKind::Told,
        ][self.roll(10) as usize];
        let mut bytes = vec![kind as u8];
        let mut out = Writer::new(&mut bytes);
        match kind {
            MessageKind::Request => Request { id, known, time, wish }.encode(&mut out),
            MessageKind::Answer => {
                Answer { id, wish: wish.number(), denial: Denial::LostTo(self.me) }.encode(&mut out);
            }
            MessageKind::Call => CallBody { number, method: 7, bytes: &[1; 30] }.encode(&mut out),
            MessageKind::Reply => ReplyBody::Done(b"no").encode(number, &mut out),
            MessageKind::Cancel => out.varint(number),
            MessageKind::Input => {
                for _ in 0..=self.roll(3) {
                    let (seat, left) = (SeatId(self.roll(5) as u16), self.roll(10_001) as u16);
                    let number = self.number(usual).max(1);
                    Input { seat, left, number, bytes: &[2; 30] }.encode(&mut out);
                }
            }
            MessageKind::Held => Held { term: known.term, view: number, number: usual }.encode(&mut out),
            MessageKind::Told => Told { term: known.term }.encode(&mut out),
            MessageKind::Focus => {
                let center = core::array::from_fn(|_| self.number(9) as f32);
                Focus::encode(Some(&Focus { center, radius: self.number(9) as f32 }), &mut out);
            }
            _ => {
                out.u8(1);
                Sight { id, stamp: known, current: usual % 2 == 0 }.encode(&mut out);
            }
        }
        if matches!(kind, MessageKind::Call | MessageKind::Reply | MessageKind::Cancel) && self.roll(2) == 0 {
            return self.packet(to, &[Frame::Datagram(&bytes)]);
        }
        self.message(to, &bytes)
    }

    /// A frame with the state of one object that has a single text field, as the liar claims.
    fn state_frame(&mut self, id: ObjectId, stamp: Stamp) -> Vec<u8> {
        let (frame, base, length) = (self.number(9), self.number(9), self.roll(256) as u32);
        let mut bytes = vec![MessageKind::Frame as u8];
        let baselines = [self.roll(256) as u8, self.roll(256) as u8, self.roll(3) as u8];
        FrameHead { frame, base, count: 1, baselines }.encode(&mut Writer::new(&mut bytes));
        let start = bytes.len();
        let age = self.number(5) as i32 & i32::MAX;
        let mut out = RangeEncoder::new(&mut bytes);
        // Another kind and another origin, on the frame's baselines (PROTOCOL §4.6).
        { Model::FALLING }.encode(0b0011, &mut out);
        out.bits(1, 1);
        out.bits(id.creator.0, 32);
        [(stamp.term.0 >> 32) as u32, stamp.term.0 as u32, stamp.counter]
            .into_iter()
            .for_each(|part| encode_wide(part, &mut out));
        Model::of_scale(0).encode_number(id.number.wrapping_sub(1).cast_signed(), &mut out);
        out.bits(u32::from(TEAPOT.kind.0), 8);
        out.bits(1, 7);
        Model::of_scale(0).encode_number(age, &mut out);
        { Model::FALLING }.encode(1, &mut out);
        out.bits(length, 8);
        (0..length).for_each(|_| out.bits(9, 8));
        out.finish(start);
        bytes
    }

    /// A message of the link itself.
    fn frame(&mut self, to: PeerId) -> (Mode, Vec<u8>) {
        let bytes = match self.roll(6) {
            0 => self.packet(to, &[Frame::Ping]),
            1 => {
                let (ping, held, session) = (self.number(9) as u16, self.number(9), self.number(9));
                self.packet(to, &[Frame::Pong { ping, held, session }])
            }
            2 if self.roll(8) == 0 => {
                let offset = self.number(0);
                self.packet(to, &[Frame::BulkAck(offset)])
            }
            3 if self.roll(8) == 0 => {
                let (lane, number) = (self.roll(4) as u8, self.number(300) as u16);
                self.packet(to, &[Frame::Segment { lane, number, last: false, bytes: b"x" }])
            }
            4 if self.roll(8) == 0 => {
                let mut bytes = Vec::new();
                let content = self.dice.bytes();
                BulkChunk { generations: Generations::FIRST, offset: self.number(0), bytes: &content }
                    .encode(&mut bytes);
                return (Mode::Reliable, bytes);
            }
            _ => self.packet(to, &[]),
        };
        (Mode::Unreliable, bytes)
    }
}

fn assault(world: &mut World, liar: &mut Liar, target: PeerId, pots: &[ObjectId]) {
    let now = world.now;
    let known = [pots, &[ObjectId::SESSION]].concat();
    let (mode, bytes) = match liar.roll(16) {
        0 => {
            let presence =
                if now.as_micros().is_multiple_of(2) { Presence::Visible } else { Presence::Still };
            (Mode::Unreliable, liar.control(target, &PeerControl::Standing(Standing { presence, reach: 1 })))
        }
        1 => (Mode::Unreliable, liar.control(target, &PeerControl::Warrant(world.witness.warrant))),
        2 if liar.roll(20) == 0 => (Mode::Unreliable, liar.hello(target)),
        3 if liar.roll(20) == 0 => (Mode::Unreliable, samovar_link::close_packet(CloseCode::Left)),
        4 if liar.roll(20) == 0 => {
            let welcome = TicketHash([0; 16]);
            (Mode::Unreliable, liar.control(target, &PeerControl::Welcome(welcome)))
        }
        5 | 6 => liar.frame(target),
        12..16 => {
            let ids: Vec<_> = world.peers[&target].objects().map(samovar_session::Object::id).collect();
            (Mode::Unreliable, liar.talk(target, &ids))
        }
        7 => {
            let id = liar.id(pots);
            let stamp = liar.stamp(256);
            let content = liar.state_frame(id, stamp);
            (Mode::Unreliable, liar.packet(target, &[Frame::Datagram(&content)]))
        }
        _ => {
            let id = liar.id(&known);
            let message = liar.object_message(id, 256);
            let message = if message.len() > 1_000 { vec![MessageKind::App as u8] } else { message };
            (Mode::Unreliable, liar.message(target, &message))
        }
    };
    world.peer(target).handle_packet(now, liar.me, mode, &bytes);
}

#[test]
fn honest_members_agree_despite_a_lying_member() {
    for seed in 0..12 {
        let mut world = World::new(seed, 0);
        let host = world.witness.warrant.host;
        let honest = [host, world.join(None), world.join(None)];
        world.run(700);
        let pots: Vec<_> = honest.iter().map(|&peer| world.create(peer, TEAPOT, &[b"pot", b"0"])).collect();
        let shared = Traits { access: Access::Shared, ..TEAPOT };
        (0..5).for_each(|_| {
            world.create(host, shared, &[b"cup"]);
        });
        world.run(300);
        let mut liar = Liar::new(PeerId(0), seed);
        for turn in 0..900u32 {
            let is_member = world.peers[&host].view().has(liar.me);
            if turn % 60 == 0 && !is_member {
                // The liar is shut out, and comes back under another id.
                liar = Liar { me: PeerId(1_000 + turn), said: BTreeMap::new(), ..liar };
                let (now, hello) = (world.now, liar.hello(host));
                world.peer(host).handle_packet(now, liar.me, Mode::Unreliable, &hello);
            }
            let target = honest[liar.roll(3) as usize];
            assault(&mut world, &mut liar, target, &pots);
            world.run(1 + liar.roll(4));
            for peer in honest {
                assert!(world.peers[&peer].is_member(), "seed {seed}: {:?}", world.events[&peer].last());
                assert!(world.peers[&peer].objects().count() < 3_000);
            }
        }
        // The liar falls silent; all others go on.
        world.run(6_000);
        let now = world.now;
        for (&peer, &pot) in honest.iter().zip(&pots) {
            world.peer(peer).edit(now).set(pot, 1, b"1").unwrap();
            world.create(peer, CUBE, &[b"new"]);
        }
        // The liar's calls were never answered, and do not outlive it.
        assert!(honest.iter().all(|&peer| world.calls(peer).poll().is_none()));
        world.run(1_000);
        world.assert_converged();
        assert_eq!(world.peers[&host].term(), Term::FIRST);
        world.kill(host);
        world.run(2_500);
        world.assert_converged();
    }
}

/// A session that joins a host that lies.
fn victim(relay: &Signatory, liar: PeerId, seed: u8) -> Session {
    let config = SessionConfig {
        rules: samovar_session::Rules::default(),
        schemas: Schemas::new(),
        me: PeerId(50),
        voucher: None,
        key: relay.key(),
        warrant: relay.warrant(SessionId(7), Term::FIRST, liar),
        params: 1,
        name: "V".into(),
        attributes: 0,
        tickets: Vec::new(),
        capacity: 8,
        entropy: [seed; 32],
    };
    Session::new(Time::from_micros(5), config).unwrap()
}

/// Takes all packets that a session has to send. Returns the numbers of those with a ping.
fn drain(session: &mut Session, now: Time) -> Vec<u16> {
    let mut pings = Vec::new();
    for round in 0.. {
        assert!(round < 1_000, "there is always something to send");
        let Some(out) = session.poll_transmit(now) else { break };
        if let (Mode::Unreliable, Ok((header, mut frames))) = (out.mode, PacketHeader::decode(&out.bytes)) {
            while let Ok(Some(frame)) = frames.next_frame() {
                if frame == Frame::Ping {
                    pings.push(header.number);
                }
            }
        }
    }
    assert!(session.poll_timeout().is_none_or(|due| due > now), "a drained session has nothing due");
    pings
}

/// The session object of a liar: well-formed, with absurd numbers and members.
fn absurd_view(liar: &mut Liar, stamp: Stamp) -> Vec<u8> {
    let mut view = View::founding(2 + liar.roll(40) as u8);
    let mut dice = Entropy::new(liar.dice.bytes());
    for peer in [liar.me, PeerId(50), PeerId(60), PeerId(61)] {
        let (name, ticket) = ("x".repeat(20), TicketHash(dice.half()));
        let hello = Hello {
            version: 1,
            params: 1,
            name,
            attributes: 0,
            ticket,
            resume: [None; RESUME_MAX],
            voucher: None,
        };
        let _ = view.admit(Time::from_micros(liar.number(0)), peer, &hello);
    }
    view.vacate(Time::from_micros(liar.number(0)), PeerId(60));
    let mut fields = view.to_fields();
    let header = samovar_wire::view::ViewHeader {
        number: liar.number(3),
        roll: liar.number(3),
        backups: [vec![], vec![PeerId(50)], vec![PeerId(77), PeerId(50)]][liar.roll(3) as usize].clone(),
        capacity: liar.roll(33) as u8,
        next_seat: liar.number(9) as u16,
        electorate: Electorate { number: liar.number(4), peers: vec![PeerId(50), PeerId(liar.small(60))] },
        by_host: liar.roll(4) == 0,
        migrates: liar.roll(2) == 0,
        forks: liar.roll(2) == 0,
    };
    fields[0] = header.encode();
    let orphan = if liar.roll(8) == 0 { Orphan::Destroy } else { Orphan::ToHost };
    let traits = Traits { reliable: liar.roll(8) > 0, orphan, ..Traits::of(Kind::SESSION) };
    let sampled = Time::from_micros(liar.number(0));
    let head = Announcement::head(ObjectId::SESSION, liar.me, stamp, traits, sampled);
    let mut bytes = vec![MessageKind::Migrate as u8];
    encode_announcement(&head, fields.iter().map(|field| &field[..]), &mut Writer::new(&mut bytes));
    bytes
}

#[test]
fn member_of_a_lying_host_can_succeed_it() {
    let mut successions = 0;
    for seed in 0..120 {
        let relay = Signatory::new(&[seed; 32]);
        let mut liar = Liar::new(PeerId(1), seed);
        let mut session = victim(&relay, liar.me, seed);
        let (mut now, mut last, mut pings) = (Time::from_micros(5), Time::ZERO, Vec::new());
        let welcome = TicketHash([1; 16]);
        let mut script = vec![liar.control(PeerId(50), &PeerControl::Welcome(welcome))];
        let stamp = Stamp { term: Term::FIRST, counter: liar.small(0) };
        let view = absurd_view(&mut liar, stamp);
        script.push(liar.message(PeerId(50), &view));
        for _ in 0..liar.roll(5) {
            let id = liar.id(&[ObjectId { creator: PeerId(60), number: 1 }]);
            let message = liar.object_message(id, 256);
            if message.len() <= 1_000 {
                script.push(liar.message(PeerId(50), &message));
            }
        }
        for bytes in script {
            now += Duration::from_millis(liar.roll(60));
            session.handle_packet(now, liar.me, Mode::Unreliable, &bytes);
            for ping in core::mem::take(&mut pings) {
                let (held, time) = (liar.number(0) % 9, liar.number(1_000_000));
                let pong = liar.packet(PeerId(50), &[Frame::Pong { ping, held, session: time }]);
                session.handle_packet(now, liar.me, Mode::Unreliable, &pong);
            }
            session.handle_timeout(now);
            pings = drain(&mut session, now);
            assert!(session.session_time(now) >= last, "time runs backwards");
            last = if session.is_member() { session.session_time(now) } else { last };
        }
        session.witness(now).handle_warrant(&relay.warrant(SessionId(7), Term(512), PeerId(50)));
        successions += u32::from(session.is_host());
        for _ in 0..200 {
            now += Duration::from_millis(50);
            session.handle_timeout(now);
            drain(&mut session, now);
            if session.is_member() {
                assert!(session.session_time(now) >= last, "time runs backwards");
                last = session.session_time(now);
            }
        }
    }
    assert!(successions > 20, "only {successions} victims lived to be host");
}
