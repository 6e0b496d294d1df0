//! The orders that this build has. An order that is left out is of a type without values, so the compiler drops all
//! code for it.

#![cfg_attr(
    any(all(feature = "orders", feature = "lockstep"), not(any(feature = "orders", feature = "lockstep"))),
    expect(dead_code, reason = "either all parts are there, or none is")
)]

use core::convert::Infallible;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

/// A part of the feature `orders`.
#[cfg(feature = "orders")]
pub(super) type InOrders<T> = Present<T>;
#[cfg(not(feature = "orders"))]
pub(super) type InOrders<T> = Absent<T>;

/// A part of the feature `lockstep`.
#[cfg(feature = "lockstep")]
pub(super) type InLockstep<T> = Present<T>;
#[cfg(not(feature = "lockstep"))]
pub(super) type InLockstep<T> = Absent<T>;

/// A part that this build has.
#[derive(Debug)]
pub(super) struct Present<T>(T);

impl<T> Present<T> {
    pub(super) fn new(make: impl FnOnce() -> T) -> Option<Self> {
        Some(Self(make()))
    }
}

impl<T> Deref for Present<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Present<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// A part that this build leaves out.
#[derive(Debug)]
pub(super) struct Absent<T>(Infallible, PhantomData<T>);

impl<T> Absent<T> {
    pub(super) fn new(_: impl FnOnce() -> T) -> Option<Self> {
        None
    }
}

impl<T> Deref for Absent<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self.0 {}
    }
}

impl<T> DerefMut for Absent<T> {
    fn deref_mut(&mut self) -> &mut T {
        match self.0 {}
    }
}
