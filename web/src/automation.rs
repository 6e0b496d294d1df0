//! `window.samovar`: status, input, leave and hold for scripts and tests (docs/automation.md).

use std::cell::Cell;
use std::rc::Rc;

use js_sys::{JSON, Object, Reflect};
use wasm_bindgen::prelude::*;

use crate::input::Input;

/// The requests of scripts, and the answers to them. The page installs this once for its whole life.
pub struct Automation {
    input: Rc<Cell<Input>>,
    leave: Rc<Cell<bool>>,
    holds: Rc<Cell<bool>>,
    _functions: [JsValue; 4],
}

impl Automation {
    /// Puts `samovar` on the window; `status` makes the JSON of the present status.
    ///
    /// # Errors
    /// There is no window to put it on.
    pub fn install(status: impl Fn() -> String + 'static) -> Result<Self, JsValue> {
        let input = Rc::new(Cell::new(Input::default()));
        let leave = Rc::new(Cell::new(false));
        let ask_status =
            Closure::<dyn FnMut() -> JsValue>::new(move || JSON::parse(&status()).unwrap_or(JsValue::NULL));
        let set_input = {
            let input = Rc::clone(&input);
            Closure::<dyn FnMut(JsValue)>::new(move |wish: JsValue| input.set(read_input(&wish)))
        };
        let ask_leave = {
            let leave = Rc::clone(&leave);
            Closure::<dyn FnMut()>::new(move || leave.set(true))
        };
        let holds = Rc::new(Cell::new(false));
        let hold = {
            let holds = Rc::clone(&holds);
            Closure::<dyn FnMut(JsValue)>::new(move |wish: JsValue| holds.set(wish.is_truthy()))
        };
        let functions = [
            ask_status.into_js_value(),
            set_input.into_js_value(),
            ask_leave.into_js_value(),
            hold.into_js_value(),
        ];
        let samovar = Object::new();
        for (name, function) in ["status", "input", "leave", "hold"].into_iter().zip(&functions) {
            Reflect::set(&samovar, &name.into(), function)?;
        }
        let window = web_sys::window().ok_or(JsValue::UNDEFINED)?;
        Reflect::set(&window, &"samovar".into(), &samovar)?;
        Ok(Self { input, leave, holds, _functions: functions })
    }

    /// The input that a script wants for the teapot, until the script changes it.
    pub fn input(&self) -> Input {
        self.input.get()
    }

    /// Whether a script stops the game from making steps.
    pub fn holds(&self) -> bool {
        self.holds.get()
    }

    /// Whether a script has asked to leave since the last call.
    pub fn wants_to_leave(&self) -> bool {
        self.leave.replace(false)
    }
}

/// Reads the input that a script gives. Missing or invalid values count as zero.
fn read_input(wish: &JsValue) -> Input {
    let number = |name: &str| {
        let value = Reflect::get(wish, &name.into()).ok().and_then(|v| v.as_f64()).unwrap_or(0.0);
        if value.is_finite() { value.clamp(-1.0, 1.0) as f32 } else { 0.0 }
    };
    let fire = Reflect::get(wish, &"fire".into()).is_ok_and(|value| value.is_truthy());
    Input { throttle: number("throttle"), turn: number("turn"), fire }
}
