//! Turns clicks, forms and keys into the player's requests.

use std::rc::Rc;

use wasm_bindgen::prelude::*;
use web_sys::{Element, Event, HtmlInputElement, KeyboardEvent, MouseEvent};

use super::dom::{self, Listener};
use super::name::clean_code;
use super::{PageEvent, Parts, Screen};

/// Listens on the whole document; handlers live as long as the listeners.
///
/// # Errors
/// The browser refuses a listener.
pub fn listen(parts: &Rc<Parts>) -> Result<Vec<Listener>, JsValue> {
    let on = |kind, handler: fn(&Parts, &Event)| {
        let parts = Rc::clone(parts);
        Listener::new(&parts.document.clone(), kind, move |event| handler(&parts, &event))
    };
    Ok(vec![
        on("click", on_click)?,
        on("submit", on_submit)?,
        on("input", on_input)?,
        on("change", on_change)?,
        on("keydown", on_keydown)?,
    ])
}

fn on_click(parts: &Parts, event: &Event) {
    let Some(button) =
        target(event).and_then(|target| target.closest("[data-action], summary").ok().flatten())
    else {
        return;
    };
    // After a press by mouse or finger on a button of the HUD, the keys drive the teapot again. After a press by the
    // keyboard, the focus stays on the button.
    let by_pointer = event.dyn_ref::<MouseEvent>().is_some_and(|mouse| mouse.detail() > 0);
    if by_pointer && parts.screen.get() == Screen::Game {
        dom::focus(&parts.canvas);
    }
    let code = || button.get_attribute("data-code").and_then(|code| clean_code(&code));
    match button.get_attribute("data-action").unwrap_or_default().as_str() {
        "enter" => {
            parts.lobby.choose_address(Some(button.has_attribute("data-hidden")));
            parts.wish(PageEvent::Enter);
        }
        "join" => {
            if let Some(code) = code() {
                parts.join(code);
            }
        }
        "create" => parts.create(code()),
        "refresh" => parts.wish(PageEvent::Refresh),
        "leave" => parts.wish(PageEvent::Leave),
        "back" => parts.wish(PageEvent::BackToLobby),
        "mute" => parts.toggle_muted(),
        "help" => open_help(parts),
        "copy" => parts.invite.copy(),
        "put-out" => {
            if let Some(peer) = parts.put_out.on_pressed(&button) {
                parts.wish(PageEvent::PutOut(peer));
            }
        }
        "take" => {
            if let Some(role) = button.get_attribute("data-role").and_then(|role| role.parse().ok()) {
                parts.wish(PageEvent::Take(role));
            }
        }
        "reload" => reload(),
        _ => {}
    }
}

fn on_submit(parts: &Parts, event: &Event) {
    let Some(form) = target(event) else { return };
    match form.id().as_str() {
        "you" => parts.wish(PageEvent::NameChanged(parts.lobby.on_name_typed())),
        "new-game" => parts.create(None),
        "join-form" => {
            if let Some(code) = parts.lobby.typed_code() {
                parts.join(code);
            }
        }
        // The browser handles any other form, such as the one in the help dialog, which closes the dialog.
        _ => return,
    }
    event.prevent_default();
}

fn on_input(parts: &Parts, event: &Event) {
    if target(event).is_some_and(|target| target.id() == "name") {
        parts.lobby.on_name_edited();
    }
}

fn on_change(parts: &Parts, event: &Event) {
    let Some(input) = target(event).and_then(|target| target.dyn_into::<HtmlInputElement>().ok()) else {
        return;
    };
    if input.id() == "name" {
        parts.wish(PageEvent::NameChanged(parts.lobby.on_name_typed()));
    } else if input.id() == "hides-address" {
        parts.lobby.choose_address(None);
    } else if input.name() == "mode" {
        parts.show_mode(parts.lobby.mode());
    } else if input.name() == "colour"
        && let Some(index) = parts.lobby.on_colour_picked(&input.value())
    {
        parts.wish(PageEvent::ColourChanged(index));
    }
}

fn on_keydown(parts: &Parts, event: &Event) {
    let Some(key) = event.dyn_ref::<KeyboardEvent>() else { return };
    let command = key.ctrl_key() || key.alt_key() || key.meta_key() || key.repeat();
    let typing = target(event).is_some_and(|target| dom::takes_text(&target));
    if command || typing {
        return;
    }
    match letter(&key.key(), &key.code()) {
        Some('m') => parts.toggle_muted(),
        Some('h' | '?') if parts.help.open() => parts.help.close(),
        Some('h' | '?') => open_help(parts),
        Some(digit @ '1'..='4') if parts.screen.get() == Screen::Game => {
            parts.wish(PageEvent::Take(digit as u8 - b'1'));
        }
        _ => return,
    }
    event.prevent_default();
}

/// The Latin character that a key stands for: the character that it types, or that of its place on a layout without
/// Latin letters.
fn letter(typed: &str, code: &str) -> Option<char> {
    let mut characters = typed.chars();
    let only = characters.next().filter(|only| only.is_ascii() && characters.next().is_none());
    only.or_else(|| code.strip_prefix("Key")?.chars().next()).map(|letter| letter.to_ascii_lowercase())
}

fn open_help(parts: &Parts) {
    // `show_modal` throws only when the help is already open, so it is not called then.
    if !parts.help.open() {
        let _ = parts.help.show_modal();
        // The title takes the focus. If the button at the end had it, a small screen would scroll there.
        dom::focus(&parts.help_title);
    }
}

fn reload() {
    if let Some(window) = web_sys::window() {
        // A browser that refuses to reload keeps the page, which still says what is wrong.
        let _ = window.location().reload();
    }
}

fn target(event: &Event) -> Option<Element> {
    event.target()?.dyn_into().ok()
}

#[cfg(test)]
mod tests {
    use super::letter;

    #[test]
    fn shortcuts_are_found_on_any_layout() {
        // US, AZERTY, Cyrillic, Hebrew, a dead key, an input method.
        for (typed, code, found) in [
            ("M", "KeyM", Some('m')),
            ("m", "Semicolon", Some('m')),
            (",", "KeyM", Some(',')),
            ("ь", "KeyM", Some('m')),
            ("י", "KeyH", Some('h')),
            ("Dead", "KeyH", Some('h')),
            ("Process", "KeyM", Some('m')),
            ("Enter", "Enter", None),
            ("", "", None),
        ] {
            assert_eq!(letter(typed, code), found, "{typed} {code}");
        }
    }
}
