//! A whole session that hosts or joins, and a member, host or stranger that sends whatever the script says.

use samovar_roster::authority::Signatory;
use samovar_session::{Session, SessionConfig};
use samovar_wire::control::{Hello, PeerControl, Presence, Standing, encode};
use samovar_wire::limits::RESUME_MAX;
use samovar_wire::link_frame::{Ack, AckHistory, BulkChunk, Frame, PacketHeader};
use samovar_wire::object::{MessageKind, Traits};
use samovar_wire::{
    Duration, Generations, Kind, Mode, PROTOCOL_VERSION, PeerId, SessionId, Term, TicketHash, Time, Writer,
};

use crate::script::Script;

const ME: PeerId = PeerId(1);
const LIAR: PeerId = PeerId(2);
const POT: Traits = Traits::of(Kind(1));

struct Siege {
    now: Time,
    session: Session,
    packets: u16,
    segments: u64,
    /// The bulk stream's end.
    offset: u64,
}

pub(super) fn run(bytes: &[u8]) {
    let mut script = Script::new(bytes);
    let relay = Signatory::new(&[7; 32]);
    // In one of four scripts the liar hosts, and the session joins.
    let host = if script.roll(4) == 0 { LIAR } else { ME };
    let config = SessionConfig {
        schemas: super::typed::schemas(),
        me: ME,
        voucher: None,
        key: relay.key(),
        warrant: relay.warrant(SessionId(7), Term::FIRST, host),
        params: 1,
        name: "V".into(),
        attributes: 0,
        tickets: Vec::new(),
        capacity: 8,
        rules: samovar_session::Rules::default(),
        entropy: [7; 32],
    };
    let now = Time::from_micros(1_000_000);
    let Ok(session) = Session::new(now, config) else { return };
    let mut siege = Siege { now, session, packets: 0, segments: 0, offset: 0 };
    if host == ME {
        let _ = siege.session.edit(now).create(POT, &[b"pot", b"0"]);
        let hello = Hello {
            version: PROTOCOL_VERSION,
            params: 1,
            name: "M".into(),
            attributes: 0,
            ticket: TicketHash([9; 16]),
            resume: [None; RESUME_MAX],
            voucher: None,
        };
        siege.control(&PeerControl::Hello(hello));
        siege.advance(50);
    }
    let mut last = Time::ZERO;
    while !script.is_over() {
        siege.step(&mut script);
        if siege.session.is_member() {
            let time = siege.session.session_time(siege.now);
            assert!(time >= last, "session time runs backwards");
            last = time;
        }
        assert!(siege.session.objects().count() <= 3_000);
        let _ = siege.session.witness(siege.now).poll_claim();
        while siege.session.poll_event().is_some() {}
    }
    // The session goes on without the liar, and its game can still create objects.
    siege.session.witness(siege.now).handle_warrant(&relay.warrant(SessionId(7), Term(2), ME));
    siege.advance(10_000);
    if siege.session.is_host() {
        let now = siege.now;
        assert!(siege.session.edit(now).create(POT, &[b"new"]).is_ok());
    }
}

impl Siege {
    fn step(&mut self, script: &mut Script<'_>) {
        match script.roll(10) {
            0 => self.advance(script.roll(300) as u64),
            1 => self.advance(script.number(50) % 20_000),
            2 => {
                let body = script.bytes(200);
                self.message(&[&[MessageKind::Control as u8], body].concat());
            }
            3 => {
                let presence = if script.roll(2) == 0 { Presence::Hidden } else { Presence::Still };
                self.control(&PeerControl::Standing(Standing { presence, reach: 1 }));
            }
            4 => {
                let message = script.bytes(900);
                self.message(message);
            }
            5 => {
                let frames = script.bytes(1_100).to_vec();
                let mut packet = self.header(script);
                packet.extend(frames);
                self.hand(LIAR, Mode::Unreliable, &packet);
            }
            6 => {
                let content = script.bytes(1_000);
                let kind = if script.roll(4) == 0 { MessageKind::App } else { MessageKind::Frame };
                let content = [&[kind as u8], content].concat();
                let mut packet = self.header(script);
                Frame::Datagram(&content).encode(&mut Writer::new(&mut packet));
                self.hand(LIAR, Mode::Unreliable, &packet);
            }
            7 => {
                let bytes = script.bytes(1_000);
                let mut chunk = Vec::new();
                let offset = script.number(self.offset);
                BulkChunk { generations: Generations::FIRST, offset, bytes }.encode(&mut chunk);
                self.offset += bytes.len() as u64;
                self.hand(LIAR, Mode::Reliable, &chunk);
            }
            8 => {
                let from = PeerId(script.small(LIAR.0));
                let mode = if script.roll(2) == 0 { Mode::Unreliable } else { Mode::Reliable };
                self.hand(from, mode, script.bytes(1_300));
            }
            _ => {
                let mut packet = self.header(script);
                let (lane, number) = (script.roll(5) as u8, script.number(self.segments) as u16);
                let frame =
                    Frame::Segment { lane, number, last: script.roll(2) == 0, bytes: script.bytes(900) };
                frame.encode(&mut Writer::new(&mut packet));
                self.hand(LIAR, Mode::Unreliable, &packet);
            }
        }
    }

    /// The header of a packet that the session accepts; now and then with an ack that the script makes up.
    fn header(&mut self, script: &mut Script<'_>) -> Vec<u8> {
        let ack = (script.roll(8) == 0).then(|| {
            let words = core::array::from_fn(|_| script.number(1));
            Ack { newest: script.byte().into(), history: AckHistory::from_words(words) }
        });
        self.packet(ack)
    }

    fn packet(&mut self, ack: Option<Ack>) -> Vec<u8> {
        let mut bytes = Vec::new();
        let header = PacketHeader { generations: Generations::FIRST, number: self.packets, ack };
        header.encode(&mut Writer::new(&mut bytes));
        self.packets = self.packets.wrapping_add(1);
        bytes
    }

    fn message(&mut self, message: &[u8]) {
        let mut packet = self.packet(None);
        let frame = Frame::Segment { lane: 0, number: self.segments as u16, last: true, bytes: message };
        frame.encode(&mut Writer::new(&mut packet));
        self.segments += 1;
        self.hand(LIAR, Mode::Unreliable, &packet);
    }

    fn control(&mut self, message: &PeerControl) {
        let mut bytes = vec![MessageKind::Control as u8];
        encode(message, &mut bytes);
        self.message(&bytes);
    }

    fn hand(&mut self, from: PeerId, mode: Mode, bytes: &[u8]) {
        self.session.handle_packet(self.now, from, mode, bytes);
        self.drain();
    }

    fn advance(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
        self.session.handle_timeout(self.now);
        self.drain();
        let due = self.session.poll_timeout();
        assert!(
            due.is_none_or(|due| due > self.now),
            "{due:?} is due in a drained session at {:?}",
            self.now
        );
    }

    fn drain(&mut self) {
        for packets in 0.. {
            assert!(packets < 1_000, "there is always something to send");
            if self.session.poll_transmit(self.now).is_none() {
                break;
            }
        }
    }
}
