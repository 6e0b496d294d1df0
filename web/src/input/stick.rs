//! The stick on a touch screen.

use std::cell::Cell;
use std::rc::Rc;

use wasm_bindgen::prelude::*;
use web_sys::{Document, Element, Event, EventTarget, HtmlElement, PointerEvent};

use crate::page::dom::{self, Listener};
use crate::tenths::tenths;

/// The stick has no effect within this share of its way from the middle: a thumb never rests quite still.
const DEAD_ZONE: f32 = 0.15;

/// The stick's elements and the thumb on it.
pub(super) struct Stick {
    state: Rc<State>,
    _listeners: Vec<Listener>,
}

struct State {
    base: HtmlElement,
    knob: HtmlElement,
    thumb: Cell<Option<i32>>,
    /// Throttle and turn.
    value: Cell<(f32, f32)>,
}

impl Stick {
    pub(super) fn new(window: &EventTarget, document: &Document) -> Result<Self, JsValue> {
        let state = Rc::new(State {
            base: dom::by_id(document, "stick")?,
            knob: dom::by_id(document, "stick-knob")?,
            thumb: Cell::new(None),
            value: Cell::default(),
        });
        let on = |kind, handler: fn(&State, &PointerEvent)| {
            let handle = Rc::clone(&state);
            Listener::new(&state.base, kind, move |event: Event| {
                event.prevent_default();
                if let Some(pointer) = event.dyn_ref::<PointerEvent>() {
                    handler(&handle, pointer);
                }
            })
        };
        let listeners = vec![
            on("pointerdown", State::on_down)?,
            on("pointermove", State::on_move)?,
            on("pointerup", State::on_up)?,
            on("pointercancel", State::on_up)?,
            on("lostpointercapture", State::on_up)?,
            // A long press would open a menu over the game.
            on("contextmenu", |_, _| {})?,
            let_go(&state, window, "blur")?,
            let_go(&state, document, "visibilitychange")?,
        ];
        Ok(Self { state, _listeners: listeners })
    }

    /// Throttle and turn, each -1 to 1.
    pub(super) fn read(&self) -> (f32, f32) {
        self.state.value.get()
    }

    pub(super) fn release(&self) {
        self.state.release();
    }
}

impl State {
    fn on_down(&self, pointer: &PointerEvent) {
        if self.thumb.get().is_none() {
            capture(pointer);
            self.thumb.set(Some(pointer.pointer_id()));
            self.follow(pointer);
        }
    }

    fn on_move(&self, pointer: &PointerEvent) {
        if self.thumb.get() == Some(pointer.pointer_id()) {
            self.follow(pointer);
        }
    }

    fn on_up(&self, pointer: &PointerEvent) {
        if self.thumb.get() == Some(pointer.pointer_id()) {
            self.release();
        }
    }

    fn release(&self) {
        self.thumb.set(None);
        self.value.set((0.0, 0.0));
        dom::style(&self.knob, "transform", "none");
    }

    fn follow(&self, pointer: &PointerEvent) {
        let area = self.base.get_bounding_client_rect();
        let radius = (area.width() / 2.0) as f32;
        let x = f64::from(pointer.client_x()) - area.left() - area.width() / 2.0;
        let y = f64::from(pointer.client_y()) - area.top() - area.height() / 2.0;
        let (x, y) = within(x as f32, y as f32, radius * 0.7);
        self.value.set(deflection(x, y, radius * 0.7));
        let [x, y] = [x, y].map(|place| tenths((place * 10.0).round() as i32));
        dom::style(&self.knob, "transform", &format!("translate({x}px,{y}px)"));
    }
}

/// Releases the stick at this event, after which the page would not see the thumb's release.
fn let_go(state: &Rc<State>, target: &EventTarget, kind: &'static str) -> Result<Listener, JsValue> {
    let state = Rc::clone(state);
    Listener::new(target, kind, move |_| state.release())
}

/// Keeps the events of this finger on the element it touched, wherever it slides.
pub(super) fn capture(pointer: &PointerEvent) {
    let element = pointer.current_target().and_then(|target| target.dyn_into::<Element>().ok());
    if let Some(element) = element {
        // If the finger is up already, the browser throws. That does no harm, since the event of its release follows.
        let _ = element.set_pointer_capture(pointer.pointer_id());
    }
}

/// Moves a point outside a disc around the middle to the disc's edge.
fn within(x: f32, y: f32, radius: f32) -> (f32, f32) {
    let scale = (radius / x.hypot(y).max(f32::MIN_POSITIVE)).min(1.0);
    (x * scale, y * scale)
}

/// Throttle and turn of a knob that is `x` right of the middle and `y` below it. Each is full a little before the
/// rim, so that both can be strong on a diagonal.
fn deflection(x: f32, y: f32, radius: f32) -> (f32, f32) {
    let axis = |way: f32| {
        let share = way / radius.max(1.0);
        let beyond = (share.abs() - DEAD_ZONE).max(0.0) / (0.85 - DEAD_ZONE);
        beyond.min(1.0).copysign(share) + 0.0
    };
    (axis(-y), axis(-x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_is_forward_and_left_turns_left() {
        assert_eq!(deflection(0.0, -50.0, 50.0), (1.0, 0.0));
        assert_eq!(deflection(-50.0, 0.0, 50.0), (0.0, 1.0));
        assert_eq!(deflection(50.0, 0.0, 50.0), (0.0, -1.0));
        assert_eq!(deflection(0.0, 50.0, 50.0), (-1.0, 0.0));
    }

    #[test]
    fn a_trembling_thumb_does_not_move_the_teapot() {
        assert_eq!(deflection(5.0, -5.0, 50.0), (0.0, 0.0));
    }

    #[test]
    fn knob_stays_on_its_disc() {
        let (x, y) = within(300.0, 400.0, 50.0);
        assert!((x - 30.0).abs() < 1e-3 && (y - 40.0).abs() < 1e-3);
        assert_eq!(within(3.0, 4.0, 50.0), (3.0, 4.0));
        assert_eq!(within(0.0, 0.0, 50.0), (0.0, 0.0));
    }

    #[test]
    fn diagonals_are_strong_on_both_axes() {
        let (x, y) = within(100.0, -100.0, 50.0);
        let (throttle, turn) = deflection(x, y, 50.0);
        assert!(throttle > 0.75 && turn < -0.75);
    }
}
