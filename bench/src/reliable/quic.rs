//! QUIC with quinn's defaults: all messages on one stream. The bytes include TLS 1.3.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event,
    ServerConfig, StreamId,
};
use rustls::RootCertStore;
use rustls::pki_types::PrivateKeyDer;

use super::{Carrier, End, Ends, MESSAGE_LEN};

pub(super) const CARRIER: Carrier = Carrier { name: "quinn-proto 0.11.19 one stream", start: |_| start() };

fn start() -> Ends {
    let generated = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]);
    let rcgen::CertifiedKey { cert, signing_key } = generated.expect("a certificate can be made");
    let key = PrivateKeyDer::Pkcs8(signing_key.serialize_der().into());
    let server = ServerConfig::with_single_cert(vec![cert.der().clone()], key).expect("the key fits");
    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone()).expect("the certificate is valid");
    let client = ClientConfig::with_root_certificates(Arc::new(roots)).expect("there is a root");

    let endpoint = |server| Endpoint::new(Arc::new(EndpointConfig::default()), server, true, None);
    let mut sender = Quic::new(endpoint(None));
    let connection = sender.endpoint.connect(sender.start, client, address(), "localhost");
    sender.connection = Some(connection.expect("an endpoint has room for one"));
    (Box::new(sender), Box::new(Quic::new(endpoint(Some(Arc::new(server))))))
}

fn address() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 9).into()
}

struct Quic {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    stream: Option<StreamId>,
    start: Instant,
    is_connected: bool,
    /// Bytes of the stream that have arrived and are not yet a whole message.
    arrived: Vec<u8>,
    /// Datagrams that the endpoint itself answers with.
    responses: Vec<Vec<u8>>,
}

impl Quic {
    fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            connection: None,
            stream: None,
            start: Instant::now(),
            is_connected: false,
            arrived: Vec::new(),
            responses: Vec::new(),
        }
    }

    fn time(&self, now: u64) -> Instant {
        self.start + Duration::from_millis(now)
    }
}

impl End for Quic {
    fn is_ready(&self) -> bool {
        self.is_connected
    }

    fn send(&mut self, message: &[u8]) {
        let (_, connection) = self.connection.as_mut().expect("sent when ready");
        let open = || connection.streams().open(Dir::Uni).expect("one stream is allowed");
        let stream = *self.stream.get_or_insert_with(open);
        let written = connection.send_stream(stream).write(message);
        assert_eq!(written.expect("the stream is open"), MESSAGE_LEN);
    }

    fn receive(&mut self, now: u64, datagram: &[u8]) {
        let (time, mut response) = (self.time(now), Vec::new());
        match self.endpoint.handle(time, address(), None, None, BytesMut::from(datagram), &mut response) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, time, &mut response, None);
                let Ok(accepted) = accepted else { panic!("the first packet is refused") };
                self.connection = Some(accepted);
            }
            Some(DatagramEvent::Response(transmit)) => {
                self.responses.push(response[..transmit.size].to_vec())
            }
            None => {}
        }
    }

    fn step(&mut self, now: u64, out: &mut Vec<Vec<u8>>) {
        let time = self.time(now);
        out.append(&mut self.responses);
        let Some((handle, connection)) = &mut self.connection else { return };
        if connection.poll_timeout().is_some_and(|due| due <= time) {
            connection.handle_timeout(time);
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected => self.is_connected = true,
                Event::ConnectionLost { reason } => panic!("QUIC gave up: {reason}"),
                _ => {}
            }
        }
        let mut datagram = Vec::new();
        while let Some(transmit) = connection.poll_transmit(time, 1, &mut datagram) {
            out.push(datagram[..transmit.size].to_vec());
            datagram.clear();
        }
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        let (_, connection) = self.connection.as_mut()?;
        if self.stream.is_none() {
            self.stream = connection.streams().accept(Dir::Uni);
        }
        if let Some(stream) = self.stream
            && connection.side().is_server()
        {
            let mut stream = connection.recv_stream(stream);
            if let Ok(mut chunks) = stream.read(true) {
                while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                    self.arrived.extend_from_slice(&chunk.bytes);
                }
                // Window updates go out with the next step in any case.
                let _ = chunks.finalize();
            }
        }
        let is_whole = self.arrived.len() >= MESSAGE_LEN;
        is_whole.then(|| self.arrived.drain(..MESSAGE_LEN).collect())
    }
}
