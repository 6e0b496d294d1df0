//! A place without a network, in which no process outlives its command.
//!
//! Chromium contacts its maker if it can, and a killed driver leaves its browsers behind. Linux namespaces for the
//! network and for processes prevent both. All downloads and builds must be done before.

use std::process::Command;

use crate::process;

/// The shell script that runs a command in the sandbox. The only network is the loopback interface. The script ends
/// with the command's exit code.
const SHELL: [&str; 3] = ["-c", "ip link set lo up && \"$@\"; exit $?", "_"];

/// The way to wrap commands on this machine.
pub(super) struct Sandbox {
    arguments: Option<Vec<&'static str>>,
}

impl Sandbox {
    /// Opens a sandbox if this machine permits one, and otherwise prints that it does not.
    pub(super) fn open() -> Self {
        let mut arguments = vec!["--net", "--pid", "--fork", "--kill-child", "--mount-proc"];
        if !process::is_root() {
            // Only root may make these namespaces. In a user namespace any user may become root.
            arguments.insert(0, "--map-root-user");
        }
        let sandbox = Self { arguments: Some(arguments) };
        if process::code(&mut sandbox.wrap(&Command::new("true"))) == Some(0) {
            return sandbox;
        }
        println!("No name spaces are permitted here: the browsers run with the network of this machine.");
        Self { arguments: None }
    }

    /// The same command, in the sandbox if there is one.
    pub(super) fn wrap(&self, command: &Command) -> Command {
        let mut wrapped = match &self.arguments {
            Some(arguments) => {
                let mut unshare = Command::new("unshare");
                unshare.args(arguments).args(["--", "bash"]).args(SHELL).arg(command.get_program());
                unshare
            }
            None => Command::new(command.get_program()),
        };
        wrapped.args(command.get_args());
        if let Some(directory) = command.get_current_dir() {
            wrapped.current_dir(directory);
        }
        for (variable, value) in command.get_envs() {
            match value {
                Some(value) => wrapped.env(variable, value),
                None => wrapped.env_remove(variable),
            };
        }
        wrapped
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_wrapped_command_keeps_arguments_variables_and_exit_code() {
        let mut command = Command::new("sh");
        command.args(["-c", "test \"$1 $TEA\" = 'a b green' && exit 9", "_", "a b"]).env("TEA", "green");
        assert_eq!(process::code(&mut Sandbox::open().wrap(&command)), Some(9));
        assert_eq!(process::code(&mut Sandbox { arguments: None }.wrap(&command)), Some(9));
    }
}
