//! Samovar's reliable lane over the unreliable datagrams themselves.

use std::collections::VecDeque;

use samovar_link::{Link, LinkConfig, LinkEvent, Source};
use samovar_wire::{Duration, Generation, Lane, Mode, Time};

use super::{Carrier, End};

pub(super) const CARRIER: Carrier =
    Carrier { name: "samovar", start: |_| (Box::new(Reliable::new()), Box::new(Reliable::new())) };

struct Reliable {
    link: Link,
    messages: VecDeque<Vec<u8>>,
}

fn time(now: u64) -> Time {
    Time::ZERO + Duration::from_millis(now)
}

impl Reliable {
    fn new() -> Self {
        Self {
            link: Link::new(Time::ZERO, LinkConfig::default(), Generation::FIRST),
            messages: VecDeque::new(),
        }
    }
}

impl End for Reliable {
    fn is_ready(&self) -> bool {
        true
    }

    fn send(&mut self, message: &[u8]) {
        self.link.send(Lane::GAME, message).expect("the queue has room");
    }

    fn receive(&mut self, now: u64, datagram: &[u8]) {
        self.link.handle(time(now), Mode::Unreliable, datagram).expect("the other end keeps the protocol");
    }

    fn step(&mut self, now: u64, out: &mut Vec<Vec<u8>>) {
        let now = time(now);
        self.link.handle_timeout(now);
        loop {
            let (mut packet, source) = (Vec::new(), Source { wanted: false, compose: &mut |_, _, _| {} });
            if self.link.poll_transmit(now, now, source, &mut packet).is_none() {
                break;
            }
            out.push(packet);
        }
        while let Some(event) = self.link.poll_event() {
            if let LinkEvent::Message(_, message) = event {
                self.messages.push_back(message);
            }
        }
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        self.messages.pop_front()
    }
}
