//! Messages of the game: whom they are for, and why one is not taken.

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
    /// The message is larger than its way allows.
    TooLarge,
    /// There is no such lane.
    NoSuchLane,
    /// The session's rules do not name this order; see [`crate::Orders`].
    NotInTheRules,
    /// What the message tells of happened before this session time, which others have been promised to hear nothing from.
    TooOld(Time),
    /// What it tells of is too far in the future.
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
    /// By a lane it comes in the order of that lane per receiver, and to nobody twice; what was under way is lost with the
    /// link. Lanes do not wait for each other, nor for objects: what a message in [`Lane::GAME`]
    /// speaks of may not be here yet. In [`Lane::SESSION`] it comes behind all that this peer said about its objects before.
    ///
    /// In an order it survives links and hosts, and everybody whom it is for gets it in its place, in the total and
    /// time-stamp orders this peer, too. It has at most [`APP_MESSAGE_MAX`] bytes less 5, in time-stamp order `TIMED_MAX` less 5.
    ///
    /// # Errors
    /// See [`SendError`]. By a lane, when a receiver's queue is full nobody after it got the message; otherwise nobody did.
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
