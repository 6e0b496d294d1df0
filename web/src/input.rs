//! The input of the player's hands: keyboard, mouse, touch and gamepad become throttle, turn and fire.
//!
//! The page adds up all devices, so that one may rest while another is used. It counts all keys, buttons and fingers
//! as released when the window loses the keyboard or is hidden, because it would never see their release. A press
//! shorter than a frame still fires once.

mod keys;
mod pad;
mod stick;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use wasm_bindgen::prelude::*;
use web_sys::{
    Document, Element, Event, EventTarget, HtmlCanvasElement, HtmlElement, KeyboardEvent, PointerEvent,
};

use crate::page::dom::{self, Listener};
use keys::{Key, Keys};
use pad::Pads;
use stick::Stick;

/// The player's input at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Input {
    /// -1 (back) to 1 (forward).
    pub throttle: f32,
    /// -1 (right) to 1 (left, counter-clockwise seen from above).
    pub turn: f32,
    /// Whether to throw sugar. A held button throws again and again, as fast as the rules allow.
    pub fire: bool,
}

impl Input {
    /// The same input for the upright view of the maze, where up in the picture is to the right on the board.
    #[must_use]
    pub fn turned(self) -> Self {
        Self { throttle: self.turn, turn: -self.throttle, ..self }
    }
}

/// Listens to all devices. Dropping it removes its listeners.
pub struct Controls {
    state: Rc<State>,
    stick: Stick,
    pads: Pads,
    _listeners: Vec<Listener>,
}

/// The values that handlers write and `read` reads.
struct State {
    fire: HtmlElement,
    active: Cell<bool>,
    keys: RefCell<Keys>,
    mouse: Cell<bool>,
    /// The pointer that holds the fire button, so that another finger's release does not end it.
    finger: Cell<Option<i32>>,
    /// Whether fire was pressed since the last read, even if it was released already.
    pressed: Cell<bool>,
}

impl Controls {
    /// Listens to the window, this canvas and the touch controls of `index.html`. Starts inactive.
    ///
    /// # Errors
    /// An element is missing.
    pub fn new(canvas: &HtmlCanvasElement) -> Result<Self, JsValue> {
        let document = dom::document()?;
        let window = dom::window()?;
        let state = Rc::new(State {
            fire: dom::by_id(&document, "fire")?,
            active: Cell::new(false),
            keys: RefCell::default(),
            mouse: Cell::new(false),
            finger: Cell::new(None),
            pressed: Cell::new(false),
        });
        let mut listeners = vec![
            state.on(&document, "keydown", |state, event| state.on_key(event, true))?,
            state.on(&document, "keyup", |state, event| state.on_key(event, false))?,
            state.on(&window, "blur", |state, _| state.release())?,
            state.on(&document, "visibilitychange", |state, _| state.release())?,
            state.on(&window, "pointerup", |state, event| state.on_mouse(event, false))?,
            state.on(&window, "pointercancel", |state, event| state.on_mouse(event, false))?,
            state.on(canvas, "pointerdown", |state, event| state.on_mouse(event, true))?,
            state.on(canvas, "contextmenu", |_, event| event.prevent_default())?,
        ];
        listeners.extend(listen_to_fire_button(&state)?);
        listeners.push(show_touch_controls_on_touch(&document)?);
        Ok(Self {
            state,
            stick: Stick::new(&window, &document)?,
            pads: Pads::new(&window)?,
            _listeners: listeners,
        })
    }

    /// Whether the devices drive a teapot: yes while a game is shown, no in the lobby.
    pub fn set_active(&self, active: bool) {
        if self.state.active.replace(active) != active {
            self.state.release();
            self.stick.release();
        }
    }

    /// The input of all devices. Call it once a frame: it forgets presses that ended since the last call.
    pub fn read(&self) -> Input {
        let pressed = self.state.pressed.take();
        if !self.state.active.get() {
            return Input::default();
        }
        let (stick, pad) = (self.stick.read(), self.pads.read());
        let keys = self.state.keys.borrow();
        let held = keys.fires() || self.state.mouse.get() || self.state.finger.get().is_some() || pad.fire;
        Input {
            throttle: (keys.throttle() + stick.0 + pad.throttle).clamp(-1.0, 1.0),
            turn: (keys.turn() + stick.1 + pad.turn).clamp(-1.0, 1.0),
            fire: held || pressed,
        }
    }
}

impl State {
    fn on(
        self: &Rc<Self>,
        target: &EventTarget,
        kind: &'static str,
        handler: fn(&Self, &Event),
    ) -> Result<Listener, JsValue> {
        let state = Rc::clone(self);
        Listener::new(target, kind, move |event| handler(&state, &event))
    }

    fn release(&self) {
        self.keys.borrow_mut().release_all();
        self.mouse.set(false);
        self.hold_fire(None);
        self.pressed.set(false);
    }

    /// Notes the finger that holds the fire button, and shows whether one does.
    fn hold_fire(&self, finger: Option<i32>) {
        if self.finger.replace(finger) != finger {
            self.fire.set_class_name(if finger.is_some() { "held" } else { "" });
        }
    }

    fn on_key(&self, event: &Event, down: bool) {
        let Some(keyboard) = event.dyn_ref::<KeyboardEvent>() else { return };
        // While Command is held, macOS reports presses but never releases, so all keys count as released.
        if keyboard.key() == "Meta" {
            self.keys.borrow_mut().release_all();
            return;
        }
        let (code, typed) = (keyboard.code(), keyboard.key());
        let place = if code.is_empty() { typed.to_ascii_lowercase() } else { code };
        if !down {
            self.keys.borrow_mut().release(&place);
            return;
        }
        let Some(key) = Key::of(&place, &typed) else { return };
        let command = keyboard.ctrl_key() || keyboard.alt_key() || keyboard.meta_key();
        if !self.active.get() || command || belongs_to_control(event, key) {
            return;
        }
        // Arrows and space would scroll the page.
        event.prevent_default();
        self.keys.borrow_mut().press(&place, key);
        if key == Key::Fire && !keyboard.repeat() {
            self.pressed.set(true);
        }
    }

    fn on_mouse(&self, event: &Event, down: bool) {
        let Some(pointer) = event.dyn_ref::<PointerEvent>() else { return };
        if pointer.pointer_type() != "mouse" || (down && (pointer.button() != 0 || !self.active.get())) {
            return;
        }
        self.mouse.set(down);
        if down {
            self.pressed.set(true);
        }
    }
}

/// Whether the focused control needs this key itself: a field needs all keys, a button needs the key that presses it.
fn belongs_to_control(event: &Event, key: Key) -> bool {
    let Some(target) = event.target().and_then(|target| target.dyn_into::<Element>().ok()) else {
        return false;
    };
    match target.tag_name().to_ascii_lowercase().as_str() {
        _ if dom::takes_text(&target) => true,
        "button" | "a" | "summary" => key == Key::Fire,
        _ => target.closest("dialog[open]").ok().flatten().is_some(),
    }
}

fn listen_to_fire_button(state: &Rc<State>) -> Result<[Listener; 5], JsValue> {
    let end = |state: &State, event: &Event| {
        let id = event.dyn_ref::<PointerEvent>().map(PointerEvent::pointer_id);
        if state.finger.get() == id {
            state.hold_fire(None);
        }
    };
    let start = |state: &State, event: &Event| {
        event.prevent_default();
        let Some(pointer) = event.dyn_ref::<PointerEvent>() else { return };
        if state.active.get() && state.finger.get().is_none() {
            stick::capture(pointer);
            state.hold_fire(Some(pointer.pointer_id()));
            state.pressed.set(true);
        }
    };
    let button = &state.fire;
    Ok([
        state.on(button, "pointerdown", start)?,
        state.on(button, "pointerup", end)?,
        state.on(button, "pointercancel", end)?,
        state.on(button, "lostpointercapture", end)?,
        // A long press would open a menu over the game.
        state.on(button, "contextmenu", |_, event| event.prevent_default())?,
    ])
}

/// Shows the touch controls at the first touch, since a machine with a mouse may have a touch screen as well.
fn show_touch_controls_on_touch(document: &Document) -> Result<Listener, JsValue> {
    let body = document.body().ok_or_else(|| JsValue::from_str("the document has no body"))?;
    Listener::new(document, "pointerdown", move |event| {
        if event.dyn_ref::<PointerEvent>().is_some_and(|pointer| pointer.pointer_type() == "touch") {
            body.set_class_name("touch");
        }
    })
}
