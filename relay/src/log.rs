//! Writes the log to the standard error output, in a thread of its own, so that no task waits for the log's reader.

use std::io::{self, Write};
use std::panic;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use samovar_relay::settings::{LogConfig, LogFormat};

/// The most lines that wait; further ones are dropped.
const WAITING: usize = 1_024;
/// The longest time that the program waits at its end until its last lines are written.
const LAST_WORDS_MAX: Duration = Duration::from_secs(1);

/// The log; dropping it writes all lines first.
pub(crate) struct Log {
    lines: Lines,
    /// Disconnects when the thread has ended. No message ever comes.
    ended: Receiver<()>,
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
        Self { lines, ended }
    }

    /// Takes trace events from now on.
    pub(crate) fn trace(&self, config: LogConfig) {
        let LogConfig { filter, format } = config;
        let lines = self.lines.clone();
        let log = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(move || lines.clone())
            .log_internal_errors(false)
            .with_target(false);
        match format {
            LogFormat::Text => log.init(),
            LogFormat::Json => log.json().init(),
        }
    }

    /// Tells a line to the person who started the program.
    pub(crate) fn say(&self, line: String) {
        self.lines.put((line + "\n").into_bytes());
    }
}

impl Drop for Log {
    fn drop(&mut self) {
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
