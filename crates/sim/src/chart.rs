//! A message sequence chart in characters. Each place has a column, and time runs downwards.

use std::fmt::Write as _;

use samovar_wire::{Duration, Time};

use crate::network::Place;
use crate::trace::{Entry, Level, Trace};

/// Characters from one column to the next.
const PITCH: usize = 8;
/// The most rows of a chart.
const ROWS_MAX: usize = 120;

/// Draws what happened in the last `span` before `until`, without packets.
#[must_use]
pub fn chart(trace: &Trace, until: Time, span: Duration) -> String {
    let from = until - span;
    let is_shown = |entry: &&Entry| entry.level == Level::Note && entry.at >= from && entry.at <= until;
    let mut entries: Vec<&Entry> = trace.entries().rev().filter(is_shown).take(ROWS_MAX).collect();
    entries.reverse();
    let mut places: Vec<Place> = entries.iter().flat_map(|e| [Some(e.place), e.to]).flatten().collect();
    places.sort_unstable();
    places.dedup();
    let mut text = format!("{:>11} ", "seconds");
    for place in &places {
        let _ = write!(text, "{:<PITCH$}", place.to_string());
    }
    text.push('\n');
    for entry in entries {
        let row = draw(entry, &places);
        let _ = writeln!(text, "{:11.6} {row} {}", entry.at.as_micros() as f64 / 1e6, entry.what);
    }
    text
}

/// Draws one row: the life lines, and an arrow or a star on them.
fn draw(entry: &Entry, places: &[Place]) -> String {
    let mut row = vec![b' '; places.len() * PITCH];
    (0..places.len()).for_each(|column| row[column * PITCH] = b'|');
    let column = |place: Place| places.iter().position(|&p| p == place).unwrap_or(0) * PITCH;
    let from = column(entry.place);
    match entry.to.map(column) {
        Some(to) if to > from => {
            row[from + 1..to].fill(b'-');
            row[to - 1] = b'>';
        }
        Some(to) if to < from => {
            row[to + 1..from].fill(b'-');
            row[to + 1] = b'<';
        }
        _ => row[from] = b'*',
    }
    row.into_iter().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn arrows_point_from_sender_to_receiver() {
        let mut trace = Trace::new(true);
        let (first, second) = (Place::Player(0), Place::Player(1));
        trace.message(Time::from_micros(1_000_000), first, Place::Relay, || "Claim".to_owned());
        trace.message(Time::from_micros(1_500_000), Place::Relay, second, || "Gone".to_owned());
        trace.packet(Time::from_micros(1_600_000), first, second, || "not shown".to_owned());
        trace.note(Time::from_micros(1_700_000), second, || "crashes".to_owned());
        let chart = chart(&trace, Time::from_micros(2_000_000), Duration::from_millis(1_500));
        let rows: Vec<_> = chart.lines().map(str::trim_end).collect();
        assert_eq!(
            rows,
            [
                "    seconds P0      P1      relay",
                "   1.000000 |-------------->|        Claim",
                "   1.500000 |       |<------|        Gone",
                "   1.700000 |       *       |        crashes",
            ]
        );
    }
}
