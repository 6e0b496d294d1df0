//! The relay's program for servers: it is small, and runs where there is nothing else.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::{Context, Outcome};
use crate::dist::{self, Server};
use crate::process::{self, Explain, Failure, Result};

/// The program in its root.
pub(super) const PROGRAM: &str = "/samovar-relay";

pub(super) fn check(context: &Context<'_>) -> Result<Outcome> {
    dist::build(context.repo, &context.toolbox, &[Server::Amd64])?;
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok(Outcome::Skipped("the program is for Linux on x86-64"));
    }
    let program = dist::folder(context.repo).join(Server::Amd64.file_name());
    let root = context.repo.target.join("empty-root");
    if root.exists() {
        fs::remove_dir_all(&root).explain(root.display())?;
    }
    fs::create_dir_all(root.join("data")).explain(root.display())?;
    fs::copy(&program, root.join(PROGRAM.trim_start_matches('/'))).explain(program.display())?;
    let version = process::read(inside(&root).arg("--version"))?;
    // Without a repository around, the build has no commit.
    if context.repo.root.join(".git").exists() && !version.contains('(') {
        return Err(Failure::new(format!("the version has no commit: {version}")));
    }
    serve(&|| inside(&root))?;
    println!("It serves its page, and answers its operator, in an empty root.");
    Ok(Outcome::Done)
}

/// Has the relay serve, and looks at what it does. `inside` runs the program in its root, where its data is in `/data`.
pub(super) fn serve(inside: &dyn Fn() -> Command) -> Result<()> {
    let mut serve = inside();
    serve.args(["serve", "--listen", "127.0.0.1:0", "--data", "/data", "--until-input-ends"]);
    let mut relay = serve.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().explain(PROGRAM)?;
    let checked = look_at(&mut relay, inside);
    // The relay ends with its input.
    drop(relay.stdin.take());
    let ended = relay.wait().explain(PROGRAM)?;
    checked?;
    if ended.success() { Ok(()) } else { Err(Failure::new(format!("the relay ended with {ended}"))) }
}

/// The program with an empty root around it.
fn inside(root: &Path) -> Command {
    let mut command = Command::new("unshare");
    if !process::is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.arg(format!("--root={}", root.display())).arg(PROGRAM).env_clear();
    // Where the wrapper itself is found.
    command.env("PATH", process::path());
    command
}

fn look_at(relay: &mut Child, inside: &dyn Fn() -> Command) -> Result<()> {
    let mut line = String::new();
    let stdout = relay.stdout.take().ok_or_else(|| Failure::new("the relay has no output"))?;
    BufReader::new(stdout).read_line(&mut line).explain(PROGRAM)?;
    let address = line.trim().strip_prefix("listening on http://").and_then(|rest| rest.strip_suffix('/'));
    let address = address.ok_or_else(|| Failure::new(format!("not the promised line: {line:?}")))?;
    let page = get(address, "/")?;
    let module = page.split('"').find(|word| word.ends_with(".wasm"));
    let module = module.ok_or_else(|| Failure::new("the page names no module"))?;
    if !get(address, &format!("/{}", module.trim_start_matches(['.', '/'])))?.starts_with("HTTP/1.1 200") {
        return Err(Failure::new("the page's module is missing"));
    }
    process::run(inside().args(["health", "--data", "/data"]))?;
    process::run(inside().args(["admin", "--data", "/data", "status"]))
}

/// The answer to a `GET`, with its head, as far as it is text.
fn get(address: &str, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address).explain(address)?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).explain(address)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).explain(address)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
