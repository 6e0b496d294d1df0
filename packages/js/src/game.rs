//! The game that stands for every game in JavaScript: its state, messages and asks are texts.

use samovar::dynamic::texts::{STATE_MAX, TextAsk, TextMessage, TextState};
use samovar::dynamic::{Context, Steps};
use samovar::prelude::*;
use samovar::{Agreed, Schemas, objects::Shape};

use crate::world::JsWorld;
use crate::{Hooks, values};

/// The parts of a program that the core calls by itself.
pub(crate) struct Ears {
    pub(crate) hooks: Hooks,
    pub(crate) has_world: bool,
}

/// A program in JavaScript.
pub(crate) struct JsGame(Hooks);

impl JsGame {
    pub(crate) const fn new(hooks: Hooks) -> Self {
        Self(hooks)
    }
}

impl Agreed for JsGame {
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

    fn foreign_world(context: &Context, seed: u64) -> Option<Box<dyn Steps>> {
        let ears = context.downcast_ref::<Ears>().filter(|ears| ears.has_world)?;
        Some(Box::new(JsWorld::new(ears.hooks.clone(), seed)))
    }

    fn message_from(bytes: &[u8]) -> Option<TextMessage> {
        TextMessage::from_bytes(bytes)
    }
}

impl Game for JsGame {
    fn decide(host: &mut Hosting<'_, '_, Self>, from: &Member, ask: TextAsk) {
        let Some(Ears { hooks, .. }) = host.room.context() else { return };
        match hooks.decide(&host.state.text(), values::member_of(from), ask.text()) {
            Ok(state) if host.state.set(&state) => {}
            Ok(_) => hooks.status(&format!(
                "the state is too large: at most {STATE_MAX} bytes as JSON; the ask changed nothing"
            )),
            Err(_) => hooks.status("an ask failed and changed nothing; the browser's console says how"),
        }
    }

    fn message(&mut self, _: &mut Room<'_, Self>, from: &Member, message: TextMessage) {
        self.0.message(from.seat.0, message.text());
    }

    fn member(&mut self, _: &mut Room<'_, Self>, member: &Member, change: Change) {
        let word = match change {
            Change::Came => "came",
            Change::CameBack => "back",
            Change::Away => "away",
            Change::Left => "left",
            Change::PutOut => "putOut",
            _ => "hosts",
        };
        self.0.member(values::member_of(member), word);
    }
}
