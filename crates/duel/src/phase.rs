//! The phases of a teapot after a hit.
//!
//! ```text
//!            struck                2 s later               1.5 s later
//!   Alive ───────────▶ Hit{until} ───────────▶ Shielded{until} ───────────▶ Alive
//!                      off the table,          back at a spawn point,
//!                      cannot drive            drives and fires, cubes break on it
//! ```
//!
//! The host's scoreboard holds the time at which a player was last struck. The phase follows from that and the
//! present time alone. So a hit needs no message of its own and survives a change of host, and an owner cannot make
//! itself invulnerable. The teapot object repeats its phase, because that field changes in the same update as the new
//! position. So all screens move a reappearing teapot at once instead of sliding it across the table.

use crate::codec::{DecodeError, Reader};

/// How long a teapot is off the table after a hit, in microseconds.
pub const OUT_FOR: u64 = 2_000_000;

/// How long cubes break on a teapot that is back, in microseconds.
pub const SHIELDED_FOR: u64 = 1_500_000;

/// The abilities of a teapot, and whether it can be hit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// The teapot drives, fires and can be hit.
    #[default]
    Alive,
    /// The teapot was hit and is off the table until this session time, in microseconds.
    Hit {
        /// When it appears again.
        until: u64,
    },
    /// The teapot drives and fires, but cubes break on it without effect until this session time, in microseconds.
    Shielded {
        /// When it can be hit again.
        until: u64,
    },
}

impl Phase {
    /// The phase at `now` of a teapot that was last struck at `struck_at`, or never.
    pub fn since(struck_at: Option<u64>, now: u64) -> Self {
        let Some(struck_at) = struck_at else { return Self::Alive };
        let back = struck_at.saturating_add(OUT_FOR);
        let vulnerable = back.saturating_add(SHIELDED_FOR);
        if now < back {
            Self::Hit { until: back }
        } else if now < vulnerable {
            Self::Shielded { until: vulnerable }
        } else {
            Self::Alive
        }
    }

    /// The phase at `now` of a teapot that was in this phase at any time before. A hit teapot comes back shielded.
    pub fn at(self, now: u64) -> Self {
        match self {
            Self::Hit { until } if now >= until => {
                Self::Shielded { until: until.saturating_add(SHIELDED_FOR) }.at(now)
            }
            Self::Shielded { until } if now >= until => Self::Alive,
            unchanged => unchanged,
        }
    }

    /// Whether the teapot stands on the table: it drives, fires, and cubes and other teapots bump into it.
    pub fn is_on_table(self) -> bool {
        !matches!(self, Self::Hit { .. })
    }

    /// Whether the hit of a cube that strikes the teapot counts.
    pub fn is_vulnerable(self) -> bool {
        self == Self::Alive
    }

    pub(crate) fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::Alive => out.push(0),
            Self::Hit { until } => {
                out.push(1);
                out.extend(until.to_le_bytes());
            }
            Self::Shielded { until } => {
                out.push(2);
                out.extend(until.to_le_bytes());
            }
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match reader.u8()? {
            0 => Ok(Self::Alive),
            1 => Ok(Self::Hit { until: reader.u64()? }),
            2 => Ok(Self::Shielded { until: reader.u64()? }),
            other => Err(DecodeError::UnknownTag(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn a_struck_teapot_is_out_then_shielded_then_alive() {
        let struck = Some(10_000_000);
        assert_eq!(Phase::since(None, 0), Phase::Alive);
        assert_eq!(Phase::since(struck, 10_000_000), Phase::Hit { until: 12_000_000 });
        assert_eq!(Phase::since(struck, 11_999_999), Phase::Hit { until: 12_000_000 });
        assert_eq!(Phase::since(struck, 12_000_000), Phase::Shielded { until: 13_500_000 });
        assert_eq!(Phase::since(struck, 13_500_000), Phase::Alive);
    }

    #[test]
    fn an_advanced_phase_agrees_with_the_scoreboard() {
        let hit = Phase::since(Some(5_000_000), 5_000_000);
        for now in (5_000_000..10_000_000).step_by(50_000) {
            assert_eq!(hit.at(now), Phase::since(Some(5_000_000), now));
        }
    }

    #[test]
    fn only_alive_teapots_are_vulnerable_and_only_hit_ones_are_off() {
        let (hit, shielded) = (Phase::Hit { until: 1 }, Phase::Shielded { until: 1 });
        assert!(Phase::Alive.is_vulnerable() && Phase::Alive.is_on_table());
        assert!(!hit.is_vulnerable() && !hit.is_on_table());
        assert!(!shielded.is_vulnerable() && shielded.is_on_table());
    }

    #[test]
    fn the_latest_times_do_not_overflow() {
        assert_eq!(Phase::since(Some(u64::MAX), u64::MAX), Phase::Alive);
        assert_eq!(Phase::Hit { until: u64::MAX }.at(u64::MAX), Phase::Alive);
    }
}
