//! Figures, as a table to read or as lines of JSON to keep.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::goals;

/// One figure.
#[derive(Clone, Debug)]
pub struct Row {
    /// The stable name of the bench.
    pub bench: String,
    /// Samovar, or another library with its version.
    pub subject: String,
    /// The stable name of the metric.
    pub metric: &'static str,
    /// The figure.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
}

impl Row {
    /// The figure as one JSON object on one line.
    #[must_use]
    pub fn json(&self) -> String {
        let Self { bench, subject, metric, value, unit } = self;
        // JSON has no infinity; a figure that does not exist is null.
        let value = if value.is_finite() { format!("{value}") } else { "null".to_owned() };
        // None of the names has a character that JSON would need escaped.
        format!(
            r#"{{"bench":"{bench}","subject":"{subject}","metric":"{metric}","value":{value},"unit":"{unit}"}}"#
        )
    }
}

/// Collects the figures as the benches make them.
#[derive(Debug)]
pub struct Report {
    is_json: bool,
    rows: Vec<Row>,
}

impl Report {
    /// An empty report.
    #[must_use]
    pub fn new(is_json: bool) -> Self {
        Self { is_json, rows: Vec::new() }
    }

    /// Takes one figure. As JSON it is printed at once.
    pub fn add(&mut self, row: Row) {
        if self.is_json {
            println!("{}", row.json());
        }
        self.rows.push(row);
    }

    /// Prints the tables of one bench, with metrics across and subjects down. Each figure of another library has its
    /// ratio to Samovar's beside it.
    pub fn print(&self, bench: &str) {
        if !self.is_json {
            print!("{}", table(bench, &self.rows));
        }
    }
}

fn table(bench: &str, rows: &[Row]) -> String {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.bench == bench).collect();
    let mut ours: BTreeMap<&str, f64> = BTreeMap::new();
    let (mut subjects, mut metrics): (Vec<&str>, Vec<(&str, &str)>) = (Vec::new(), Vec::new());
    for row in &rows {
        if row.subject.starts_with("samovar") {
            ours.entry(row.metric).or_insert(row.value);
        }
        if !subjects.contains(&row.subject.as_str()) {
            subjects.push(&row.subject);
        }
        if !metrics.contains(&(row.metric, row.unit)) {
            metrics.push((row.metric, row.unit));
        }
    }
    let width = subjects.iter().map(|name| name.len()).max().unwrap_or(0).max(8);
    let mut text = format!("\n{bench}\n");
    // A terminal holds four columns beside the names.
    for metrics in metrics.chunks(4) {
        let _ = write!(text, "  {:width$}", "");
        for (metric, unit) in metrics {
            let _ = write!(text, "  {:>32}", format!("{metric} [{unit}]"));
        }
        text.push('\n');
        for subject in &subjects {
            let _ = write!(text, "  {subject:width$}");
            for (metric, _) in metrics {
                let row = rows.iter().find(|row| row.subject == *subject && row.metric == *metric);
                let cell = row.map(|row| cell(row, ours.get(metric).copied())).unwrap_or_default();
                let _ = write!(text, "  {cell:>32}");
            }
            text.push('\n');
        }
    }
    text
}

fn cell(row: &Row, ours: Option<f64>) -> String {
    let value = shown(row.value);
    if let Some(goal) = goals::goal_of(row) {
        let verdict = if row.value <= goal.at_most { "met" } else { "MISSED" };
        return format!("{value} ({verdict}: {})", shown(goal.at_most));
    }
    match ours {
        Some(ours) if ours > 0.0 && !row.subject.starts_with("samovar") => {
            format!("{value} ({:.1}x)", row.value / ours)
        }
        _ => value,
    }
}

fn shown(value: f64) -> String {
    match value {
        v if !v.is_finite() => "never".to_owned(),
        v if v == v.trunc() && v.abs() < 1e12 => format!("{v}"),
        v if v.abs() >= 100.0 => format!("{v:.0}"),
        v if v.abs() >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(subject: &str, value: f64) -> Row {
        let metric = "bytes_per_update";
        Row { bench: "w_smooth".to_owned(), subject: subject.to_owned(), metric, value, unit: "B" }
    }

    #[test]
    fn a_figure_is_one_line_of_json() {
        let expected = r#"{"bench":"w_smooth","subject":"renet 2.0.1","metric":"bytes_per_update","value":47.5,"unit":"B"}"#;
        assert_eq!(row("renet 2.0.1", 47.5).json(), expected);
    }

    #[test]
    fn the_table_shows_ratios_and_goals() {
        let text = table("w_smooth", &[row("samovar 0.1.0", 3.5), row("renet 2.0.1", 35.0)]);
        assert!(text.contains("3.50 (met: 4)") && text.contains("35 (10.0x)"), "{text}");
        let text = table("w_smooth", &[row("samovar 0.1.0", 4.5)]);
        assert!(text.contains("4.50 (MISSED: 4)"), "{text}");
    }
}
