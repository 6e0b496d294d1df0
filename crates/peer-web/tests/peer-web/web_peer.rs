//! The real peer in a page, with a relay that is not there.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use samovar_peer::{PathPolicy, PeerConfig};
use samovar_peer_web::{WebPeer, entropy, now};
use samovar_wire::relay::Purpose;
use wasm_bindgen_test::wasm_bindgen_test;

fn config() -> PeerConfig {
    PeerConfig {
        entropy: entropy(),
        purpose: Purpose::Create(None),
        token: None,
        ticket: None,
        kept: None,
        name: "Ann".to_owned(),
        attributes: 0,
        params: 3,
        schemas: samovar_peer::Schemas::new(),
        paths: PathPolicy::Auto,
        capacity: 8,
        public: true,
        rules: samovar_peer::Rules::default(),
    }
}

async fn sleep(millis: i32) {
    let promise = js_sys::Promise::new(&mut |resolve, _| {
        let window = web_sys::window().expect("a window");
        window.set_timeout_with_callback_and_timeout_and_arguments_0(&resolve, millis).expect("a timer");
    });
    promise.await.expect("a timer does not fail");
}

/// A page: it looks for events at each wake, and counts the wakes.
#[derive(Default)]
struct Page {
    peer: RefCell<Option<WebPeer>>,
    woken: Cell<u32>,
    too_early: Cell<bool>,
}

fn open_page(relay_url: &str) -> Rc<Page> {
    let page = Rc::new(Page::default());
    let woken = Rc::downgrade(&page);
    let peer = WebPeer::start(relay_url, config(), move || {
        let Some(page) = woken.upgrade() else { return };
        page.woken.set(page.woken.get() + 1);
        match &*page.peer.borrow() {
            Some(peer) => peer.with(|peer, _| while peer.poll_event().is_some() {}),
            None => page.too_early.set(true),
        }
    });
    page.peer.replace(Some(peer));
    page
}

#[wasm_bindgen_test]
async fn a_peer_without_a_relay_keeps_waking_its_page() {
    for url in ["ws://127.0.0.1:1/ws", "not an address"] {
        let page = open_page(url);
        // The peer tries the relay again and again: each try and each failure wakes the page.
        sleep(3_000).await;
        let woken = page.woken.get();
        assert!((2..200).contains(&woken), "{url}: woken {woken} times");
        assert!(!page.too_early.get(), "woken before start returned");
    }
}

#[wasm_bindgen_test]
async fn a_dropped_peer_does_not_wake_its_page() {
    let page = open_page("ws://127.0.0.1:1/ws");
    page.peer.take();
    let woken = page.woken.get();
    sleep(1_500).await;
    assert_eq!(page.woken.get(), woken);
}

#[wasm_bindgen_test]
async fn the_clock_advances_and_entropy_differs() {
    let before = now();
    sleep(50).await;
    let passed = now().since(before).as_millis_f64();
    assert!((45.0..5_000.0).contains(&passed), "{passed} ms for 50");
    assert_ne!(entropy(), entropy());
}
