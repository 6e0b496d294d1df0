//! The device's battery, in browsers that report it (Chromium does, Firefox and Safari do not).

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Function, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::Window;

/// The charge, from 0 to 1, at or below which a device is likely to run out soon.
const LOW: f64 = 0.05;

/// The device's battery.
#[derive(Default)]
pub struct Battery {
    /// The browser's `BatteryManager`, once the page has it.
    manager: Rc<RefCell<Option<JsValue>>>,
}

impl Battery {
    /// Asks the browser for its battery.
    pub fn ask(window: &Window) -> Self {
        let battery = Self::default();
        if let Some(promise) = promise(window) {
            let manager = Rc::clone(&battery.manager);
            spawn_local(async move {
                // If the browser refuses, the page knows of no battery.
                *manager.borrow_mut() = JsFuture::from(promise).await.ok();
            });
        }
        battery
    }

    /// Whether the device is likely to run out of power soon.
    pub fn is_low(&self) -> bool {
        let manager = self.manager.borrow().clone();
        manager.as_ref().and_then(is_low).unwrap_or(false)
    }
}

fn promise(window: &Window) -> Option<Promise> {
    let navigator = window.navigator();
    let ask: Function = Reflect::get(&navigator, &"getBattery".into()).ok()?.dyn_into().ok()?;
    ask.call0(&navigator).ok()?.dyn_into().ok()
}

fn is_low(manager: &JsValue) -> Option<bool> {
    let property = |name: &str| Reflect::get(manager, &name.into()).ok();
    Some(!property("charging")?.as_bool()? && property("level")?.as_f64()? <= LOW)
}
