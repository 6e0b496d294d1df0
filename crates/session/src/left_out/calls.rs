//! Stands in for calls where the feature `extras` is off.

use samovar_wire::{CloseCode, Time};

use crate::context::Incoming;
use crate::core::Core;
use crate::settle::News;

/// There are no calls, so there is no state.
#[derive(Debug, Default)]
pub(crate) struct CallsState {}

impl CallsState {
    pub(crate) fn handle(&mut self, _: &mut Core, _: Incoming<'_>) -> Result<News, CloseCode> {
        Err(CloseCode::Unexpected)
    }

    pub(crate) fn deadline(&self) -> Time {
        Time::FAR
    }

    pub(crate) fn expire(&mut self, _: &mut Core, _: Time) -> News {
        News::NONE
    }

    pub(crate) fn forget_callers(&mut self, _: &mut Core) {}
}
