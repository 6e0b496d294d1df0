//! Times as people read them.

/// A time in seconds, with its two largest units.
#[must_use]
pub fn duration(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, _, 0) => format!("{hours} h"),
        (0, _, _) => format!("{hours} h {minutes} min"),
        (_, 0, _) => format!("{days} d"),
        _ => format!("{days} d {hours} h"),
    }
}

/// A time in seconds for somebody who waits: rounded up to the largest unit that it fills twice.
pub(crate) fn rounded_up(seconds: u64) -> String {
    let units = [(86_400, "days"), (3_600, "hours"), (60, "minutes")];
    let fitting = units.into_iter().find(|(unit, _)| seconds >= 2 * unit);
    fitting
        .map_or_else(|| format!("{seconds} s"), |(unit, word)| format!("{} {word}", seconds.div_ceil(unit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_two_units() {
        let times = [0, 59, 60, 3_599, 3_600, 3_660, 86_400, 90_061].map(duration);
        assert_eq!(times, ["0 s", "59 s", "1 min", "59 min", "1 h", "1 h 1 min", "1 d", "1 d 1 h"]);
    }

    #[test]
    fn a_wait_is_over_after_the_time_told() {
        let times = [100, 121, 7_200, 259_199].map(rounded_up);
        assert_eq!(times, ["100 s", "3 minutes", "2 hours", "3 days"]);
    }
}
