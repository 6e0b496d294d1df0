//! Reactions to the browser, which hides the page, shows it, resizes it, takes its graphics away and closes it.
//!
//! The pixel ratio can change at the same size, for example on another screen. That is no resize, so the view looks
//! at the ratio in each frame.

use wasm_bindgen::prelude::*;

use super::{App, Place};
use crate::page::Problem;
use crate::page::dom::{self, Listener};

/// Milliseconds of a visible page without graphics before the page says so.
const DARK_PATIENCE: f64 = 4_000.0;
/// The longest time between two frames of a visible page, in milliseconds. A longer gap counts as this.
const FRAME_MAX: f64 = 500.0;

impl App {
    /// Listens to the browser's events until the listeners are dropped.
    ///
    /// # Errors
    /// There is no window.
    pub fn listen(place: &'static Place) -> Result<Vec<Listener>, JsValue> {
        let (window, document) = (dom::window()?, dom::document()?);
        let canvas = place.with(|app| app.page.canvas().clone()).ok_or(JsValue::UNDEFINED)?;
        let with = |act: fn(&mut Self)| {
            move |event: web_sys::Event| {
                if event.type_() == "webglcontextlost" {
                    // Without this call the browser never gives the context back.
                    event.prevent_default();
                }
                place.with(act);
            }
        };
        Ok(vec![
            Listener::new(&document, "freeze", with(Self::stop_leaving))?,
            Listener::new(&window, "resize", with(Self::on_resize))?,
            Listener::new(&window, "offline", with(|app| app.is_offline = true))?,
            Listener::new(&window, "online", with(|app| app.is_offline = false))?,
            Listener::new(&window, "popstate", with(Self::on_history))?,
            Listener::new(&window, "pagehide", with(Self::stop_leaving))?,
            Listener::new(&canvas, "webglcontextlost", with(|_| ()))?,
            Listener::new(&canvas, "webglcontextrestored", with(Self::on_graphics_back))?,
        ])
    }

    fn on_resize(&mut self) {
        if let Some(view) = &mut self.view {
            view.resize();
        }
    }

    fn on_graphics_back(&mut self) {
        let was_said = self.dark_for > DARK_PATIENCE;
        if self.build_view() && was_said {
            self.show_where_it_is();
        }
    }

    /// Tells the player when the browser has taken the graphics and does not give them back. The game goes on
    /// meanwhile.
    pub(super) fn watch_graphics(&mut self, time: f64) {
        let passed = (time - self.framed_at).clamp(0.0, FRAME_MAX);
        let was_said = self.dark_for > DARK_PATIENCE;
        let is_dark = self.view.as_ref().is_some_and(|view| view.is_lost());
        self.dark_for = if is_dark { self.dark_for + passed } else { 0.0 };
        if self.dark_for > DARK_PATIENCE && !was_said {
            self.page.problem(Problem::GraphicsLost);
        }
    }

    /// The player went back or forth between the lobby and a game: the address names the screen.
    fn on_history(&mut self) {
        let _ = self.window.location().reload();
    }
}
