//! Baselines of a state: past states (moments) of the object that both ends have. The state is coded as its
//! difference from a guess that builds on them.

use crate::coder::Baseline;
use crate::past::Moment;
use crate::predict::{Basis, Times, Weights};

/// The weights computed last and the times they are for: a cache of one entry.
pub(crate) type Last = Option<(Times, Weights)>;

/// The frames that a baseline names, newest first.
pub(crate) fn frames_of(frame: u64, backs: [u8; 3], baseline: Baseline) -> [Option<u64>; 3] {
    match baseline {
        Baseline::None => [None; 3],
        Baseline::Own(back) => [frame.checked_sub(u64::from(back)), None, None],
        Baseline::Frames(count) => {
            let mut at = Some(frame);
            let mut index = 0;
            backs.map(|back| {
                at = at.filter(|_| back > 0 && index < count).and_then(|at| at.checked_sub(u64::from(back)));
                index += 1;
                at
            })
        }
    }
}

/// A basis for a guess, from the moments of these frames. `None` when no frame is given, or a frame has no moment.
pub(crate) fn basis<'a>(
    frames: [Option<u64>; 3],
    moment: impl Fn(u64) -> Option<Moment<'a>>,
    sampled: u64,
    last: &mut Last,
) -> Option<Basis<'a>> {
    let first = moment(frames[0]?)?;
    let mut moments = [first; 3];
    let mut count = 0;
    for (slot, frame) in moments.iter_mut().zip(frames.into_iter().flatten()) {
        *slot = moment(frame)?;
        count += 1;
    }
    Some(Basis::new(moments, count, sampled, last))
}
