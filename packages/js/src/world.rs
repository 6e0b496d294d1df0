//! A world of JavaScript that all members step alike. It is a text here.

use js_sys::{Array, Uint8Array};
use samovar::Turn;
use samovar::dynamic::Steps;
use wasm_bindgen::JsValue;

use crate::Hooks;

/// A member's copy, which the face keeps.
pub(crate) struct JsWorld(Hooks);

impl JsWorld {
    pub(crate) fn new(hooks: Hooks, seed: u64) -> Self {
        hooks.begin(seed as u32);
        Self(hooks)
    }
}

impl Steps for JsWorld {
    fn input(&self) -> Vec<u8> {
        self.0.input()
    }

    fn step(&mut self, turn: Turn<Vec<u8>>) {
        let pair = |(seat, bytes): &(samovar::SeatId, Vec<u8>)| -> JsValue {
            Array::of2(&seat.0.into(), &Uint8Array::from(&**bytes)).into()
        };
        let inputs = turn.inputs.iter().map(pair).collect();
        let seats = |seats: &[samovar::SeatId]| seats.iter().map(|seat| seat.0).collect();
        self.0.step(turn.number as f64, inputs, seats(&turn.joined), seats(&turn.left));
    }

    fn save(&self) -> Vec<u8> {
        self.0.save().into_bytes()
    }

    fn load(&mut self, saved: &[u8]) {
        if let Ok(text) = core::str::from_utf8(saved) {
            self.0.load(text);
        }
    }

    fn fields(&self, saved: &[u8]) -> Vec<(String, Vec<u8>)> {
        let Ok(text) = core::str::from_utf8(saved) else { return Vec::new() };
        let field = |field: JsValue| {
            let field = Array::from(&field);
            Some((field.get(0).as_string()?, field.get(1).as_string()?.into_bytes()))
        };
        self.0.fields(text).iter().filter_map(field).collect()
    }
}
