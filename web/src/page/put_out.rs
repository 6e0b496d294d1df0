//! The host's list of the players whom it can put out. The first press on a button asks for confirmation, and the
//! second one puts the player out.

use std::cell::RefCell;

use samovar_duel::player::{Isolated, PlayerName};
use samovar_wire::PeerId;
use wasm_bindgen::prelude::*;
use web_sys::{Document, Element, HtmlElement};

use super::dom;

/// The attribute of a button that was pressed once.
const ARMED: &str = "data-armed";

/// A player whom the host can put out: the peer, its name, and the colour that tells apart players of one name.
pub type Removable = (PeerId, PlayerName, u8);

/// The list in the session's panel; hidden when it is empty.
pub struct PutOutView {
    root: HtmlElement,
    list: HtmlElement,
    shown: RefCell<Vec<Removable>>,
}

impl PutOutView {
    /// Takes over the list.
    ///
    /// # Errors
    /// An element is missing from `index.html`.
    pub fn new(document: &Document) -> Result<Self, JsValue> {
        let (root, list) = (dom::by_id(document, "put-out")?, dom::by_id(document, "put-out-list")?);
        Ok(Self { root, list, shown: RefCell::default() })
    }

    /// Shows the players whom the host can put out; none where another peer hosts.
    pub fn show(&self, players: Vec<Removable>) {
        if *self.shown.borrow() == players {
            return;
        }
        self.root.set_hidden(players.is_empty());
        self.list.set_text_content(None);
        for (peer, name, colour) in &players {
            let button = dom::append(&self.list, "button", "button plain");
            dom::attribute(&button, "type", "button");
            dom::attribute(&button, "data-action", "put-out");
            dom::attribute(&button, "data-peer", &peer.0.to_string());
            dom::paint_mark(&dom::append(&button, "i", "mark"), *colour);
            dom::append(&button, "bdi", "").set_text_content(Some(name.as_str()));
        }
        self.shown.replace(players);
    }

    /// Handles a press on a button of the list. Returns the player to put out if this button was pressed before.
    pub fn on_pressed(&self, button: &Element) -> Option<PeerId> {
        let peer = PeerId(button.get_attribute("data-peer")?.parse().ok()?);
        if button.has_attribute(ARMED) {
            return Some(peer);
        }
        let shown = self.shown.borrow();
        let (_, name, _) = shown.iter().find(|(shown, ..)| *shown == peer)?;
        button.last_element_child()?.set_text_content(Some(&format!("Put {} out?", Isolated(name.as_str()))));
        dom::attribute(button, ARMED, "");
        None
    }
}
