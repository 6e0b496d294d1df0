//! The first gamepad: left stick drives, the lowest face button or the right trigger throws.

use std::cell::Cell;
use std::rc::Rc;

use wasm_bindgen::prelude::*;
use web_sys::{EventTarget, Gamepad, GamepadButton};

use super::Input;
use crate::page::dom::Listener;

const DEAD_ZONE: f64 = 0.2;
const FIRE_BUTTONS: [u32; 2] = [0, 7];

pub(super) struct Pad {
    connected: Rc<Cell<bool>>,
    _listener: Listener,
}

impl Pad {
    pub(super) fn new(window: &EventTarget) -> Result<Self, JsValue> {
        let connected = Rc::new(Cell::new(false));
        let seen = Rc::clone(&connected);
        let listener = Listener::new(window, "gamepadconnected", move |_| seen.set(true))?;
        Ok(Self { connected, _listener: listener })
    }

    /// Asks the browser only after a pad has made itself known: each question makes garbage.
    pub(super) fn read(&self) -> Input {
        if !self.connected.get() {
            return Input::default();
        }
        let pads =
            web_sys::window().and_then(|window| window.navigator().get_gamepads().ok()).unwrap_or_default();
        let Some(pad) = pads.iter().find_map(|pad| pad.dyn_into::<Gamepad>().ok()) else {
            return Input::default();
        };
        let axes = pad.axes();
        let axis = |index| {
            let value = axes.get(index).as_f64().unwrap_or(0.0);
            if value.abs() < DEAD_ZONE { 0.0 } else { -value as f32 }
        };
        let buttons = pad.buttons();
        let fire = FIRE_BUTTONS.iter().any(|index| {
            let button = buttons.get(*index);
            button.dyn_ref::<GamepadButton>().is_some_and(GamepadButton::pressed)
        });
        Input { throttle: axis(1), turn: axis(0), fire }
    }
}
