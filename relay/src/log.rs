//! Writes the log to the standard error output, in a thread of its own, so that no task waits for the log's reader. With
//! the feature `otel`, a collector of OpenTelemetry gets traces beside.

use std::io::{self, Write};
use std::panic;
#[cfg(feature = "otel")]
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use samovar_relay::admin::LogSwitch;
use samovar_relay::settings::{LogConfig, LogFormat};
#[cfg(feature = "otel")]
use samovar_relay::traces::Traces;
use tracing_subscriber::filter::{FilterExt as _, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, fmt, reload};

/// The most lines that wait; further ones are dropped.
const WAITING: usize = 1_024;
/// The longest time that the program waits at its end until its last lines are written.
const LAST_WORDS_MAX: Duration = Duration::from_secs(1);

/// The log; dropping it writes all lines first.
pub(crate) struct Log {
    lines: Lines,
    /// Disconnects when the thread has ended. No message ever comes.
    ended: Receiver<()>,
    #[cfg(feature = "otel")]
    traces: OnceLock<Traces>,
}

/// The queue of lines. A `None` follows the last line.
#[derive(Clone)]
struct Lines(SyncSender<Option<Vec<u8>>>);

impl Log {
    /// Starts the log's thread; panic messages go through it from now on, too.
    pub(crate) fn start() -> Self {
        let (lines, waiting) = sync_channel::<Option<Vec<u8>>>(WAITING);
        let (end, ended) = channel::<()>();
        thread::spawn(move || {
            let _end = end;
            while let Ok(Some(line)) = waiting.recv() {
                // An unwritable log is no reason to stop.
                io::stderr().write_all(&line).ok();
            }
        });
        let lines = Lines(lines);
        let panicked = lines.clone();
        panic::set_hook(Box::new(move |panic| {
            panicked.put(format!("{panic}\n{}\n", std::backtrace::Backtrace::capture()).into_bytes());
        }));
        Self {
            lines,
            ended,
            #[cfg(feature = "otel")]
            traces: OnceLock::new(),
        }
    }

    /// Takes trace events from now on. The switch changes the filter.
    ///
    /// # Errors
    /// The environment names a collector of traces that cannot be used.
    pub(crate) fn trace(&self, config: LogConfig) -> Result<LogSwitch, String> {
        let LogConfig { filter, format } = config;
        let lines = self.lines.clone();
        let text =
            fmt::layer().with_writer(move || lines.clone()).log_internal_errors(false).with_target(false);
        let text = match format {
            LogFormat::Text => text.boxed(),
            LogFormat::Json => text.json().boxed(),
        };
        let (filter, handle) = reload::Layer::new(filter);
        // Spans are for a collector; whatever a reader of the log needs is in its lines.
        let lines_alone = filter_fn(|metadata| metadata.is_event());
        let log = tracing_subscriber::registry().with(text.with_filter(filter.and(lines_alone)));
        #[cfg(feature = "otel")]
        let log = {
            let traces = Traces::start()?.map(|traces| self.traces.get_or_init(|| traces));
            log.with(traces.map(Traces::layer))
        };
        log.init();
        #[cfg(not(feature = "otel"))]
        if std::env::var_os("OTEL_EXPORTER_OTLP_ENDPOINT").is_some() {
            tracing::warn!(
                "OTEL_EXPORTER_OTLP_ENDPOINT has no effect: this program was built without the feature `otel`"
            );
        }
        Ok(LogSwitch::new(move |filter| set(filter, |filter| handle.reload(filter))))
    }

    /// Tells a line to the person who started the program.
    pub(crate) fn say(&self, line: String) {
        self.lines.put((line + "\n").into_bytes());
    }
}

/// Reads a filter, and hands it over.
///
/// # Errors
/// It is no filter.
fn set<E: std::fmt::Display>(
    text: &str,
    reload: impl FnOnce(EnvFilter) -> Result<(), E>,
) -> Result<(), String> {
    let filter = EnvFilter::try_new(text);
    let filter = filter.map_err(|error| format!("“{text}” is no filter of the log ({error}): give a level like info, or directives like warn,samovar_relay=debug"))?;
    reload(filter).map_err(|error| error.to_string())
}

impl Drop for Log {
    fn drop(&mut self) {
        // Its failures are told below.
        #[cfg(feature = "otel")]
        drop(self.traces.take());
        let deadline = Instant::now() + LAST_WORDS_MAX;
        while let Err(TrySendError::Full(_)) = self.lines.0.try_send(None)
            && Instant::now() < deadline
        {
            thread::sleep(Duration::from_millis(10));
        }
        self.ended.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok();
    }
}

impl Lines {
    fn put(&self, line: Vec<u8>) {
        self.0.try_send(Some(line)).ok();
    }
}

/// Each write is a whole line, because the formatter writes a line at once.
impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.put(line.to_vec());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
