//! Writes a full trace: the events of peers, the messages to and from the relay, and the contents of packets.

use samovar_peer::PeerEvent;
use samovar_session::Event;
use samovar_wire::control::PeerControl;
use samovar_wire::link_frame::{Frame, PacketHeader};
use samovar_wire::object::MessageKind;
use samovar_wire::relay::{FromRelay, RelayFrame, ToRelay};
use samovar_wire::{Mode, Reader};

use super::World;
use crate::game::{Game, ProcessId};
use crate::network::Place;

/// Texts are cut off after this many characters.
const TEXT_MAX: usize = 150;

impl<G: Game> World<G> {
    /// Replaces peers' ids by their players' names, and leaves out ids and signatures that only machines read.
    fn readable(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (id, process) in self.cast.processes.iter().enumerate() {
            let Some(peer) = process.known_as else { continue };
            let name = format!("P{}.{id}", process.player);
            text = text.replace(&format!("PeerId({})", peer.0), &name).replace(&peer.to_string(), &name);
        }
        while let Some(start) = text.find("session: SessionId(") {
            let end = text[start..].find(", ").map_or(text.len(), |end| start + end + 2);
            text.replace_range(start..end, "");
        }
        for (long, brief) in [
            (", signature: Signature", " Signature"),
            ("ObjectId { creator: ", "{"),
            (", number: ", ":"),
            ("Session(", "("),
            ("Warrant(Warrant {", "Warrant({"),
        ] {
            text = text.replace(long, brief);
        }
        while let Some(start) = text.find(" Signature(") {
            let end = text[start..].find(')').map_or(text.len(), |end| start + end + 1);
            text.replace_range(start..end, "");
        }
        short(&text)
    }

    /// Records an event of a peer.
    pub(super) fn tell_event(&mut self, id: ProcessId, event: &PeerEvent) {
        if !self.trace.is_full() {
            return;
        }
        let place = self.cast.place(id);
        match event {
            PeerEvent::Session(
                Event::Message { .. }
                | Event::ObjectCreated(_)
                | Event::ObjectDestroyed { .. }
                | Event::Ownership { .. },
            ) => {
                let what = self.readable(&format!("{event:?}"));
                self.trace.packet(self.now, place, place, || what);
            }
            _ => {
                let what = self.readable(&format!("{event:?}"));
                self.trace.note(self.now, place, || what);
            }
        }
    }

    /// Records a message that goes out on a socket.
    pub(super) fn tell_relayed(&mut self, from: Place, to: Place, bytes: &[u8]) {
        if !self.trace.is_full() {
            return;
        }
        match RelayFrame::decode(bytes) {
            Ok(RelayFrame::Control(body)) => {
                let what = if to == Place::Relay {
                    ToRelay::decode(body).map(|message| format!("{message:?}"))
                } else {
                    FromRelay::decode(body).map(|message| format!("{message:?}"))
                };
                let what = self.readable(&what.unwrap_or_else(|error| format!("{error:?}")));
                let is_noise = ["Pulse", "Signal", "Listing"].iter().any(|noise| what.starts_with(noise));
                if is_noise {
                    self.trace.packet(self.now, from, to, || what);
                } else {
                    self.trace.message(self.now, from, to, || what);
                }
            }
            Ok(RelayFrame::Forward { mode, payload, peer }) if to == Place::Relay => {
                let receiver = self.cast.processes.iter().position(|process| process.known_as == Some(peer));
                let to = receiver.map_or(to, |process| self.cast.place(process));
                self.tell_content(from, to, mode, payload);
            }
            _ => {}
        }
    }

    /// Records a packet that goes out on data channels.
    pub(super) fn tell_packet(&mut self, from: Place, to: Place, bytes: &[u8], arrives: bool) {
        if !self.trace.is_full() {
            return;
        }
        if arrives {
            self.tell_content(from, to, Mode::Unreliable, bytes);
        } else {
            self.trace.packet(self.now, from, to, || format!("{} bytes, lost", bytes.len()));
        }
    }

    fn tell_content(&mut self, from: Place, to: Place, mode: Mode, bytes: &[u8]) {
        let (what, is_control) = content(bytes);
        let what =
            || format!("{} bytes {}{what}", bytes.len(), if mode == Mode::Reliable { "bulk" } else { "" });
        if is_control {
            self.trace.message(self.now, from, to, what);
        } else {
            self.trace.packet(self.now, from, to, what);
        }
    }
}

/// Describes the content of a packet. Also returns whether it holds a control message or a CLOSE.
fn content(bytes: &[u8]) -> (String, bool) {
    let (mut text, mut is_control) = (String::new(), false);
    let Ok((header, mut frames)) = PacketHeader::decode(bytes) else { return ("?".to_owned(), false) };
    text.push_str(&format!("#{}", header.number));
    while let Ok(Some(frame)) = frames.next_frame() {
        match frame {
            Frame::Segment { lane: 0, bytes, last: true, .. } => {
                let mut reader = Reader::new(bytes);
                match MessageKind::decode(&mut reader) {
                    Ok(MessageKind::Control) => {
                        let control = PeerControl::decode(&bytes[1..]);
                        is_control = true;
                        match control {
                            Ok(control) => text.push_str(&format!(" {control:?}")),
                            Err(error) => text.push_str(&format!(" {error:?}")),
                        }
                    }
                    Ok(kind) => text.push_str(&format!(" {kind:?}")),
                    Err(_) => text.push_str(" segment"),
                }
            }
            Frame::Close(code) => {
                is_control = true;
                text.push_str(&format!(" close {code:?}"));
            }
            Frame::Segment { lane, .. } => text.push_str(&format!(" lane {lane}")),
            Frame::Ping => text.push_str(" ping"),
            Frame::Pong { .. } => text.push_str(" pong"),
            Frame::BulkAck(_) => text.push_str(" bulk-ack"),
            Frame::Piggyback(_) => text.push_str(" piggyback"),
            Frame::Datagram(_) | Frame::LastDatagram(_) | Frame::Sequenced { .. } => text.push_str(" frame"),
        }
    }
    (text, is_control)
}

fn short(text: &str) -> String {
    let end = text.char_indices().nth(TEXT_MAX).map_or(text.len(), |(at, _)| at);
    text[..end].to_owned()
}
