//! Short messages over the game: a banner that stays, toasts that go, the feed of events.

use wasm_bindgen::prelude::*;
use web_sys::{Document, Element, HtmlElement};

use super::dom::{self, Listener, Text};

/// Banner while the relay is away and direct links carry the duel.
pub const RELAY_GONE: &str = "The relay is gone; the game goes on without it. \
                              New players cannot join until it is back.";

/// Banner while this browser has no network.
pub const CUT_OFF: &str = "Your network is cut. You play on alone until it is back; \
                           what changes only here does not count then.";

/// Banner while this browser has no network, in a game that pauses on the smaller side.
pub const CUT_OFF_AND_PAUSED: &str = "Your network is cut. The game waits here until it is back.";

/// Banner while this browser reaches no other member.
pub const RECONNECTING: &str = "Nobody can be reached; reconnecting…";

const TOASTS_MAX: u32 = 3;
const FEED_MAX: u32 = 5;

/// The notices' elements.
pub struct Notices {
    banner: Text,
    toasts: HtmlElement,
    feed: HtmlElement,
    _ended: [Listener; 2],
}

impl Notices {
    /// Finds the elements of the notices in the page. A toast or a line of the feed is removed when its animation has
    /// faded it out.
    ///
    /// # Errors
    /// An element is missing from `index.html`.
    pub fn new(document: &Document) -> Result<Self, JsValue> {
        let toasts: HtmlElement = dom::by_id(document, "toasts")?;
        let feed: HtmlElement = dom::by_id(document, "feed")?;
        let ended = [remove_when_faded(&toasts)?, remove_when_faded(&feed)?];
        Ok(Self { banner: Text::new(dom::by_id(document, "banner")?), toasts, feed, _ended: ended })
    }

    /// Shows a banner for a lasting state, or removes it.
    pub fn banner(&self, text: Option<&str>) {
        self.banner.set_or_hide(text);
    }

    /// Shows a message for some seconds; the last three stay.
    pub fn toast(&self, text: &str) {
        add(&self.toasts, "p", text, TOASTS_MAX);
    }

    /// Adds a line to the feed of events; the last five stay.
    pub fn feed(&self, text: &str) {
        add(&self.feed, "li", text, FEED_MAX);
    }

    /// Removes all notices.
    pub fn clear(&self) {
        self.banner(None);
        self.toasts.set_text_content(None);
        self.feed.set_text_content(None);
    }
}

fn add(list: &HtmlElement, tag: &str, text: &str, max: u32) {
    while list.child_element_count() >= max {
        let Some(oldest) = list.first_element_child() else { break };
        oldest.remove();
    }
    dom::append(list, tag, "").set_text_content(Some(text));
}

/// Removes each line when its last animation, called `leave`, has ended. The style sheet decides how long a line
/// stays.
fn remove_when_faded(list: &HtmlElement) -> Result<Listener, JsValue> {
    Listener::new(list, "animationend", |event| {
        let leaves = event
            .dyn_ref::<web_sys::AnimationEvent>()
            .is_some_and(|animation| animation.animation_name() == "leave");
        if let Some(line) = event.target().and_then(|target| target.dyn_into::<Element>().ok())
            && leaves
        {
            line.remove();
        }
    })
}
