//! The driver of a page, in a real browser.

#![cfg(target_arch = "wasm32")]

mod connection;
mod web_peer;

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);
