//! Two connections in one page, without a peer above them.
//!
//! On loopback this needs a Chromium with `--allow-loopback-in-peer-connection` and a faked microphone
//! (`webdriver.json` beside this crate), in a network namespace of its own or on a machine with a network.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use samovar_peer_web::connection::{
    Connection, ConnectionEvent, ConnectionKey, Overflow, Side, Sink, WebConfig,
};
use samovar_peer_web::now;
use samovar_wire::{Mode, PeerId};
use wasm_bindgen_test::wasm_bindgen_test;

const KEY: ConnectionKey = ConnectionKey { peer: PeerId(7), attempt: 1 };

/// One end: its connection, and the events of that connection.
struct End {
    connection: Option<Connection>,
    events: Rc<RefCell<VecDeque<ConnectionEvent>>>,
}

impl End {
    fn start(side: Side) -> Self {
        Self::with_config(side, &WebConfig::default())
    }

    fn with_config(side: Side, config: &WebConfig) -> Self {
        let events = Rc::new(RefCell::new(VecDeque::new()));
        let heard = Rc::clone(&events);
        let sink: Sink = Rc::new(move |key, event| {
            assert_eq!(key, KEY);
            heard.borrow_mut().push_back(event);
        });
        let connection = Connection::start(KEY, side, config, sink).expect("this browser has WebRTC");
        Self { connection: Some(connection), events }
    }

    /// The next event, `None` when none came within ten seconds.
    async fn next(&self) -> Option<ConnectionEvent> {
        for _ in 0..1_000 {
            let event = self.events.borrow_mut().pop_front();
            if event.is_some() {
                return event;
            }
            sleep(10).await;
        }
        None
    }

    async fn description(&self) -> String {
        match self.next().await {
            Some(ConnectionEvent::Described(sdp)) => sdp,
            other => panic!("no description but {other:?}"),
        }
    }

    fn send(&self, mode: Mode, bytes: &[u8]) -> Result<(), Overflow> {
        self.connection.as_ref().expect("not closed by the test").send(mode, bytes)
    }

    fn accept(&self, answer: &str) {
        self.connection.as_ref().expect("not closed by the test").accept(answer);
    }
}

async fn sleep(millis: i32) {
    let promise = js_sys::Promise::new(&mut |resolve, _| {
        let window = web_sys::window().expect("a window");
        window.set_timeout_with_callback_and_timeout_and_arguments_0(&resolve, millis).expect("a timer");
    });
    promise.await.expect("a timer does not fail");
}

async fn open_pair() -> (End, End) {
    let offerer = End::start(Side::Offer);
    let answerer = End::start(Side::Answer(offerer.description().await));
    offerer.accept(&answerer.description().await);
    assert_eq!(offerer.next().await, Some(ConnectionEvent::Opened));
    assert_eq!(answerer.next().await, Some(ConnectionEvent::Opened));
    (offerer, answerer)
}

fn packet(mode: Mode, bytes: &[u8]) -> ConnectionEvent {
    ConnectionEvent::Packet(mode, bytes.to_vec())
}

#[wasm_bindgen_test]
async fn both_channels_carry_messages_both_ways() {
    let (offerer, answerer) = open_pair().await;
    for mode in [Mode::Unreliable, Mode::Reliable] {
        offerer.send(mode, b"to the answerer").expect("sent");
        assert_eq!(answerer.next().await, Some(packet(mode, b"to the answerer")));
        answerer.send(mode, b"to the offerer").expect("sent");
        assert_eq!(offerer.next().await, Some(packet(mode, b"to the offerer")));
    }
}

#[wasm_bindgen_test]
async fn a_failed_channel_creation_fails_one_attempt_only() {
    let refuse = "RTCPeerConnection.prototype.__make = RTCPeerConnection.prototype.createDataChannel;
        RTCPeerConnection.prototype.createDataChannel = () => { throw new Error('no room') }";
    js_sys::eval(refuse).expect("a script");
    let refused = Connection::start(KEY, Side::Offer, &WebConfig::default(), Rc::new(|_, _| ()));
    js_sys::eval("RTCPeerConnection.prototype.createDataChannel = RTCPeerConnection.prototype.__make")
        .expect("a script");
    assert!(refused.is_err());
    open_pair().await;
}

#[wasm_bindgen_test]
async fn a_description_fits_the_limit_and_names_no_server() {
    let offerer = End::start(Side::Offer);
    let sdp = offerer.description().await;
    assert!(sdp.len() < samovar_wire::limits::DESCRIPTION_MAX, "{} bytes", sdp.len());
    assert!(sdp.contains("a=candidate:"), "gathered nothing: {sdp}");
    assert!(!sdp.contains("typ srflx") && !sdp.contains("typ relay"), "{sdp}");
}

#[wasm_bindgen_test]
async fn dropping_one_end_sends_its_queue_and_closes_the_other() {
    let (mut offerer, answerer) = open_pair().await;
    for number in 0..50u8 {
        offerer.send(Mode::Reliable, &[number; 1_000]).expect("sent");
    }
    offerer.connection = None;
    for number in 0..50u8 {
        assert!(answerer.next().await == Some(packet(Mode::Reliable, &[number; 1_000])), "message {number}");
    }
    let before = now();
    assert_eq!(answerer.next().await, Some(ConnectionEvent::Closed));
    let noticed = now().since(before).as_millis_f64();
    assert!(noticed < 10_000.0, "noticed after {noticed} ms");
    sleep(500).await;
    assert!(answerer.events.borrow().is_empty(), "closed is said once, and last");
    assert!(offerer.events.borrow().is_empty(), "a dropped connection reports nothing");
}

#[wasm_bindgen_test]
async fn an_attempt_that_does_not_open_in_time_is_closed() {
    let config = WebConfig { open_within_millis: 1_500, ..WebConfig::default() };
    let unanswered = End::with_config(Side::Offer, &config);
    let abandoned = End::with_config(Side::Answer(unanswered.description().await), &config);
    abandoned.description().await;
    assert_eq!(unanswered.next().await, Some(ConnectionEvent::Closed));
    assert_eq!(abandoned.next().await, Some(ConnectionEvent::Closed));
}

#[wasm_bindgen_test]
async fn an_invalid_offer_or_answer_closes_the_attempt() {
    let answerer = End::start(Side::Answer("v=0\r\nnonsense".to_owned()));
    assert_eq!(answerer.next().await, Some(ConnectionEvent::Closed));
    let offerer = End::start(Side::Offer);
    offerer.description().await;
    offerer.accept("<b>hello</b>");
    assert_eq!(offerer.next().await, Some(ConnectionEvent::Closed));
}

#[wasm_bindgen_test]
async fn messages_over_64_kib_close_the_connection() {
    let (offerer, answerer) = open_pair().await;
    let large: Vec<u8> = (0..65_536u32).map(|i| i as u8).collect();
    offerer.send(Mode::Reliable, &large).expect("sent");
    assert!(answerer.next().await == Some(packet(Mode::Reliable, &large)));
    offerer.send(Mode::Reliable, &[0; 65_537]).expect("sent");
    assert_eq!(answerer.next().await, Some(ConnectionEvent::Closed));
}

#[wasm_bindgen_test]
async fn a_full_queue_drops_unreliable_and_refuses_reliable_ones() {
    let (offerer, answerer) = open_pair().await;
    // The browser sends no message before this function yields to it.
    for _ in 0..1_000 {
        offerer.send(Mode::Unreliable, &[1; 1_000]).expect("never refused");
    }
    let sent = (0..200).take_while(|_| offerer.send(Mode::Reliable, &[2; 16_384]).is_ok()).count();
    assert!((64..=66).contains(&sent), "{sent} messages of 16 KiB were queued");
    let (mut unreliable, mut reliable) = (0, 0);
    while reliable < sent {
        match answerer.next().await {
            Some(ConnectionEvent::Packet(Mode::Unreliable, _)) => unreliable += 1,
            Some(ConnectionEvent::Packet(Mode::Reliable, _)) => reliable += 1,
            _ => panic!("only {reliable} of {sent} arrived"),
        }
    }
    assert!((1..=70).contains(&unreliable), "{unreliable} unreliable messages were queued");
}

#[wasm_bindgen_test]
async fn an_owner_may_drop_a_connection_at_any_event() {
    // In each round the sink drops the connection at another event, inside the browser's callback.
    for fatal in 0..4 {
        let slot: Rc<RefCell<Option<Connection>>> = Rc::default();
        let heard = Rc::new(Cell::new(0));
        let (owner, count) = (Rc::clone(&slot), Rc::clone(&heard));
        let described: Rc<RefCell<Option<String>>> = Rc::default();
        let told = Rc::clone(&described);
        let sink: Sink = Rc::new(move |_, event| {
            let stage = match event {
                ConnectionEvent::Described(sdp) => {
                    told.replace(Some(sdp));
                    0
                }
                ConnectionEvent::Opened => 1,
                ConnectionEvent::Packet(..) => 2,
                ConnectionEvent::Closed => 3,
            };
            assert!(stage <= fatal, "an event after the connection was dropped");
            count.set(stage + 1);
            if stage == fatal {
                drop(owner.take());
            }
        });
        let mut answerer = None;
        let offerer = Connection::start(KEY, Side::Offer, &WebConfig::default(), sink).expect("WebRTC");
        slot.replace(Some(offerer));
        for _ in 0..500 {
            if let (Some(sdp), true) = (described.take(), fatal > 0) {
                let end = End::start(Side::Answer(sdp));
                let answer = end.description().await;
                slot.borrow().as_ref().expect("still here").accept(&answer);
                answerer = Some(end);
            }
            if (heard.get(), fatal > 1) == (2, true)
                && let Some(end) = &answerer
                && end.events.borrow_mut().pop_front() == Some(ConnectionEvent::Opened)
            {
                end.send(Mode::Reliable, b"and now?").expect("sent");
            }
            if heard.get() == 3 && fatal == 3 {
                answerer = None;
            }
            if slot.borrow().is_none() {
                break;
            }
            sleep(10).await;
        }
        assert_eq!(heard.get(), fatal + 1, "every event up to the fatal one was heard");
        assert!(slot.borrow().is_none());
        sleep(300).await;
    }
}
