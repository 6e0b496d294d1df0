//! Messages of the game: how they are sent, and why one is not taken.

use samovar_order::timestamp;
use samovar_wire::limits::APP_MESSAGE_MAX;
use samovar_wire::object::MessageKind;
use samovar_wire::{Lane, Time};

use crate::{Delivery, Session, Target};

/// Why a message was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// A receiver's queue is full, or too much is under way in the order. Try again later.
    WouldBlock,
    /// The message is larger than its lane or order allows.
    TooLarge,
    /// There is no such lane.
    NoSuchLane,
    /// The session's rules do not name this order; see [`crate::Orders`].
    NotInTheRules,
    /// The time of the message is before this session time. This peer has promised the others to send nothing older.
    TooOld(Time),
    /// The time of the message is too far in the future.
    TooFarAhead,
}

impl core::fmt::Display for SendError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::WouldBlock => "too much is under way",
            Self::TooLarge => "the message is too large",
            Self::NoSuchLane => "there is no such lane",
            Self::NotInTheRules => "the rules of the session do not name this order",
            Self::TooOld(_) => "the message is older than what was promised",
            Self::TooFarAhead => "the message is too far in the future",
        })
    }
}

impl core::error::Error for SendError {}

impl From<samovar_link::SendError> for SendError {
    fn from(error: samovar_link::SendError) -> Self {
        match error {
            samovar_link::SendError::TooLarge => Self::TooLarge,
            samovar_link::SendError::NoSuchLane => Self::NoSuchLane,
            _ => Self::WouldBlock,
        }
    }
}

impl From<samovar_order::SendError> for SendError {
    fn from(error: samovar_order::SendError) -> Self {
        match error {
            samovar_order::SendError::TooLarge => Self::TooLarge,
            _ => Self::WouldBlock,
        }
    }
}

impl From<timestamp::SendError> for SendError {
    fn from(error: timestamp::SendError) -> Self {
        match error {
            timestamp::SendError::TooOld(bound) => Self::TooOld(bound),
            timestamp::SendError::TooFarAhead => Self::TooFarAhead,
            timestamp::SendError::TooLarge => Self::TooLarge,
            _ => Self::WouldBlock,
        }
    }
}

impl Session {
    /// Sends a message of the game by a lane, or in one of the orders that the session's rules name.
    ///
    /// By a lane, each receiver gets messages in the order of that lane, and none twice. Messages under way are lost
    /// with the link. Lanes do not wait for each other, nor for objects: a message in [`Lane::GAME`] may arrive
    /// before an object that it names. A message in [`Lane::SESSION`] arrives after all that this peer told about its
    /// objects before.
    ///
    /// In an order, a message survives the loss of links and hosts, and each receiver gets it in its place. In the
    /// total and time-stamp orders this peer gets its own message, too. A message has at most [`APP_MESSAGE_MAX`]
    /// bytes less 5, in time-stamp order `TIMED_MAX` less 5.
    ///
    /// # Errors
    /// See [`SendError`]. If the queue of one receiver is full in a lane, the receivers after it did not get the
    /// message. With any other error no receiver got it.
    pub fn send(
        &mut self,
        target: Target,
        delivery: impl Into<Delivery>,
        message: &[u8],
    ) -> Result<(), SendError> {
        self.core.stir();
        match delivery.into() {
            Delivery::Lane(lane) => self.send_by_lane(target, lane, message),
            order => {
                self.orders.check(&self.core, order, message)?;
                let to = self.core.receiver(&self.objects, target);
                if to.is_none() && target != Target::All {
                    return Ok(());
                }
                let news = self.orders.say(&self.core, to, order, message)?;
                self.settle(self.core.now, news);
                Ok(())
            }
        }
    }

    fn send_by_lane(&mut self, target: Target, lane: Lane, message: &[u8]) -> Result<(), SendError> {
        if message.len() > APP_MESSAGE_MAX {
            return Err(SendError::TooLarge);
        }
        let mut framed = Vec::with_capacity(message.len() + 1);
        framed.push(MessageKind::App as u8);
        framed.extend_from_slice(message);
        let to = self.core.receiver(&self.objects, target);
        let is_for = |peer| target == Target::All || to == Some(peer);
        for (_, link) in self.core.net.links_mut().filter(|(peer, link)| link.admitted && is_for(*peer)) {
            link.transport.send(lane, &framed)?;
        }
        Ok(())
    }
}
