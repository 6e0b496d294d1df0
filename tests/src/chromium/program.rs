//! The browser's processes: a process group that can be killed.

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
/// WebRTC on the loopback needs a flag, and a granted microphone. Without the microphone a page sees generated names
/// in place of addresses, and no resolver here knows them. A page of another machine cannot be granted a microphone,
/// so another flag switches these names off. Pages draw in software.
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

/// A running browser. Dropping this kills the browser.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) process: Process,
    pub(super) patience: Patience,
    /// The port and the path of its protocol.
    pub(super) port: String,
    pub(super) path: String,
    /// Whether another test may use this browser once the profiles of this test are closed.
    pub(super) is_as_new: bool,
    _directory: Scratch,
}

impl Program {
    /// Starts a browser at this place, with these further flags.
    ///
    /// # Panics
    /// The browser does not start. The message has its output.
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
        // The browser also writes files outside of its profile. In the usual directories the next browser would find
        // them.
        for variable in ["HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"] {
            command.env(variable, directory.path());
        }
        let mut process = Process::tied("Chromium", &command, stderr);
        let file = directory.path().join("DevToolsActivePort");
        let address = wait::until("Chromium listens", START_WITHIN, async || {
            process.assert_running();
            let text = fs::read_to_string(&file).unwrap_or_default();
            // The file has the port and the path, on a line each. It may be only half written.
            match text.split_once('\n') {
                Some((port, path)) if path.len() > 20 => Ok((port.to_owned(), path.trim().to_owned())),
                _ => Err(fs::read_to_string(&log).unwrap_or_default()),
            }
        });
        let (port, path) = address.await;
        Self { process, patience, port, path, is_as_new, _directory: directory }
    }
}
