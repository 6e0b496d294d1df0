#![doc = include_str!("../guide/first-room.md")]

#[doc = include_str!("../guide/objects.md")]
pub mod objects {}

#[doc = include_str!("../guide/messages.md")]
pub mod messages {}

#[doc = include_str!("../guide/lockstep.md")]
pub mod lockstep {}

#[doc = include_str!("../guide/rooms.md")]
pub mod rooms {}

#[doc = include_str!("../guide/survival.md")]
pub mod survival {}

#[doc = include_str!("../guide/page.md")]
pub mod page {}

#[doc = include_str!("../guide/loop.md")]
pub mod own_loop {}

#[doc = include_str!("../guide/faults.md")]
pub mod faults {}

#[doc = include_str!("../guide/typescript.md")]
pub mod typescript {}

#[doc = include_str!("../guide/moving.md")]
pub mod moving {}

#[doc = include_str!("../guide/live.md")]
pub mod live {}
