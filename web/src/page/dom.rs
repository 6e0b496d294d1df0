//! The few DOM operations the page is built from. Text enters the page as text nodes only, never as markup.

use std::cell::RefCell;

use wasm_bindgen::prelude::*;
use web_sys::{Document, Element, Event, EventTarget, HtmlElement, HtmlInputElement, Window};

/// The window of this page.
///
/// # Errors
/// There is no window, as in a worker.
pub fn window() -> Result<Window, JsValue> {
    web_sys::window().ok_or_else(|| JsValue::from_str("no window"))
}

/// The document of this page.
///
/// # Errors
/// There is no document, as in a worker.
pub fn document() -> Result<Document, JsValue> {
    window()?.document().ok_or_else(|| JsValue::from_str("no document"))
}

/// The element `index.html` gives this id.
///
/// # Errors
/// The element is missing or of another kind: page and code are of different versions.
pub fn by_id<T: JsCast>(document: &Document, id: &str) -> Result<T, JsValue> {
    document
        .get_element_by_id(id)
        .and_then(|element| element.dyn_into().ok())
        .ok_or_else(|| JsValue::from_str(&format!("index.html lacks #{id}")))
}

/// The value of a call that does not fail, for this reason. The page needs no code to write out what the browser throws.
pub fn sure<T>(result: Result<T, JsValue>, reason: &str) -> T {
    result.unwrap_or_else(|_| panic!("{reason}"))
}

/// A new element with a class, in no tree yet.
pub fn create(document: &Document, tag: &str, class: &str) -> HtmlElement {
    let element: HtmlElement =
        sure(document.create_element(tag), "tags are literals of HTML").unchecked_into();
    element.set_class_name(class);
    element
}

/// Creates an element as the last child of another.
pub fn append(parent: &Element, tag: &str, class: &str) -> HtmlElement {
    let document = parent.owner_document().expect("an element belongs to a document");
    let child = create(&document, tag, class);
    sure(parent.append_child(&child), "a new element has no descendants to clash with");
    child
}

/// Sets an attribute whose name is a literal.
pub fn attribute(element: &Element, name: &str, value: &str) {
    sure(element.set_attribute(name, value), "attribute names are literals of HTML");
}

/// Sets a custom property or style whose name is a literal; browsers ignore values they do not know.
pub fn style(element: &HtmlElement, name: &str, value: &str) {
    sure(element.style().set_property(name, value), "only computed styles are read-only");
}

/// Gives the keyboard focus to an element without scrolling to it. If the element cannot take the focus, the focus
/// stays where it is.
pub fn focus(element: &HtmlElement) {
    let options = web_sys::FocusOptions::new();
    options.set_prevent_scroll(true);
    let _ = element.focus_with_options(&options);
}

/// Writes a colour's `--glaze` and shape class to a mark (`<i class="mark">`).
pub fn paint_mark(mark: &HtmlElement, index: u8) {
    let colour = super::palette::colour(index);
    let [r, g, b] = colour.rgb;
    mark.set_class_name(&format!("mark shape-{}", colour.shape));
    style(mark, "--glaze", &format!("rgb({r},{g},{b})"));
}

/// An element's text, written only when it differs: a write costs layout even when it changes nothing.
pub struct Text {
    element: HtmlElement,
    shown: RefCell<String>,
}

impl Text {
    /// Takes over the text of an element.
    pub fn new(element: HtmlElement) -> Self {
        let shown = RefCell::new(element.text_content().unwrap_or_default());
        Self { element, shown }
    }

    /// Shows this text.
    pub fn set(&self, text: &str) {
        if *self.shown.borrow() != text {
            self.element.set_text_content(Some(text));
            text.clone_into(&mut self.shown.borrow_mut());
        }
    }

    /// Shows this text, or hides the element when there is none.
    pub fn set_or_hide(&self, text: Option<&str>) {
        self.set(text.unwrap_or_default());
        self.element.set_hidden(text.is_none());
    }

    /// The element that carries the text.
    pub fn element(&self) -> &HtmlElement {
        &self.element
    }
}

/// An event handler that goes away with its owner.
pub struct Listener {
    target: EventTarget,
    kind: &'static str,
    closure: Closure<dyn Fn(Event)>,
}

impl Listener {
    /// Calls `handler` on each event of this kind. The handler may call `prevent_default`.
    ///
    /// # Errors
    /// The browser refuses the listener.
    pub fn new(
        target: &EventTarget,
        kind: &'static str,
        handler: impl Fn(Event) + 'static,
    ) -> Result<Self, JsValue> {
        let closure = Closure::<dyn Fn(Event)>::new(handler);
        let options = web_sys::AddEventListenerOptions::new();
        options.set_passive(false);
        target.add_event_listener_with_callback_and_add_event_listener_options(
            kind,
            closure.as_ref().unchecked_ref(),
            &options,
        )?;
        Ok(Self { target: target.clone(), kind, closure })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let callback = self.closure.as_ref().unchecked_ref();
        // A target that is gone has no listener left to remove.
        let _ = self.target.remove_event_listener_with_callback(self.kind, callback);
    }
}

/// Whether keys write into an element. A read-only field, for example one for copying, leaves the keys to the game.
pub fn takes_text(element: &Element) -> bool {
    match element.dyn_ref::<HtmlInputElement>() {
        Some(input) => !input.read_only(),
        None => matches!(element.tag_name().as_str(), "SELECT" | "TEXTAREA"),
    }
}
