//! The file of the operator's orders: a line of JSON each, before the order is carried out.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use super::AUDIT;
use super::ask::{Ask, Reply};
use crate::bans::unix_time;

/// The largest file, in bytes. Then it becomes the older one, and a new one begins.
const LENGTH_MAX: u64 = 16 * 1_024 * 1_024;

/// The file, and the older one.
#[derive(Debug)]
pub(super) struct Audit {
    path: PathBuf,
    older: PathBuf,
    /// One line at a time: a failed one is cut off.
    turn: Mutex<()>,
}

/// A line of the file.
#[derive(Serialize)]
struct Line<'a> {
    /// Unix time in seconds.
    time: u64,
    /// The system's number of the user who gave the order.
    user: u32,
    #[serde(flatten)]
    order: &'a Ask,
    /// The effect, in a second line of that order.
    #[serde(skip_serializing_if = "Option::is_none")]
    done: Option<&'a str>,
    /// Why the order was not carried out, in place of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<&'a str>,
}

impl Audit {
    pub(super) fn new(data: &Path) -> Self {
        let path = data.join(AUDIT);
        Self { older: path.with_extension("log.1"), path, turn: Mutex::default() }
    }

    /// The file, for one line more.
    fn open(&self) -> io::Result<(File, u64)> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&self.path)?;
        let mut length = file.metadata()?.len();
        if length >= LENGTH_MAX {
            fs::rename(&self.path, &self.older)?;
            file = options.open(&self.path)?;
            length = 0;
        }
        // Somebody may have restored the file with another mode.
        #[cfg(unix)]
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        Ok((file, length))
    }

    /// Writes a line about an order that is about to be carried out, or about its end. Blocks until it is on disk.
    ///
    /// # Errors
    /// The disk fails. Then the order must not be carried out.
    pub(super) fn note(&self, user: u32, order: &Ask, end: Option<&Reply>) -> io::Result<()> {
        let (done, failed) = match end {
            Some(Reply::Done(text)) => (Some(&**text), None),
            Some(Reply::Error(text)) => (None, Some(&**text)),
            _ => (None, None),
        };
        let mut line = serde_json::to_vec(&Line { time: unix_time(), user, order, done, failed })?;
        line.push(b'\n');
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut file, length) = self.open()?;
        file.write_all(&line).and_then(|()| file.sync_data()).inspect_err(|_| {
            // Half a line would spoil the next one, too.
            file.set_len(length).ok();
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_file_makes_room() {
        let data = std::env::temp_dir().join(format!("samovar-audit-{}", std::process::id()));
        fs::create_dir_all(&data).expect("a directory");
        let path = data.join(AUDIT);
        let large = File::create(&path).expect("a file");
        large.set_len(LENGTH_MAX).expect("sparse");
        let audit = Audit::new(&data);
        audit.note(7, &Ask::Drain, None).expect("writes");
        let text = fs::read_to_string(&path).expect("text");
        assert!(text.contains("drain") && text.lines().count() == 1, "{text}");
        assert_eq!(fs::metadata(data.join("audit.log.1")).expect("kept").len(), LENGTH_MAX);
        fs::remove_dir_all(&data).expect("ours");
    }
}
