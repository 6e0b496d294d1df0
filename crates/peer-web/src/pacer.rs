//! A timer that runs in a worker. Browsers throttle timers of a hidden page to one a second, and later to one a minute.
//! They do not throttle timers of its workers (Chromium, measured by `tests/browser/background.rs`).

use std::cell::Cell;
use std::rc::Rc;

use js_sys::Array;
use wasm_bindgen::JsValue;
use web_sys::{Blob, Url, Worker};

use crate::alarm::Ring;
use crate::listener::Listener;

/// The worker's script. The script first posts a message to say that it runs. Each number that it receives replaces
/// the last timer, and a number below zero sets no timer.
const SCRIPT: &str =
    "let t;onmessage=e=>{clearTimeout(t);e.data<0||(t=setTimeout(postMessage,e.data,0))};postMessage(0)";

/// One timer. It never begins to run where the page's policy forbids workers from blobs.
pub(crate) struct Pacer {
    worker: Worker,
    url: String,
    runs: Rc<Cell<bool>>,
    _listener: Listener,
}

impl Pacer {
    /// Makes a timer that calls `ring` as a timer of the page would.
    pub(crate) fn new(ring: Rc<dyn Fn(Ring)>) -> Result<Self, JsValue> {
        let blob = Blob::new_with_str_sequence(&Array::of1(&SCRIPT.into()))?;
        let url = Url::create_object_url_with_blob(&blob)?;
        let worker = Worker::new(&url)?;
        let runs = Rc::new(Cell::new(false));
        let listener = {
            let runs = Rc::clone(&runs);
            Listener::on(&worker, "message", move |_| {
                // The first message says only that the worker runs.
                if runs.replace(true) {
                    ring(Ring::Timer);
                }
            })?
        };
        Ok(Self { worker, url, runs, _listener: listener })
    }

    /// Fires once after `millis`; a value below zero only cancels. Replaces any earlier setting. Returns whether the
    /// timer will fire: `false` until the worker runs.
    pub(crate) fn set(&self, millis: i32) -> bool {
        self.runs.get() && self.worker.post_message(&millis.into()).is_ok()
    }
}

impl Drop for Pacer {
    fn drop(&mut self) {
        self.worker.terminate();
        // This fails only for a text that is no URL.
        let _ = Url::revoke_object_url(&self.url);
    }
}

#[cfg(all(test, target_arch = "wasm32"))]
mod tests {
    use super::*;
    use crate::alarm::tests::sleep;
    use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

    wasm_bindgen_test_configure!(run_in_browser);

    #[wasm_bindgen_test]
    async fn a_pacer_fires_once_for_the_newest_time() {
        let rings = Rc::new(Cell::new(0));
        let heard = Rc::clone(&rings);
        let pacer = Pacer::new(Rc::new(move |_| heard.set(heard.get() + 1))).expect("workers");
        while !pacer.set(60_000) {
            sleep(10).await;
        }
        assert!(pacer.set(30));
        sleep(200).await;
        assert_eq!(rings.get(), 1);
        assert!(pacer.set(30) && pacer.set(-1));
        sleep(200).await;
        assert_eq!(rings.get(), 1);
        assert!(pacer.set(30));
        drop(pacer);
        sleep(200).await;
        assert_eq!(rings.get(), 1);
    }
}
