//! A native program in a room of JavaScript: `packages/js/examples/cursors`.
//! It circles, and each second asks for a point.

use std::sync::Arc;

use samovar::dynamic::texts::{TextAsk, TextMessage, TextState};
use samovar::dynamic::{Agreement, Context, fields, sharing};
use samovar::objects::schema::{Coding, Motion};
use samovar::objects::{Shape, State};
use samovar::prelude::*;
use samovar::{Access, Agreed, Orphaned, Schemas};
use serde_json::{Value as Json, json};

/// The first kind of objects that the page names.
const CURSOR: u8 = 1;
/// The precision of a place, which goes from 0 to 1.
const STEP: f64 = 0.001;

struct Visitor;

impl Agreed for Visitor {
    const NAME: &'static str = "";
    const VERSION: u32 = 0;
    const IS_DYNAMIC: bool = true;
    type State = TextState;
    type Message = TextMessage;
    type Ask = TextAsk;
    type World = ();

    fn schemas() -> Schemas {
        Schemas::new()
    }

    fn shapes(_: &mut Shape) {}

    fn message_from(bytes: &[u8]) -> Option<TextMessage> {
        TextMessage::from_bytes(bytes)
    }
}

impl Game for Visitor {
    fn frame(&mut self, room: &mut Room<'_, Self>, time: f64) {
        let name = room.my_name().to_owned();
        let mine = cursor(time, &name);
        let Some(id) = room.own_state(CURSOR, &mine).or_log() else { return };
        room.edit_state(id, &mine).or_log();
        if room.every(1.0) {
            room.ask(TextAsk::new(r#"["point",1]"#).expect("a short ask"))
                .or_log();
            let host = room.host().map_or_else(String::new, |host| host.name);
            println!(
                "{} {host} hosts, {} cursors",
                points(room.state()),
                room.all_states(CURSOR).len()
            );
        }
    }

    fn decide(host: &mut Hosting<'_, '_, Self>, _: &Member, ask: TextAsk) {
        let Ok(ask) = serde_json::from_str::<Json>(ask.text()) else { return };
        if let (Some("point"), Some(by)) = (ask[0].as_str(), ask[1].as_i64()) {
            let points = points(host.state).saturating_add(by);
            // So short a text fits.
            let _ = host.state.set(&json!({ "points": points }).to_string());
        }
    }
}

fn points(state: &TextState) -> i64 {
    serde_json::from_str::<Json>(&state.text())
        .map_or(0, |state| state["points"].as_i64().unwrap_or(0))
}

/// A cursor on its circle: its place in steps, and its name.
fn cursor(time: f64, name: &str) -> State {
    let (sin, cos) = time.sin_cos();
    let mut state = State::default();
    for share in [0.5 + 0.25 * cos, 0.5 + 0.25 * sin] {
        state.number((share / STEP).round() as i32);
    }
    state.text(name.as_bytes());
    state
}

/// The agreement of the page: its objects, and its words as `room(…).words` has them.
fn agreement() -> Result<Agreement, String> {
    let mut cursor = fields();
    let place = Coding::Grid {
        width: 2,
        min: 0,
        max: 1_000,
        step: STEP,
        motion: Motion::Smooth,
    };
    cursor.field("place", place);
    cursor.field("name", Coding::Text { max: 20 });
    Agreement::new("cursors", 1)
        .with_words(r#"[[["cursor",{}]],["point"],{"points":0},[],0]"#)
        .with_type(
            cursor,
            sharing(Orphaned::WithSeat, Access::Exclusive, false),
        )
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let [url, code, name] = samovar::args(["URL", "CODE", "NAME"])?;
    let agreement = agreement().map_err(Error::Usage)?;
    let context: Context = Arc::new(());
    samovar::join(&url, &code, &name)
        .agree::<Visitor>(&agreement, context)
        .on_status(|status| println!("{status}"))
        .run(|_| Visitor)
        .await
}
