//! A small chart of how old the others' data are, in the session box (`?stats`).

use std::cell::RefCell;

use samovar_session::Spread;
use wasm_bindgen::JsValue;
use web_sys::{Document, Element, HtmlElement};

use super::dom::{self, Text};

/// The points of a line: one a second.
const POINTS: usize = 60;
/// The height of the chart, in the units of its lines. One unit is a millisecond, unless the ages are greater.
const HEIGHT: u32 = 40;

/// The ages at the four stages of a state's way to the screen, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ages {
    /// When its owner sent it, when it arrived, in the first frame that showed it, and in all frames.
    pub means: [u32; 4],
    /// 99 of 100 states were at most this old in the first frame that showed them.
    pub applied_p99: u32,
}

impl Ages {
    /// The ages of these four stages; `None` while there are none.
    pub fn of(stages: [Spread; 4]) -> Option<Self> {
        let millis = |time: samovar_wire::Duration| ((time.as_micros() + 500) / 1_000) as u32;
        let p99 = stages[2].percentile(0.99)?;
        Some(Self { means: stages.map(|stage| stage.mean().map_or(0, millis)), applied_p99: millis(p99) })
    }
}

/// The chart's elements.
pub struct Chart {
    root: HtmlElement,
    applied: Element,
    drawn: Element,
    text: Text,
    seen: RefCell<Vec<[u32; 2]>>,
}

impl Chart {
    /// Takes over the chart.
    ///
    /// # Errors
    /// An element is missing from `index.html`.
    pub fn new(document: &Document) -> Result<Self, JsValue> {
        Ok(Self {
            root: dom::by_id(document, "stats")?,
            applied: dom::by_id(document, "stats-applied")?,
            drawn: dom::by_id(document, "stats-drawn")?,
            text: dom::by_id(document, "stats-text").map(Text::new)?,
            seen: RefCell::default(),
        })
    }

    /// Shows the ages of the last second, behind those before. Without any, the chart is hidden.
    pub fn show(&self, ages: Option<Ages>) {
        self.root.set_hidden(ages.is_none());
        let Some(Ages { means: [sent, received, applied, drawn], applied_p99 }) = ages else { return };
        let mut seen = self.seen.borrow_mut();
        if seen.is_empty()
            && let Some(session) = self.root.parent_element()
        {
            dom::attribute(&session, "open", "");
        }
        if seen.len() == POINTS {
            seen.remove(0);
        }
        seen.push([applied, drawn]);
        let most = seen.iter().flatten().copied().max().unwrap_or(0).max(HEIGHT);
        for (line, element) in [&self.applied, &self.drawn].into_iter().enumerate() {
            dom::attribute(element, "points", &points(&seen, line, most));
        }
        self.text.set(&format!(
            "Others’ moves are {sent} ms old when sent, {received} ms on arrival, {applied} ms when taken (99 %: \
             {applied_p99} ms), {drawn} ms on the screen. The chart has the last two, up to {most} ms."
        ));
    }
}

/// The corners of a line, the newest at the right.
fn points(seen: &[[u32; 2]], line: usize, most: u32) -> String {
    let first = POINTS - seen.len();
    let corner = |(place, ages): (usize, &[u32; 2])| {
        format!("{},{} ", 2 * (first + place), HEIGHT - ages[line] * HEIGHT / most.max(1))
    };
    seen.iter().enumerate().map(corner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_point_is_at_the_right_and_the_greatest_age_at_the_top() {
        assert_eq!(points(&[[0, 9], [80, 9], [40, 9]], 0, 80), "114,40 116,0 118,20 ");
        let long = vec![[7, 7]; POINTS];
        assert!(points(&long, 1, 40).starts_with("0,33 2,33 "));
    }
}
