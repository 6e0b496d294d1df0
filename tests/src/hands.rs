//! A person's hands on a page: mouse, wheel, keyboard and fingers. The browser reports all their events as trusted,
//! as if a device had made them. So a click counts as user activation, and sound runs from then on.
//!
//! Hands reach only what a person can reach. They fail, with the reason, at an element that is hidden, covered by
//! another, disabled, or outside the window where no wheel brings it in. DevTools has no gamepad: a test replaces
//! `navigator.getGamepads` with [`Visit::with_script`](crate::player::Visit::with_script) instead.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::chromium::Tab;
use crate::status::Status;
use crate::wait;

/// The longest time until hands can reach an element.
const REACH_WITHIN: Duration = Duration::from_secs(60);

/// The turning speed of a teapot by a held key, in radians a second.
const SPIN: f64 = 2.8;

/// Keeps each audio context that the page makes, because no element gives access to it.
pub(crate) const KEEP_AUDIO: &str = r"
window.__audio = [];
window.AudioContext = class extends AudioContext {
  constructor(...options) { super(...options); window.__audio.push(this); }
};";

/// Finds the middle of an element, and the obstacle for a person (`fault`), if there is one. The first obstacle is
/// that the element still moves, for instance because the wheel was turned. `find` is an expression for a function
/// that returns the element.
const LOOK: &str = r"(async find => {
const frame = () => new Promise(next => requestAnimationFrame(next));
const place = element => element && JSON.stringify(element.getBoundingClientRect());
const before = find();
const was = place(before);
await frame();
await frame();
const element = find();
if (element !== before || place(element) !== was) return {fault: 'it moves'};
if (!element) return {fault: 'there is none'};
if (!element.checkVisibility({visibilityProperty: true})) return {fault: 'it is hidden'};
if (element.disabled) return {fault: 'it is switched off'};
const {left, top, width, height} = element.getBoundingClientRect();
const x = left + width / 2, y = top + height / 2;
const there = document.elementFromPoint(x, y);
// A label is pressed in place of what it names; what else is around an element is not the element.
const near = one => one && (element.contains(one) || one.closest('label')?.contains(element));
if (!near(there)) {
  for (let up = element.parentElement; up && up !== document.body; up = up.parentElement) {
    const box = up.getBoundingClientRect();
    if (up.scrollHeight > up.clientHeight + 1 && (y < box.top || y > box.bottom)) {
      return {at: [x, y], away: y - (box.top + box.bottom) / 2, within: [box.left + box.width / 2, (box.top + box.bottom) / 2],
        fault: 'it is scrolled away'};
    }
  }
  if (y < 1 || y > innerHeight - 1) return {at: [x, y], away: y - innerHeight / 2, fault: `it is at ${x}, ${y}`};
  const name = there && (there.id || there.className || there.tagName);
  return {fault: `${name} is in front of it`};
}
return {at: [x, y]};
})";

/// A key: its meaning on the layout, and its place on the keyboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// `KeyboardEvent.key`, such as `w`, or `ц` on a Cyrillic layout.
    pub key: &'static str,
    /// `KeyboardEvent.code`, such as `KeyW`.
    pub code: &'static str,
}

impl Key {
    /// Forward.
    pub const W: Self = Self { key: "w", code: "KeyW" };
    /// Left.
    pub const A: Self = Self { key: "a", code: "KeyA" };
    /// Back.
    pub const S: Self = Self { key: "s", code: "KeyS" };
    /// Right.
    pub const D: Self = Self { key: "d", code: "KeyD" };
    /// Throws.
    pub const SPACE: Self = Self { key: " ", code: "Space" };
    /// Switches sounds on or off.
    pub const M: Self = Self { key: "m", code: "KeyM" };
    /// Opens or closes the help.
    pub const H: Self = Self { key: "h", code: "KeyH" };
    /// Submits a form.
    pub const ENTER: Self = Self { key: "Enter", code: "Enter" };
}

/// The hands on one tab. They remember what they hold.
#[derive(Debug)]
pub struct Hands {
    tab: Tab,
    held: Mutex<BTreeSet<Key>>,
    /// The number of decisions in a row at which the player's teapot had hardly moved.
    stuck: Mutex<u32>,
    /// The place of each finger on the screen.
    fingers: Mutex<BTreeMap<u32, (f64, f64)>>,
}

impl Hands {
    /// Hands on this tab that hold nothing.
    #[must_use]
    pub fn on(tab: Tab) -> Self {
        Self { tab, held: Mutex::default(), stuck: Mutex::default(), fingers: Mutex::default() }
    }

    /// Presses and releases the mouse in the middle of the first visible element of this CSS selector.
    ///
    /// # Panics
    /// A person could not reach the element.
    pub async fn click(&self, selector: &str) {
        let (x, y) = self.reach(selector).await;
        self.mouse("mouseMoved", (x, y)).await;
        self.mouse("mousePressed", (x, y)).await;
        self.mouse("mouseReleased", (x, y)).await;
    }

    /// Presses or releases the mouse's first button at a place, or moves the mouse there: `what` is `mousePressed`,
    /// `mouseReleased` or `mouseMoved`.
    ///
    /// # Panics
    /// The browser refuses.
    pub async fn mouse(&self, what: &str, (x, y): (f64, f64)) {
        let (button, count) = if what == "mouseMoved" { ("none", 0) } else { ("left", 1) };
        let params = json!({ "type": what, "x": x, "y": y, "button": button, "clickCount": count });
        self.tab.ask("Input.dispatchMouseEvent", params).await;
    }

    /// Writes a text into a field, in place of its content.
    ///
    /// # Panics
    /// A person could not reach the element.
    pub async fn write(&self, selector: &str, text: &str) {
        self.click(selector).await;
        let all = json!({ "type": "rawKeyDown", "key": "a", "code": "KeyA", "modifiers": 2, "commands": ["selectAll"] });
        self.tab.ask("Input.dispatchKeyEvent", all).await;
        self.tab.ask("Input.dispatchKeyEvent", json!({ "type": "keyUp", "key": "a", "code": "KeyA" })).await;
        self.tab.ask("Input.insertText", json!({ "text": text })).await;
    }

    /// Presses a key and holds it.
    ///
    /// # Panics
    /// The browser refuses.
    pub async fn hold(&self, key: Key) {
        if lock(&self.held).insert(key) {
            self.tab.ask("Input.dispatchKeyEvent", key_event("keyDown", key)).await;
        }
    }

    /// Releases a key.
    ///
    /// # Panics
    /// The browser refuses.
    pub async fn release(&self, key: Key) {
        if lock(&self.held).remove(&key) {
            self.tab.ask("Input.dispatchKeyEvent", key_event("keyUp", key)).await;
        }
    }

    /// Holds exactly these keys.
    ///
    /// # Panics
    /// The browser refuses.
    pub async fn hold_only(&self, keys: &[Key]) {
        let held = lock(&self.held).clone();
        for key in held.into_iter().filter(|key| !keys.contains(key)) {
            self.release(key).await;
        }
        for key in keys {
            self.hold(*key).await;
        }
    }

    /// Presses a key and releases it.
    ///
    /// # Panics
    /// The browser refuses.
    pub async fn tap_key(&self, key: Key) {
        self.hold(key).await;
        self.release(key).await;
    }

    /// Forgets the held keys and the fingers, because another page replaces the old one.
    pub fn forget(&self) {
        lock(&self.held).clear();
        lock(&self.fingers).clear();
    }

    /// Puts a finger on the middle of an element and leaves it there. Returns the place.
    ///
    /// # Panics
    /// A person could not reach the element.
    pub async fn touch(&self, finger: u32, selector: &str) -> (f64, f64) {
        let place = self.reach(selector).await;
        lock(&self.fingers).insert(finger, place);
        self.tell_fingers("touchStart").await;
        place
    }

    /// Slides a finger to this place.
    ///
    /// # Panics
    /// The browser refuses.
    pub async fn slide(&self, finger: u32, place: (f64, f64)) {
        lock(&self.fingers).insert(finger, place);
        self.tell_fingers("touchMove").await;
    }

    /// Lifts a finger.
    ///
    /// # Panics
    /// The browser refuses.
    pub async fn lift(&self, finger: u32) {
        let is_last = {
            let mut fingers = lock(&self.fingers);
            fingers.remove(&finger);
            fingers.is_empty()
        };
        // The browser itself finds out which finger is missing among the others.
        self.tell_fingers(if is_last { "touchEnd" } else { "touchMove" }).await;
    }

    /// Touches an element briefly.
    ///
    /// # Panics
    /// A person could not reach the element.
    pub async fn tap(&self, selector: &str) {
        self.touch(9, selector).await;
        self.lift(9).await;
    }

    /// Makes one decision of a player who sees this status: turns and drives by keys at the nearest other teapot, and
    /// throws when that teapot is ahead.
    ///
    /// # Panics
    /// The browser refuses.
    pub async fn chase(&self, status: &Status) {
        let (keys, turn, is_slow) = chase(status);
        let stuck = {
            let mut stuck = lock(&self.stuck);
            *stuck = if is_slow { *stuck + 1 } else { 0 };
            *stuck
        };
        if stuck > 4 {
            // The teapot has hardly moved for some decisions, so an obstacle is probably ahead. The teapot drives
            // back, turns, and drives past it.
            *lock(&self.stuck) = 0;
            self.hold_only(&[Key::S, Key::A]).await;
            tokio::time::sleep(Duration::from_millis(500)).await;
            self.hold_only(&[Key::W]).await;
            return tokio::time::sleep(Duration::from_millis(900)).await;
        }
        let rest: Vec<_> = keys.iter().copied().filter(|key| ![Key::A, Key::D].contains(key)).collect();
        self.hold_only(&keys).await;
        // If the turning key were held until the next decision, the teapot would turn past the other one again and
        // again.
        if let Some(turn) = turn {
            tokio::time::sleep(turn).await;
            self.hold_only(&rest).await;
        }
    }

    /// Resizes the browser's real window, in pixels of the screen. An emulated screen would keep the page visible for
    /// ever.
    ///
    /// # Panics
    /// The browser refuses.
    pub async fn resize(&self, width: u32, height: u32) {
        let window = self.tab.ask("Browser.getWindowForTarget", json!({})).await["windowId"].clone();
        let bounds = json!({ "windowId": window, "bounds": { "width": width, "height": height } });
        self.tab.ask("Browser.setWindowBounds", bounds).await;
    }

    async fn tell_fingers(&self, what: &str) {
        let points: Vec<Value> = lock(&self.fingers)
            .iter()
            .map(|(finger, (x, y))| json!({ "id": finger, "x": x, "y": y, "radiusX": 8, "radiusY": 8 }))
            .collect();
        self.tab.ask("Input.dispatchTouchEvent", json!({ "type": what, "touchPoints": points })).await;
    }

    /// Returns the middle of the first visible element of this selector, after the wheel has brought it into the
    /// window.
    async fn reach(&self, selector: &str) -> (f64, f64) {
        let find = format!(
            "(() => (all => all.find(each => each.checkVisibility()) ?? all[0])([...document.querySelectorAll({selector:?})]))"
        );
        wait::until(&format!("hands reach {selector}"), REACH_WITHIN, async || {
            let seen = self.tab.try_evaluate(&format!("{LOOK}({find})")).await?;
            if seen["fault"].is_null()
                && let (Some(x), Some(y)) = (seen["at"][0].as_f64(), seen["at"][1].as_f64())
            {
                return Ok((x, y));
            }
            if let Some(away) = seen["away"].as_f64() {
                let middle = self.tab.try_evaluate("[innerWidth / 2, innerHeight / 2]").await?;
                let at = if seen["within"].is_array() { &seen["within"] } else { &middle };
                let wheel =
                    json!({ "type": "mouseWheel", "x": at[0], "y": at[1], "deltaX": 0, "deltaY": away });
                self.tab.ask("Input.dispatchMouseEvent", wheel).await;
            }
            Err(seen["fault"].as_str().unwrap_or_default().to_owned())
        })
        .await
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn key_event(what: &str, Key { key, code }: Key) -> Value {
    let mut event = json!({ "type": what, "key": key, "code": code });
    if what == "keyDown" && key.chars().count() == 1 {
        event["text"] = key.into();
    }
    if key == "Enter" {
        event["text"] = "\r".into();
        event["windowsVirtualKeyCode"] = 13.into();
    }
    event
}

/// Returns the keys to hold, the time for which to hold the turning key (`None`: until the next decision), and
/// whether the teapot hardly moves. The heading is the direction of the velocity in the status, so a resting teapot
/// has to drive first.
fn chase(status: &Status) -> (Vec<Key>, Option<Duration>, bool) {
    let pots = status.objects_of("teapot").filter_map(|pot| {
        let place = pot.position.as_deref().filter(|place| place.len() > 1)?;
        Some((pot, (place[0], place[1])))
    });
    let me = status.peer.as_ref().map(ToString::to_string).unwrap_or_default();
    let pots: Vec<_> = pots.collect();
    let mine: Vec<_> = pots.iter().filter(|(pot, _)| status.peer.as_ref() == Some(&pot.owner)).collect();
    // A player that came back drives the teapot of its former peer; a host also has those of its robots.
    let own = mine.iter().find(|(pot, _)| pot.id.to_string().starts_with(&me));
    let Some((pot, (x, y))) = own.or(mine.first().filter(|_| mine.len() == 1)) else {
        return (Vec::new(), None, false);
    };
    let away = |(px, py): (f64, f64)| (px - x).hypot(py - y);
    let others = pots.iter().filter(|(other, _)| other.id != pot.id).map(|(_, place)| *place);
    let nearest = others.min_by(|a, b| away(*a).total_cmp(&away(*b)));
    let velocity = pot.velocity.as_deref().unwrap_or(&[0.0, 0.0]);
    let speed = velocity[0].hypot(velocity[1]);
    let Some((px, py)) = nearest.filter(|_| speed >= 0.3) else { return (vec![Key::W, Key::A], None, true) };
    let off = (py - y).atan2(px - x) - velocity[1].atan2(velocity[0]);
    let off = off.sin().atan2(off.cos());
    let mut keys = Vec::new();
    // At full speed a teapot's curve is as wide as a saucer, so the teapot would circle a close target.
    if off.abs() < 0.7 && away((px, py)) > 2.5 {
        keys.push(Key::W);
    }
    if off.abs() > 0.06 {
        keys.push(if off > 0.0 { Key::A } else { Key::D });
    }
    if off.abs() < 0.25 {
        keys.push(Key::SPACE);
    }
    let turn = (off.abs() < 0.8).then(|| Duration::from_secs_f64(off.abs() / SPIN));
    (keys, turn, speed < 1.6)
}
