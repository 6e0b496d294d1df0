//! sctp-proto, the SCTP of str0m, with its defaults: one ordered stream.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use sctp_proto::{
    Association, AssociationHandle, ClientConfig, DatagramEvent, Endpoint, EndpointConfig, Event, Payload,
    PayloadProtocolIdentifier, ServerConfig, Transmit,
};

use super::{Carrier, End, MESSAGE_LEN};

pub(super) const CARRIER: Carrier = Carrier {
    name: "sctp-proto 0.10.8 ordered",
    start: |_| {
        let config = Arc::new(EndpointConfig::default());
        let mut sender = Sctp::new(Endpoint::new(config.clone(), None));
        let association = sender.endpoint.connect(ClientConfig::default(), address());
        sender.association = Some(association.expect("an endpoint has room for one"));
        let server = Arc::new(ServerConfig::default());
        (Box::new(sender), Box::new(Sctp::new(Endpoint::new(config, Some(server)))))
    },
};

const STREAM: u16 = 0;

fn address() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 9).into()
}

struct Sctp {
    endpoint: Endpoint,
    association: Option<(AssociationHandle, Association)>,
    start: Instant,
    is_connected: bool,
    is_open: bool,
}

impl Sctp {
    fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, association: None, start: Instant::now(), is_connected: false, is_open: false }
    }

    fn time(&self, now: u64) -> Instant {
        self.start + Duration::from_millis(now)
    }
}

fn push(transmit: Transmit, out: &mut Vec<Vec<u8>>) {
    if let Payload::RawEncode(datagrams) = transmit.payload {
        out.extend(datagrams.into_iter().map(Into::into));
    }
}

impl End for Sctp {
    fn is_ready(&self) -> bool {
        self.is_connected
    }

    fn send(&mut self, message: &[u8]) {
        let (_, association) = self.association.as_mut().expect("sent when ready");
        if !self.is_open {
            association.open_stream(STREAM, PayloadProtocolIdentifier::Binary).expect("the stream is new");
            self.is_open = true;
        }
        let mut stream = association.stream(STREAM).expect("the stream is open");
        let written = stream.write_chunk(&Bytes::copy_from_slice(message));
        assert_eq!(written.expect("the stream takes a message"), MESSAGE_LEN);
    }

    fn receive(&mut self, now: u64, datagram: &[u8]) {
        let (time, data) = (self.time(now), Bytes::copy_from_slice(datagram));
        match self.endpoint.handle(time, address(), None, None, data) {
            Some((handle, DatagramEvent::NewAssociation(association))) => {
                self.association = Some((handle, association));
            }
            Some((_, DatagramEvent::AssociationEvent(event))) => {
                if let Some((_, association)) = &mut self.association {
                    association.handle_event(event);
                }
            }
            None => {}
        }
    }

    fn step(&mut self, now: u64, out: &mut Vec<Vec<u8>>) {
        let time = self.time(now);
        while let Some(transmit) = self.endpoint.poll_transmit() {
            push(transmit, out);
        }
        let Some((handle, association)) = &mut self.association else { return };
        if association.poll_timeout().is_some_and(|due| due <= time) {
            association.handle_timeout(time);
        }
        while let Some(event) = association.poll_endpoint_event() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                association.handle_event(event);
            }
        }
        while let Some(event) = association.poll() {
            match event {
                Event::Connected => self.is_connected = true,
                Event::HandshakeFailed { .. } | Event::AssociationLost { .. } => panic!("SCTP gave up"),
                _ => {}
            }
        }
        while let Some(transmit) = association.poll_transmit(time) {
            push(transmit, out);
        }
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        let (_, association) = self.association.as_mut()?;
        // At the receiving end, the stream exists once data has arrived on it.
        while association.accept_stream().is_some() {}
        let chunks = association.stream(STREAM).ok()?.read_sctp().ok()??;
        let mut message = vec![0; MESSAGE_LEN];
        let length = chunks.read(&mut message).ok()?;
        (length > 0).then_some(message)
    }
}
