//! Two connections on loopback, without a peer above them.

use std::time::Duration;

use samovar_peer_native::connection::{
    Connection, ConnectionEvent, ConnectionKey, NativeConfig, Overflow, Side,
};
use samovar_wire::{Mode, PeerId};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::{Instant, timeout};

const PATIENCE: Duration = Duration::from_secs(10);

/// One end: its connection, and the events of that connection.
struct End {
    connection: Option<Connection>,
    events: Receiver<(ConnectionKey, ConnectionEvent)>,
    key: ConnectionKey,
}

impl End {
    fn start(attempt: u32, side: Side) -> Self {
        Self::with_config(attempt, side, &NativeConfig::default())
    }

    fn with_config(attempt: u32, side: Side, config: &NativeConfig) -> Self {
        let (sender, events) = channel(64);
        let key = ConnectionKey { peer: PeerId(7), attempt };
        Self { connection: Some(Connection::start(key, side, config, sender)), events, key }
    }

    async fn next(&mut self) -> Option<ConnectionEvent> {
        let (key, event) = timeout(PATIENCE, self.events.recv()).await.expect("an event in time")?;
        assert_eq!(key, self.key);
        Some(event)
    }

    async fn description(&mut self) -> String {
        match self.next().await {
            Some(ConnectionEvent::Described(sdp)) => sdp,
            other => panic!("no description but {other:?}"),
        }
    }

    fn send(&self, mode: Mode, bytes: &[u8]) -> Result<(), Overflow> {
        self.connection.as_ref().expect("not closed by the test").send(mode, bytes.to_vec())
    }

    fn accept(&self, answer: String) {
        self.connection.as_ref().expect("not closed by the test").accept(answer);
    }
}

fn packet(mode: Mode, bytes: &[u8]) -> ConnectionEvent {
    ConnectionEvent::Packet(mode, bytes.to_vec().into())
}

async fn pair(attempt: u32) -> (End, End) {
    let mut offerer = End::start(attempt, Side::Offer);
    let offer = offerer.description().await;
    let mut answerer = End::start(attempt, Side::Answer(offer));
    offerer.accept(answerer.description().await);
    (offerer, answerer)
}

async fn open_pair(attempt: u32) -> (End, End) {
    let (mut offerer, mut answerer) = pair(attempt).await;
    assert_eq!(offerer.next().await, Some(ConnectionEvent::Opened));
    assert_eq!(answerer.next().await, Some(ConnectionEvent::Opened));
    (offerer, answerer)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_channels_carry_messages_both_ways() {
    let (mut offerer, mut answerer) = open_pair(1).await;
    for mode in [Mode::Unreliable, Mode::Reliable] {
        offerer.send(mode, b"to the answerer").unwrap();
        assert_eq!(answerer.next().await, Some(packet(mode, b"to the answerer")));
        answerer.send(mode, b"to the offerer").unwrap();
        assert_eq!(offerer.next().await, Some(packet(mode, b"to the offerer")));
    }
}

/// An empty unreliable message is a complaint (PROTOCOL §2.1).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_unreliable_message_and_the_next_one_arrive() {
    let (mut offerer, mut answerer) = open_pair(1).await;
    for _ in 0..3 {
        for bytes in [&b""[..], b"behind it"] {
            offerer.send(Mode::Unreliable, bytes).unwrap();
            assert_eq!(answerer.next().await, Some(packet(Mode::Unreliable, bytes)));
            answerer.send(Mode::Unreliable, bytes).unwrap();
            assert_eq!(offerer.next().await, Some(packet(Mode::Unreliable, bytes)));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_sent_as_soon_as_a_connection_opens_arrives() {
    for attempt in 0..20 {
        let (mut offerer, mut answerer) = pair(attempt).await;
        assert_eq!(answerer.next().await, Some(ConnectionEvent::Opened));
        answerer.send(Mode::Reliable, b"first").unwrap();
        answerer.send(Mode::Unreliable, b"second").unwrap();
        assert_eq!(offerer.next().await, Some(ConnectionEvent::Opened));
        let mut arrived = [offerer.next().await, offerer.next().await];
        arrived.sort_by_key(|event| event != &Some(packet(Mode::Reliable, b"first")));
        assert_eq!(
            arrived,
            [Some(packet(Mode::Reliable, b"first")), Some(packet(Mode::Unreliable, b"second"))]
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropping_one_end_sends_its_queue_and_closes_the_other() {
    let (mut offerer, mut answerer) = open_pair(1).await;
    for number in 0..50u8 {
        offerer.send(Mode::Reliable, &[number; 1_000]).unwrap();
    }
    offerer.connection = None;
    for number in 0..50u8 {
        assert_eq!(answerer.next().await, Some(packet(Mode::Reliable, &[number; 1_000])));
    }
    let before = Instant::now();
    assert_eq!(answerer.next().await, Some(ConnectionEvent::Closed));
    assert!(before.elapsed() < Duration::from_secs(10), "noticed after {:?}", before.elapsed());
    assert_eq!(answerer.next().await, None, "closed is said once, and last");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_that_does_not_open_in_time_is_closed() {
    let config = NativeConfig { open_within: Duration::from_millis(1_500), ..NativeConfig::default() };
    let mut unanswered = End::with_config(1, Side::Offer, &config);
    let offer = unanswered.description().await;
    let mut abandoned = End::with_config(1, Side::Answer(offer), &config);
    abandoned.description().await;
    assert_eq!(unanswered.next().await, Some(ConnectionEvent::Closed));
    assert_eq!(abandoned.next().await, Some(ConnectionEvent::Closed));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_offer_or_answer_closes_the_attempt() {
    let mut answerer = End::start(1, Side::Answer("v=0\r\nnonsense".to_owned()));
    assert_eq!(answerer.next().await, Some(ConnectionEvent::Closed));
    let mut offerer = End::start(2, Side::Offer);
    offerer.description().await;
    offerer.accept("<b>hello</b>".to_owned());
    assert_eq!(offerer.next().await, Some(ConnectionEvent::Closed));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_over_64_kib_close_the_connection() {
    let (offerer, mut answerer) = open_pair(1).await;
    let large: Vec<u8> = (0..65_536u32).map(|i| i as u8).collect();
    offerer.send(Mode::Reliable, &large).unwrap();
    assert_eq!(answerer.next().await, Some(packet(Mode::Reliable, &large)));
    offerer.send(Mode::Reliable, &[0; 65_537]).unwrap();
    assert_eq!(answerer.next().await, Some(ConnectionEvent::Closed));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropping_an_old_attempt_leaves_the_new_one_open() {
    let (old_offerer, mut old_answerer) = open_pair(1).await;
    let (new_offerer, mut new_answerer) = open_pair(2).await;
    drop(old_offerer);
    assert_eq!(old_answerer.next().await, Some(ConnectionEvent::Closed));
    new_offerer.send(Mode::Unreliable, b"still here").unwrap();
    assert_eq!(new_answerer.next().await, Some(packet(Mode::Unreliable, b"still here")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stalled_reader_ends_the_connection() {
    let (mut offerer, answerer) = open_pair(1).await;
    // The answerer's owner does not read. So the answerer's queue fills, then its stack's, then SCTP's window, then
    // the offerer's queues.
    let mut sent = 0;
    let overflow = loop {
        if offerer.send(Mode::Reliable, &[0; 16_384]).is_err() {
            break true;
        }
        sent += 1;
        if sent > 2_000 {
            break false;
        }
        tokio::task::yield_now().await;
    };
    if !overflow {
        assert_eq!(offerer.next().await, Some(ConnectionEvent::Closed));
    }
    assert!(sent < 1_500, "{sent} messages of 16 KiB were queued for a reader that does not read");
    drop(answerer);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unreliable_messages_to_a_stalled_reader_are_dropped() {
    let (offerer, mut answerer) = open_pair(1).await;
    for _ in 0..20_000 {
        offerer.send(Mode::Unreliable, &[1; 1_000]).unwrap();
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    offerer.send(Mode::Reliable, b"end").unwrap();
    let mut arrived = 0;
    loop {
        match answerer.next().await {
            Some(ConnectionEvent::Packet(Mode::Unreliable, _)) => arrived += 1,
            Some(event) => break assert_eq!(event, packet(Mode::Reliable, b"end")),
            None => panic!("closed"),
        }
    }
    assert!(arrived < 20_000, "{arrived} arrived");
}
