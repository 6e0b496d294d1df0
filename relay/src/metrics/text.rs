//! The part of Prometheus' text format (<https://prometheus.io/docs/instrumenting/exposition_formats/>) that the relay
//! needs. Names, labels and their values are constants of this program, so nothing is escaped.

use std::fmt::Write as _;

use super::histogram::Snapshot;

/// A scrape that is being written.
#[derive(Debug, Default)]
pub(super) struct Text(String);

/// The values of one metric.
#[derive(Debug)]
pub(super) struct Values<'a> {
    text: &'a mut String,
    name: &'static str,
}

impl Text {
    /// Begins a metric whose number only grows.
    pub(super) fn counter(&mut self, name: &'static str, help: &str) -> Values<'_> {
        self.begin(name, "counter", help)
    }

    /// Begins a metric whose number grows and falls.
    pub(super) fn gauge(&mut self, name: &'static str, help: &str) -> Values<'_> {
        self.begin(name, "gauge", help)
    }

    /// Writes a histogram of times. The bounds are in microseconds; the text shows seconds.
    pub(super) fn histogram<const N: usize>(
        &mut self,
        name: &'static str,
        help: &str,
        snapshot: &Snapshot<N>,
        bounds: &[u64; N],
    ) {
        self.begin(name, "histogram", help);
        let text = &mut self.0;
        let mut count = 0;
        for (bucket, bound) in snapshot.buckets.iter().zip(bounds) {
            count += bucket;
            line(text, format_args!("{name}_bucket{{le=\"{}\"}} {count}", *bound as f64 / 1e6));
        }
        count += snapshot.above;
        line(text, format_args!("{name}_bucket{{le=\"+Inf\"}} {count}"));
        line(text, format_args!("{name}_sum {}", snapshot.nanos as f64 / 1e9));
        line(text, format_args!("{name}_count {count}"));
    }

    pub(super) fn finish(self) -> String {
        self.0
    }

    fn begin(&mut self, name: &'static str, kind: &str, help: &str) -> Values<'_> {
        line(&mut self.0, format_args!("# HELP {name} {help}"));
        line(&mut self.0, format_args!("# TYPE {name} {kind}"));
        Values { text: &mut self.0, name }
    }
}

impl Values<'_> {
    /// Writes the metric's only value.
    pub(super) fn value(&mut self, value: u64) {
        line(self.text, format_args!("{} {value}", self.name));
    }

    /// Writes a value with labels.
    pub(super) fn with(&mut self, labels: &[(&str, &str)], value: u64) {
        let labels: Vec<_> = labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
        line(self.text, format_args!("{}{{{}}} {value}", self.name, labels.join(",")));
    }
}

fn line(text: &mut String, words: std::fmt::Arguments<'_>) {
    writeln!(text, "{words}").expect("a string takes everything");
}
