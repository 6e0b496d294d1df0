//! The browser's clock and random bytes.

use std::cell::Cell;

use samovar_wire::Time;
use web_sys::Performance;

use crate::scope::scope;

thread_local! {
    static PERFORMANCE: Option<Performance> = scope().performance();
    static NEWEST: Cell<f64> = const { Cell::new(0.0) };
}

/// The time since the page or the worker was opened; never earlier than the time returned before.
#[must_use]
pub fn now() -> Time {
    let millis = PERFORMANCE.with(|clock| clock.as_ref().map_or_else(js_sys::Date::now, Performance::now));
    let newest = NEWEST.with(|newest| {
        newest.set(newest.get().max(millis));
        newest.get()
    });
    // The conversion from a float to an integer saturates: no time can break it.
    Time::from_micros((newest * 1_000.0) as u64)
}

/// Unpredictable bytes, for `PeerConfig::entropy`.
///
/// Throws into the page when the browser has none; every browser with WebRTC or WebSockets has some.
#[must_use]
pub fn entropy() -> [u8; 32] {
    let mut bytes = [0; 32];
    let crypto = scope().crypto().ok();
    let filled = crypto.is_some_and(|crypto| crypto.get_random_values_with_u8_array(&mut bytes).is_ok());
    if !filled {
        wasm_bindgen::throw_str("this browser has no randomness");
    }
    bytes
}
