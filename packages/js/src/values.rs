//! Values on their way between Rust and JavaScript.

use js_sys::{Array, Int32Array, Object, Reflect, Uint8Array};
use samovar::dynamic::SeenState;
use samovar::objects::State;
use samovar::{AgeSummary, HostTerm, Member, MemberStats, RoomError, RoomStats, Route};
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
    error(why.code(), &why.to_string())
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

pub(crate) fn stats_of(stats: &RoomStats) -> JsValue {
    let member = |member: &MemberStats| {
        let object = Object::new();
        set(&object, "seat", member.seat.0);
        set(&object, "route", route_of(member.route));
        set(&object, "roundTrip", member.round_trip);
        set(&object, "lossOut", member.loss_out);
        set(&object, "lossIn", member.loss_in);
        set(&object, "bytesOut", member.bytes_out as f64);
        set(&object, "bytesIn", member.bytes_in as f64);
        JsValue::from(object)
    };
    let host = |host: &HostTerm| {
        let object = Object::new();
        set(&object, "term", host.term as f64);
        set(&object, "name", &*host.name);
        set(&object, "since", host.since);
        JsValue::from(object)
    };
    let ages = Object::new();
    for (stage, summary) in [
        ("sent", stats.ages.sent),
        ("received", stats.ages.received),
        ("applied", stats.ages.applied),
        ("drawn", stats.ages.drawn),
    ] {
        set(&ages, stage, age_of(summary));
    }
    let object = Object::new();
    set(&object, "members", stats.members.iter().map(member).collect::<Array>());
    set(&object, "hosts", stats.hosts.iter().map(host).collect::<Array>());
    set(&object, "ages", ages);
    object.into()
}

fn age_of(summary: AgeSummary) -> Object {
    let object = Object::new();
    set(&object, "samples", summary.samples);
    set(&object, "mean", summary.mean);
    set(&object, "p50", summary.p50);
    set(&object, "p99", summary.p99);
    object
}

const fn route_of(route: Route) -> &'static str {
    match route {
        Route::Direct => "direct",
        Route::ByHost => "byHost",
        Route::RelayByUdp => "relayByUdp",
        Route::Relay => "relay",
        _ => "unknown",
    }
}
