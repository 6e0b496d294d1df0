//! The browser's processes: a group of its own that can be killed.

use std::ffi::OsString;
use std::fs;
use std::time::Duration;

use super::Patience;
use crate::place::Place;
use crate::process::Process;
use crate::scratch::Scratch;
use crate::wait;

/// The flags that every browser is started with.
///
/// WebRTC on the loopback needs the flag for it, and a granted microphone: otherwise a page sees names in place of
/// addresses, which no resolver here knows (`TOOLCHAIN.md`). No page of another machine may be granted one, so those
/// names are switched off besides. Drawing is in software.
const FLAGS: [&str; 16] = [
    "--headless",
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-breakpad",
    "--enable-unsafe-swiftshader",
    "--allow-loopback-in-peer-connection",
    "--disable-features=WebRtcHideLocalIpsWithMdns",
    "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream",
    "--window-size=480,360",
    "--remote-debugging-port=0",
];

/// The flags that keep a browser from throttling invisible pages.
const UNTHROTTLED: [&str; 3] = [
    "--disable-renderer-backgrounding",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
];

/// The longest time until a browser has started on a busy machine.
const START_WITHIN: Duration = Duration::from_secs(40);

/// A running browser. Dropping it kills it.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) process: Process,
    pub(super) patience: Patience,
    /// The port and the path of its protocol.
    pub(super) port: String,
    pub(super) path: String,
    /// Whether another test cannot tell it from a fresh one, once the profiles of this test are closed.
    pub(super) is_as_new: bool,
    _directory: Scratch,
}

impl Program {
    /// Starts one at this place, with more flags.
    ///
    /// # Panics
    /// It does not start; with its output.
    pub(super) async fn start(place: &Place, patience: Patience, flags: &[&str], is_as_new: bool) -> Self {
        let directory = Scratch::new();
        let program = std::env::var_os("SAMOVAR_CHROMIUM").unwrap_or_else(|| OsString::from("chromium"));
        let mut user_data = OsString::from("--user-data-dir=");
        user_data.push(directory.path());
        let log = directory.path().join("printed.log");
        let stderr = fs::File::create(&log).expect("the scratch directory is writable");
        let mut command = place.command(program);
        if patience == Patience::Endless {
            command.args(UNTHROTTLED);
        }
        command.args(FLAGS).args(flags).arg(user_data).arg("about:blank");
        // The next browser would find the files that it writes beside its profile.
        for variable in ["HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"] {
            command.env(variable, directory.path());
        }
        let mut process = Process::tied("Chromium", &command, stderr);
        let file = directory.path().join("DevToolsActivePort");
        let address = wait::until("Chromium listens", START_WITHIN, async || {
            process.assert_running();
            let text = fs::read_to_string(&file).unwrap_or_default();
            // The port and the path, a line each; the file may be half written.
            match text.split_once('\n') {
                Some((port, path)) if path.len() > 20 => Ok((port.to_owned(), path.trim().to_owned())),
                _ => Err(fs::read_to_string(&log).unwrap_or_default()),
            }
        });
        let (port, path) = address.await;
        Self { process, patience, port, path, is_as_new, _directory: directory }
    }
}
