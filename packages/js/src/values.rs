//! Values on their way between Rust and JavaScript.

use js_sys::{Array, Int32Array, Object, Reflect, Uint8Array};
use samovar::dynamic::SeenState;
use samovar::objects::State;
use samovar::{Member, RoomError};
use samovar_wire::{ObjectId, PeerId};
use wasm_bindgen::prelude::*;

fn set(object: &Object, key: &str, value: impl Into<JsValue>) {
    // A fresh object takes any property.
    let _ = Reflect::set(object, &key.into(), &value.into());
}

/// An `Error` with a `code`.
pub(crate) fn error(code: &str, text: &str) -> JsValue {
    let error = js_sys::Error::new(text);
    set(&error, "code", code);
    error.into()
}

pub(crate) fn room_error(why: RoomError) -> JsValue {
    error(&format!("{why:?}"), &why.to_string())
}

pub(crate) fn member_of(member: &Member) -> JsValue {
    let object = Object::new();
    set(&object, "seat", member.seat.0);
    set(&object, "name", &*member.name);
    set(&object, "isMe", member.is_me);
    set(&object, "isHost", member.is_host);
    set(&object, "isHere", member.is_here);
    set(&object, "watches", member.watches);
    object.into()
}

/// The name of an object, as JavaScript has it.
pub(crate) fn words(id: ObjectId) -> String {
    format!("{:x}-{:x}", id.creator.0, id.number)
}

pub(crate) fn id_of(words: &str) -> Option<ObjectId> {
    let (creator, number) = words.split_once('-')?;
    let hex = |text| u32::from_str_radix(text, 16).ok();
    Some(ObjectId { creator: PeerId(hex(creator)?), number: hex(number)? })
}

pub(crate) fn state_of(numbers: &[i32], texts: &Array) -> State {
    let mut state = State::default();
    numbers.iter().for_each(|&number| state.number(number));
    for text in texts.iter() {
        state.text(&Uint8Array::new(&text).to_vec());
    }
    state
}

pub(crate) fn object_of(seen: &SeenState) -> JsValue {
    let texts: Array = seen.state.texts().map(|text| JsValue::from(Uint8Array::from(text))).collect();
    let parts: [JsValue; 6] = [
        words(seen.id).into(),
        member_of(&seen.owner),
        seen.is_mine.into(),
        seen.seat.0.into(),
        Int32Array::from(seen.state.numbers()).into(),
        texts.into(),
    ];
    parts.into_iter().collect::<Array>().into()
}
