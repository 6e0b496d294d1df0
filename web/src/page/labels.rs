//! Name labels over the teapots. Elements are kept and reused; moving one writes a transform and nothing else.

use std::cell::RefCell;

use wasm_bindgen::prelude::*;
use web_sys::{Document, HtmlElement};

use super::dom::{self, Text};
use crate::tenths::tenths;

/// The most labels drawn, however many a session claims.
const LABELS_MAX: usize = 64;

/// One label.
#[derive(Debug, Clone, PartialEq)]
pub struct Label {
    /// The teapot to which the label belongs; the same teapot keeps the same element.
    pub key: u64,
    /// The name, or a text in its place.
    pub text: String,
    /// Place of the middle of the label's lower edge, in CSS pixels from the left of the window.
    pub x: f32,
    /// Place of the middle of the label's lower edge, in CSS pixels from the top of the window.
    pub y: f32,
    /// Index into the palette.
    pub colour: u8,
}

/// The layer of labels.
pub struct LabelLayer {
    layer: HtmlElement,
    shown: RefCell<Vec<Shown>>,
}

impl LabelLayer {
    /// Takes over the layer, which is empty.
    ///
    /// # Errors
    /// An element is missing from `index.html`.
    pub fn new(document: &Document) -> Result<Self, JsValue> {
        Ok(Self { layer: dom::by_id(document, "labels")?, shown: RefCell::default() })
    }

    /// Shows exactly these labels.
    pub fn show(&self, labels: &[Label]) {
        let mut shown = self.shown.take();
        shown.retain(|old| {
            let stays = labels.iter().any(|label| label.key == old.key);
            if !stays {
                old.root.remove();
            }
            stays
        });
        for label in labels.iter().take(LABELS_MAX) {
            match shown.iter_mut().find(|old| old.key == label.key) {
                Some(old) => old.update(label),
                None => {
                    let mut new = Shown::new(&self.layer, label);
                    new.update(label);
                    shown.push(new);
                }
            }
        }
        self.shown.replace(shown);
    }
}

struct Shown {
    key: u64,
    root: HtmlElement,
    mark: HtmlElement,
    text: Text,
    raw: String,
    colour: u8,
    place: (i32, i32),
}

impl Shown {
    fn new(layer: &HtmlElement, label: &Label) -> Self {
        let root = dom::append(layer, "div", "");
        let mark = dom::append(&root, "i", "mark");
        let text = Text::new(dom::append(&root, "bdi", ""));
        dom::paint_mark(&mark, label.colour);
        Self {
            key: label.key,
            root,
            mark,
            text,
            raw: String::new(),
            colour: label.colour,
            place: (i32::MIN, 0),
        }
    }

    fn update(&mut self, label: &Label) {
        if self.raw != label.text {
            self.text.set(&label.text);
            self.raw.clone_from(&label.text);
        }
        if self.colour != label.colour {
            dom::paint_mark(&self.mark, label.colour);
            self.colour = label.colour;
        }
        // Places are rounded to half pixels, which the eye cannot tell apart. So a standing teapot needs few writes.
        // Casts saturate; NaN is 0.
        let place = ((label.x * 2.0).round() as i32, (label.y * 2.0).round() as i32);
        if self.place != place {
            let (x, y) = (tenths(place.0.saturating_mul(5)), tenths(place.1.saturating_mul(5)));
            dom::style(&self.root, "transform", &format!("translate({x}px,{y}px) translate(-50%,-100%)"));
            self.place = place;
        }
    }
}
