//! A game beside the page's own loop, without other players. The example `whiteboard` plays with others.

#![cfg(target_arch = "wasm32")]

use samovar::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

struct Idle;

samovar::game! { Idle: name = "idle", version = 1 }

impl Game for Idle {}

/// An address where there is no relay, because the port is closed.
const NOBODY: &str = "ws://127.0.0.1:9/ws";

async fn next_frame() {
    let frame = js_sys::Promise::new(&mut |resolve, _| {
        let window = web_sys::window().expect("a window");
        window.set_timeout_with_callback_and_timeout_and_arguments_0(&resolve, 16).expect("a timer");
    });
    JsFuture::from(frame).await.expect("no error");
}

#[wasm_bindgen_test]
async fn loop_goes_on_and_tells_that_the_relay_is_not_there() {
    let mut running = samovar::join(NOBODY, "TEA", "Ann").start(|_| Idle).expect("good settings");
    assert_eq!(running.status(), Status::Connecting);
    loop {
        assert_eq!(running.with(|_, _| ()), None, "it is no member");
        assert_eq!(running.end(), None, "it tries again");
        if let Status::Unreachable(why) = running.status() {
            assert!(why.contains("does not answer"), "{why}");
            return;
        }
        next_frame().await;
    }
}

#[wasm_bindgen_test]
fn settings_that_cannot_work_are_an_error_at_once() {
    let refused = samovar::join("http://tea.example", "TEA", "Ann").start(|_| Idle).err();
    assert!(matches!(refused, Some(Error::BadAddress(..))), "{refused:?}");
}
