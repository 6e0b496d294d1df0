//! The link that brings friends in, and the ways to copy it.

use std::rc::Rc;

use js_sys::Reflect;
use wasm_bindgen::prelude::*;
use web_sys::{Document, HtmlDocument, HtmlInputElement};

use super::dom::{self, Listener, Text};

/// The link's elements.
pub struct Invite {
    parts: Rc<Parts>,
    copied: Closure<dyn FnMut(JsValue)>,
    refused: Closure<dyn FnMut(JsValue)>,
    _settled: Listener,
}

struct Parts {
    document: Document,
    field: HtmlInputElement,
    label: Text,
}

impl Invite {
    /// Takes over the link field.
    ///
    /// # Errors
    /// An element is missing from `index.html`.
    pub fn new(document: &Document) -> Result<Self, JsValue> {
        let parts = Rc::new(Parts {
            document: document.clone(),
            field: dom::by_id(document, "invite-link")?,
            label: Text::new(dom::by_id(document, "copy-label")?),
        });
        let (a, b, c) = (Rc::clone(&parts), Rc::clone(&parts), Rc::clone(&parts));
        let copied = Closure::new(move |_| a.say(true));
        let refused = Closure::new(move |_| b.copy_by_selection());
        let settled = Listener::new(parts.label.element(), "animationend", move |_| c.reset())?;
        Ok(Self { parts, copied, refused, _settled: settled })
    }

    /// Shows this link.
    pub fn show(&self, link: &str) {
        if self.parts.field.value() != link {
            self.parts.field.set_value(link);
            self.parts.reset();
            self.parts.open(false);
        }
    }

    /// Copies the link. Call it while handling a click: browsers refuse it otherwise.
    pub fn copy(&self) {
        // Outside a secure context `navigator.clipboard` is missing, and a call into it would throw.
        let clipboard = web_sys::window()
            .map(|window| window.navigator())
            .filter(|navigator| {
                Reflect::get(navigator, &"clipboard".into()).is_ok_and(|value| value.is_object())
            })
            .map(|navigator| navigator.clipboard());
        match clipboard {
            Some(clipboard) => {
                let written = clipboard.write_text(&self.parts.field.value());
                let _ = written.then2(&self.copied, &self.refused);
            }
            None => self.parts.copy_by_selection(),
        }
    }
}

impl Parts {
    fn copy_by_selection(&self) {
        self.open(true);
        dom::focus(&self.field);
        self.field.select();
        let copied = self.document.unchecked_ref::<HtmlDocument>().exec_command("copy").unwrap_or(false);
        self.say(copied);
    }

    /// Says whether the copy worked; the style sheet decides for how long. If copying failed, the link stays
    /// selected.
    fn say(&self, copied: bool) {
        self.label.set(if copied { "Copied" } else { "Copy by hand" });
        self.label.element().set_class_name("news");
    }

    fn reset(&self) {
        self.label.set("Copy");
        self.label.element().set_class_name("");
    }

    /// Small screens show the link only when it must be copied by hand.
    fn open(&self, open: bool) {
        if let Some(group) = self.field.parent_element() {
            group.set_class_name(if open { "invite open" } else { "invite" });
        }
    }
}
