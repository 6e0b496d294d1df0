//! The game that stands for every game in JavaScript: its state, messages and asks are texts.

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

/// A message: a text. It takes the way of bytes, so the bound does not count.
#[derive(Message, Clone)]
pub(crate) struct Packet {
    #[field(bound = 1)]
    text: Vec<u8>,
}

/// A request to the host.
#[derive(Message, Clone)]
pub(crate) struct Ask {
    #[field(bound = 250)]
    text: Vec<u8>,
}

impl Ask {
    /// The ask with this text; `None` for one that is too long.
    pub(crate) fn of(text: &str) -> Option<Self> {
        (text.len() <= 250).then(|| Self { text: text.as_bytes().to_vec() })
    }
}

/// Makes the state: a text in parts. One change of the text sends the parts that differ.
macro_rules! parts {
    ($($part:ident)*) => {
        /// The state that the host keeps, as a text.
        #[derive(Value, Clone, Default)]
        pub(crate) struct Json {
            $(#[field(bound = 250)] $part: Vec<u8>,)*
        }

        impl Json {
            const PARTS: usize = [$(stringify!($part)),*].len();

            fn parts(&self) -> [&[u8]; Self::PARTS] {
                [$(&self.$part),*]
            }

            fn parts_mut(&mut self) -> [&mut Vec<u8>; Self::PARTS] {
                [$(&mut self.$part),*]
            }
        }
    };
}

parts!(a b c d e f g h i j k l m n o p);

impl Json {
    /// The text; empty before a host has written one.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.parts().concat()).into_owned()
    }

    /// Writes another text. Returns whether it fits.
    fn set(&mut self, text: &str) -> bool {
        let fits = text.len() <= 250 * Self::PARTS;
        if fits {
            let mut parts = text.as_bytes().chunks(250);
            for part in self.parts_mut() {
                *part = parts.next().map(<[u8]>::to_vec).unwrap_or_default();
            }
        }
        fits
    }
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
    type State = Json;
    type Message = Packet;
    type Ask = Ask;
    type World = ();

    fn schemas() -> Schemas {
        Schemas::new()
    }

    fn shapes(_: &mut Shape) {}

    fn foreign_world(context: &Context, seed: u64) -> Option<Box<dyn Steps>> {
        let ears = context.downcast_ref::<Ears>().filter(|ears| ears.has_world)?;
        Some(Box::new(JsWorld::new(ears.hooks.clone(), seed)))
    }

    fn message_from(bytes: &[u8]) -> Option<Packet> {
        Some(Packet { text: bytes.to_vec() })
    }
}

impl Game for JsGame {
    fn decide(host: &mut Hosting<'_, '_, Self>, from: &Member, ask: Ask) {
        let Some(Ears { hooks, .. }) = host.room.context() else { return };
        let Ok(ask) = String::from_utf8(ask.text) else { return };
        match hooks.decide(&host.state.text(), values::member_of(from), &ask) {
            Ok(state) if host.state.set(&state) => {}
            Ok(_) => {
                hooks.status("the state is too large: at most 4,000 bytes as JSON; the ask changed nothing")
            }
            Err(_) => hooks.status("an ask failed and changed nothing; the browser's console says how"),
        }
    }

    fn message(&mut self, _: &mut Room<'_, Self>, from: &Member, message: Packet) {
        if let Ok(text) = String::from_utf8(message.text) {
            self.0.message(from.seat.0, &text);
        }
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
