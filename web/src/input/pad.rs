//! Gamepads. Among the pads whose layout the browser knows, the one that was used last drives. Its sticks and its
//! cross of buttons drive; its buttons under the right thumb and the forefingers throw sugar.

use std::cell::Cell;
use std::rc::Rc;

use wasm_bindgen::prelude::*;
use web_sys::{EventTarget, Gamepad, GamepadButton, GamepadMappingType};

use super::Input;
use crate::page::dom::Listener;

/// A stick has no effect within this share of its way from the middle: worn sticks do not come back to the middle.
const DEAD_ZONE: f64 = 0.2;
/// The most pads that the page looks at; browsers know of four.
const PADS_MAX: usize = 16;
/// How many buttons throw sugar, counted from the first of the standard layout: the four of the right thumb, and
/// those of both forefingers.
const FIRE_BUTTONS: u32 = 8;
/// The cross of buttons: up, down, left, right.
const CROSS: [u32; 4] = [12, 13, 14, 15];

pub(super) struct Pads {
    connected: Rc<Cell<bool>>,
    last: Cell<LastUsed>,
    _listener: Listener,
}

impl Pads {
    pub(super) fn new(window: &EventTarget) -> Result<Self, JsValue> {
        let connected = Rc::new(Cell::new(false));
        let seen = Rc::clone(&connected);
        let listener = Listener::new(window, "gamepadconnected", move |_| seen.set(true))?;
        Ok(Self { connected, last: Cell::default(), _listener: listener })
    }

    /// The input of the pad that was used last. The page asks the browser only after a pad has made itself known,
    /// since each request allocates objects. If the page does not have the focus, another window owns the pads, so
    /// they count as at rest.
    pub(super) fn read(&self) -> Input {
        let has_focus = || {
            let document = web_sys::window().and_then(|window| window.document());
            document.is_some_and(|document| document.has_focus().unwrap_or(true))
        };
        if !self.connected.get() || !has_focus() {
            return Input::default();
        }
        let pads =
            web_sys::window().and_then(|window| window.navigator().get_gamepads().ok()).unwrap_or_default();
        let mut inputs = [Input::default(); PADS_MAX];
        for (input, pad) in inputs.iter_mut().zip(pads.iter()) {
            // A script may put a plain object in the place of a pad.
            let pad: &Gamepad = pad.unchecked_ref();
            if pad.is_object() && pad.connected() && pad.mapping() == GamepadMappingType::Standard {
                *input = read(pad);
            }
        }
        let mut last = self.last.get();
        let input = last.choose(&inputs);
        self.last.set(last);
        input
    }
}

fn read(pad: &Gamepad) -> Input {
    let (axes, buttons) = (pad.axes(), pad.buttons());
    let axis = |index| without_rest(axes.get(index).as_f64().unwrap_or(0.0));
    let is_down = |index| buttons.get(index).unchecked_ref::<GamepadButton>().pressed();
    let count = buttons.length();
    let held = |index| index < count && is_down(index);
    let [up, down, left, right] = CROSS.map(|index| f32::from(u8::from(held(index))));
    Input {
        throttle: (up - down - axis(1) - axis(3)).clamp(-1.0, 1.0),
        turn: (left - right - axis(0) - axis(2)).clamp(-1.0, 1.0),
        fire: (0..FIRE_BUTTONS).any(held),
    }
}

/// Push of a stick beyond its dead zone, from -1 to 1; 0 for an axis that is no number.
fn without_rest(pushed: f64) -> f32 {
    let beyond = ((pushed.abs() - DEAD_ZONE) / (1.0 - DEAD_ZONE)).clamp(0.0, 1.0);
    if beyond > 0.0 { (beyond * pushed.signum()) as f32 } else { 0.0 }
}

/// The pad that was used last: the last one that left its rest.
#[derive(Debug, Clone, Copy, Default)]
struct LastUsed {
    pad: usize,
    /// Whether each pad was off its rest when it was last read.
    busy: [bool; PADS_MAX],
}

impl LastUsed {
    fn choose(&mut self, inputs: &[Input; PADS_MAX]) -> Input {
        let busy = inputs.map(|input| input != Input::default());
        let taken_up = (0..PADS_MAX).find(|&pad| busy[pad] && !self.busy[pad]);
        self.pad = taken_up.unwrap_or(self.pad);
        self.busy = busy;
        inputs[self.pad]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stick_within_its_dead_zone_is_at_rest() {
        assert_eq!([-0.2, 0.0, 0.19, f64::NAN].map(without_rest), [0.0; 4]);
        assert_eq!([-1.0, 1.0, 7.0].map(without_rest), [-1.0, 1.0, 1.0]);
        assert!((without_rest(0.6) - 0.5).abs() < 1e-6);
    }

    #[test]
    fn the_gamepad_that_left_its_rest_last_drives() {
        let mut last = LastUsed::default();
        let mut inputs = [Input::default(); PADS_MAX];
        let forward = |throttle| Input { throttle, ..Input::default() };
        // A worn stick is never at rest.
        inputs[0] = forward(-0.1);
        assert_eq!(last.choose(&inputs), forward(-0.1));
        inputs[2] = forward(1.0);
        assert_eq!(last.choose(&inputs), forward(1.0));
        inputs[0] = forward(-0.2);
        assert_eq!(last.choose(&inputs), forward(1.0));
        inputs[2] = Input::default();
        assert_eq!(last.choose(&inputs), Input::default());
        inputs[3] = forward(0.5);
        assert_eq!(last.choose(&inputs), forward(0.5));
    }
}
