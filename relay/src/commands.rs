//! The program's commands.

pub(crate) mod admin;
pub(crate) mod bots;
pub(crate) mod init;
mod machine;
pub(crate) mod serve;
mod table;

use std::io::{self, Write as _};

/// Prints bytes; a missing reader is no mistake.
pub(crate) fn print(bytes: &[u8]) {
    let mut out = io::stdout();
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}

/// The manual of a program and of its commands, in one page.
///
/// # Errors
/// Never for a writer that takes everything.
pub(crate) fn manual(program: &clap::Command, out: &mut Vec<u8>) -> io::Result<()> {
    let man = clap_mangen::Man::new(program.clone());
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    for command in program.get_subcommands() {
        chapter("samovar-relay", command, out)?;
    }
    man.render_version_section(out)
}

/// The chapter of a command, and those of its own commands.
fn chapter(parent: &str, command: &clap::Command, out: &mut Vec<u8>) -> io::Result<()> {
    let name = format!("{parent} {}", command.get_name());
    let man = clap_mangen::Man::new(command.clone().display_name(&name).bin_name(&name));
    writeln!(out, ".SH {}", name.to_uppercase())?;
    man.render_description_section(out)?;
    man.render_options_section(out)?;
    command.get_subcommands().try_for_each(|command| chapter(&name, command, out))
}
