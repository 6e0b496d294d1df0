//! The orders in which all members hear messages (docs/sources.md, "Fujimoto").

use samovar_session::{Causality, Delivery, Rules};
use samovar_wire::Time;

use crate::error::RoomError;
use crate::game::Agreed;
use crate::room::{Room, pack};

/// An order in which all members hear the messages of [`Room::tell_in`]. A game names those that it uses in
/// [`game!`](crate::game), as `orders = (Total, Time)`. Messages in an order survive the loss of hosts and connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// A member hears no answer before the question. Messages that do not depend on each other come in any order, and at
    /// once. The sender does not hear its own.
    Causal,
    /// All members hear the same messages in the same order, the sender included. A message takes the way over the host.
    Total,
    /// As `Total`, and not before the host and its backups have the message: no single failure undoes one that was heard.
    Stable,
    /// In the order of the times at which things happened, so that a near sender does not come first. The sender hears its
    /// own, too. Each member promises the others now and then that it has nothing older, which costs traffic.
    Time,
}

/// Adds the orders to the rules of a game.
pub(crate) fn add(rules: &mut Rules, orders: &[Order]) {
    for order in orders {
        match order {
            Order::Causal => _ = rules.orders.causal.get_or_insert(Causality::Vector),
            Order::Total | Order::Stable => rules.orders.total = true,
            Order::Time => _ = rules.orders.timestamp.get_or_insert_default(),
        }
    }
}

/// The delivery of a message in this order, and at this time if the order is that of time.
pub(crate) const fn delivery(order: Order, time: Time) -> Delivery {
    match order {
        Order::Causal => Delivery::Causal,
        Order::Total => Delivery::Total,
        Order::Stable => Delivery::Stable,
        Order::Time => Delivery::Timestamp(time),
    }
}

impl<G: Agreed> Room<'_, G> {
    /// Tells all members something, in an order that the game names. They hear it in
    /// [`Game::message`](crate::Game::message). A message in the order of time has the present time.
    ///
    /// # Errors
    /// `NotInTheRules` for an order that the game does not name; `NotJoined`, `WouldBlock`.
    pub fn tell_in(&mut self, order: Order, message: G::Message) -> Result<(), RoomError> {
        let time = self.session()?.session_time(self.now);
        self.say(order, time, message)
    }

    /// Tells all members of something that happens at this session time, in seconds, in the order of time: now, or up to two
    /// seconds ahead. A member that has heard of later things when the message arrives hears it in
    /// [`Game::late`](crate::Game::late).
    ///
    /// # Errors
    /// `NotInTheRules`, also for a time further ahead, and for one that is older than what this program has promised to
    /// the others; `NotJoined`, `WouldBlock`.
    pub fn tell_at(&mut self, seconds: f64, message: G::Message) -> Result<(), RoomError> {
        self.session()?;
        // Saturates, and NaN is zero.
        self.say(Order::Time, Time::from_micros((seconds * 1e6) as u64), message)
    }

    fn say(&mut self, order: Order, time: Time, message: G::Message) -> Result<(), RoomError> {
        // The session refuses an order that a dynamic game does not name.
        if !G::IS_DYNAMIC && !G::ORDERS.contains(&order) {
            return Err(RoomError::NotInTheRules);
        }
        let delivery = delivery(order, time);
        self.inner.warn_beyond(&message);
        Ok(self.session_mut()?.send(samovar_session::Target::All, delivery, &pack(&message))?)
    }
}
