//! The one sheet that covers all other elements: a problem in words, or the wait for a game to open.

use wasm_bindgen::prelude::*;
use web_sys::{Document, HtmlElement};

use super::dom::{self, Text};
use super::problem::{Problem, Remedy};

/// The sheet's elements.
pub struct Curtain {
    root: HtmlElement,
    title: Text,
    text: Text,
    advice: Text,
    buttons: HtmlElement,
}

impl Curtain {
    /// Takes over the sheet.
    ///
    /// # Errors
    /// An element is missing from `index.html`.
    pub fn new(document: &Document) -> Result<Self, JsValue> {
        let text = |id: &str| dom::by_id(document, id).map(Text::new);
        Ok(Self {
            root: dom::by_id(document, "curtain")?,
            title: text("curtain-title")?,
            text: text("curtain-text")?,
            advice: text("curtain-advice")?,
            buttons: dom::by_id(document, "curtain-buttons")?,
        })
    }

    /// Says what is wrong and what can be done.
    pub fn show_problem(&self, problem: &Problem) {
        let words = problem.words();
        self.say("curtain problem", words.title, &words.explanation, words.advice);
        for (index, remedy) in words.remedies.iter().enumerate() {
            self.add_button(remedy, index == 0);
        }
    }

    /// Says what the page waits for, with a way back.
    pub fn show_waiting(&self, text: &str) {
        self.say("curtain waiting", text, "", "");
        self.add_button(&Remedy::Lobby, false);
    }

    /// Moves the focus to the title, so that a screen reader starts there and Tab reaches the buttons next.
    pub fn focus(&self) {
        dom::focus(self.title.element());
    }

    fn say(&self, class: &str, title: &str, text: &str, advice: &str) {
        self.root.set_class_name(class);
        self.title.set(title);
        self.text.set(text);
        self.advice.set(advice);
        self.buttons.set_text_content(None);
    }

    fn add_button(&self, remedy: &Remedy, main: bool) {
        let button = dom::append(&self.buttons, "button", if main { "button main" } else { "button" });
        dom::attribute(&button, "type", "button");
        let (action, label, code) = match remedy {
            Remedy::Join { label, code } => ("join", label.as_str(), Some(code)),
            Remedy::Create { label, code } => ("create", label.as_str(), code.as_ref()),
            Remedy::Enter { label, hides } => {
                if *hides {
                    dom::attribute(&button, "data-hidden", "");
                }
                ("enter", *label, None)
            }
            Remedy::Reload => ("reload", "Load again", None),
            Remedy::Lobby => ("back", "Back to the lobby", None),
        };
        dom::attribute(&button, "data-action", action);
        if let Some(code) = code {
            dom::attribute(&button, "data-code", code);
        }
        button.set_text_content(Some(label));
    }
}
