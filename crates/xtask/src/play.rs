//! `play`: the page and the relay, built and served on this machine.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::clock::Stopwatch;
use crate::page::{self, Optimised};
use crate::process::{self, Explain, Failure, Result};
use crate::repo::Repo;
use crate::tools::Toolbox;

/// The longest time until the relay answers its first request.
const READY_WITHIN: Duration = Duration::from_secs(60);
const ASK_EVERY: Duration = Duration::from_millis(30);

/// Builds what is out of date, then becomes the relay, which serves until Ctrl-C.
///
/// # Errors
/// The port is taken, a build fails, or the relay fails.
pub(crate) fn play(repo: &Repo, port: u16, open: bool) -> Result<()> {
    require_free(port)?;
    println!("play: builds the page, then the relay: 5 to 15 minutes the first time, seconds after that");
    page::build(repo, &Toolbox::new(repo)?, Optimised::IfPossible)?;
    println!("play: the page is there, now the relay");
    let relay = build_relay(repo)?;
    // Each port has its own data: the database belongs to one relay at a time.
    let data = repo.target.join("play-data").join(port.to_string());
    std::fs::create_dir_all(&data).explain(data.display())?;
    require_free(port)?;
    let mut serve = Command::new(relay);
    serve.args(["serve", "--listen", &address(port).to_string(), "--data"]).arg(data);
    serve.arg("--web").arg(page::directory(repo)).current_dir(&repo.root);
    start_announcer(port, open)?;
    become_program(&mut serve)
}

/// Compiles the relay in release and returns its program.
///
/// # Errors
/// The relay does not compile.
pub(crate) fn build_relay(repo: &Repo) -> Result<PathBuf> {
    process::run(repo.cargo("build").args(["--release", "--locked", "--package", "samovar-relay"]))?;
    Ok(repo.target.join("release").join(format!("samovar-relay{}", std::env::consts::EXE_SUFFIX)))
}

/// Waits until the relay answers, then prints its address and opens a browser if that is wanted.
///
/// # Errors
/// The relay does not answer in time. A relay that is gone is no error here: it has printed the reason itself.
pub(crate) fn announce(port: u16, relay: u32, open: bool) -> Result<()> {
    let watch = Stopwatch::start();
    while !is_healthy(port) {
        if !is_our_parent(relay) {
            return Ok(());
        }
        if watch.elapsed() > READY_WITHIN {
            return Err(Failure::new(format!("the relay does not answer on {}", address(port))));
        }
        std::thread::sleep(ASK_EVERY);
    }
    let page = format!("http://{}/", address(port));
    println!("\n  Dueling Teapots: {page}\n  Open it in two windows to duel. Ctrl-C ends.\n");
    if open {
        open_browser(&page);
    }
    Ok(())
}

fn address(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

fn require_free(port: u16) -> Result<()> {
    match TcpListener::bind(address(port)) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AddrInUse => Err(Failure::new(format!(
            "port {port} is taken, by another `play` perhaps: end that or choose another with --port N"
        ))),
        Err(error) => {
            Err(Failure::new(format!("port {port} cannot be used ({error}): choose another with --port N")))
        }
    }
}

/// Starts the announcer in a process of its own, because this process becomes the relay.
fn start_announcer(port: u16, open: bool) -> Result<()> {
    let ourselves = std::env::current_exe().explain("this program")?;
    let mut announcer = Command::new(ourselves);
    announcer.args(["announce", &port.to_string(), &std::process::id().to_string()]);
    if open {
        announcer.arg("open");
    }
    announcer.stdin(Stdio::null()).spawn().explain("this program")?;
    Ok(())
}

/// Replaces this process, so that Ctrl-C or a signal to its id ends the relay.
#[cfg(unix)]
fn become_program(command: &mut Command) -> Result<()> {
    use std::os::unix::process::CommandExt;
    let error = command.exec();
    Err(error).explain(process::shown(command))
}

/// Runs the command as a child. Ctrl-C reaches every process of the console.
#[cfg(not(unix))]
fn become_program(command: &mut Command) -> Result<()> {
    process::run(command)
}

#[cfg(unix)]
fn is_our_parent(process: u32) -> bool {
    std::os::unix::process::parent_id() == process
}

#[cfg(not(unix))]
fn is_our_parent(_process: u32) -> bool {
    true
}

fn is_healthy(port: u16) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect_timeout(&address(port), Duration::from_secs(1))?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut status = [0; 12];
        stream.read_exact(&mut status)?;
        Ok(&status == b"HTTP/1.1 200")
    };
    ask().unwrap_or(false)
}

fn open_browser(page: &str) {
    let mut command = match std::env::consts::OS {
        "macos" => Command::new("open"),
        "windows" => Command::new("explorer"),
        _ => Command::new("xdg-open"),
    };
    let started = command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if let Err(error) = started {
        eprintln!("xtask: no browser could be opened ({error}): open {page} yourself");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_is_named_with_its_remedy() {
        let taken = TcpListener::bind(address(0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let message = require_free(port).unwrap_err().to_string();
        assert!(message.contains(&port.to_string()) && message.contains("--port"), "{message}");
    }

    #[test]
    fn a_server_that_answers_200_is_healthy() {
        for (answer, healthy) in [("HTTP/1.1 200 OK\r\n\r\n", true), ("HTTP/1.1 503 Busy\r\n\r\n", false)] {
            let listener = TcpListener::bind(address(0)).unwrap();
            let port = listener.local_addr().unwrap().port();
            let server = std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; 64];
                let _ = stream.read(&mut request).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
            });
            assert_eq!(is_healthy(port), healthy);
            server.join().unwrap();
        }
    }
}
