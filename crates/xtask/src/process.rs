//! Runs other programs. When one of them fails, this program fails with the same exit code.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The result of a step that can stop a command.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// The reason why the command stops: a text for the person who ran it, and the exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    code: u8,
}

impl Failure {
    /// A failure of this program itself; exit code 1.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 1 }
    }

    /// The exit code to end with, never 0.
    pub(crate) fn code(&self) -> u8 {
        self.code
    }

    /// The same failure with `what` before its text.
    pub(crate) fn during(self, what: &str) -> Self {
        Self { message: format!("{what}: {}", self.message), ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Turns an error of the operating system into a [`Failure`] that names the file or act.
pub(crate) trait Explain<T> {
    /// Puts `what` before the error's own text.
    fn explain(self, what: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Explain<T> for std::result::Result<T, E> {
    fn explain(self, what: impl fmt::Display) -> Result<T> {
        self.map_err(|error| Failure::new(format!("{what}: {error}")))
    }
}

/// Runs a program to its end with our own standard streams.
///
/// # Errors
/// The program cannot be started or does not succeed; its exit code is passed on.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().explain(shown(command))?;
    outcome(command, status)
}

/// Runs a program and returns its standard output; its error output goes to ours.
///
/// # Errors
/// As [`run`].
pub(crate) fn read(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().explain(shown(command))?;
    outcome(command, output.status)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a program silently and returns its exit code, `None` when it could not be started or was killed.
pub(crate) fn code(command: &mut Command) -> Option<i32> {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().ok()?.code()
}

/// The command as a person would type it, without directories.
pub(crate) fn shown(command: &Command) -> String {
    let mut line = Path::new(command.get_program()).file_name().unwrap_or(command.get_program()).to_owned();
    for argument in command.get_args() {
        line.push(" ");
        line.push(argument);
    }
    line.to_string_lossy().into_owned()
}

fn outcome(command: &Command, status: std::process::ExitStatus) -> Result<()> {
    if status.success() {
        return Ok(());
    }
    // A program that was ended by a signal has no code; 1 means only "failed".
    let code = status.code().and_then(|code| u8::try_from(code).ok()).filter(|&code| code != 0).unwrap_or(1);
    Err(Failure { message: format!("`{}` failed: {status}", shown(command)), code })
}

/// Finds a program in the directories of `path` (the form of the `PATH` variable).
pub(crate) fn find_in(path: &OsStr, program: &str) -> Option<PathBuf> {
    let file = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(path).map(|directory| directory.join(&file)).find(|candidate| is_program(candidate))
}

/// Finds a program on our own `PATH`.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    find_in(&path(), program)
}

/// Our own `PATH`, empty when there is none.
pub(crate) fn path() -> OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

/// Whether this is a file that may be executed.
pub(crate) fn is_program(file: &Path) -> bool {
    let Ok(metadata) = file.metadata() else { return false };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
    }
    #[cfg(not(unix))]
    metadata.is_file()
}

/// Whether this process is root. The program `id` tells it, because the standard library does not.
pub(crate) fn is_root() -> bool {
    let output = Command::new("id").arg("-u").stderr(Stdio::null()).output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn the_exit_code_of_a_child_is_passed_on() {
        let failure = run(Command::new("sh").args(["-c", "exit 7"])).unwrap_err();
        assert_eq!(failure.code(), 7);
        assert!(failure.to_string().contains("sh -c exit 7"), "{failure}");
    }

    #[test]
    fn a_missing_program_is_named() {
        let failure = run(&mut Command::new("samovar-has-no-such-program")).unwrap_err();
        assert!(failure.to_string().contains("samovar-has-no-such-program"), "{failure}");
    }
}
