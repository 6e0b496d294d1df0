//! The developer's commands: `cargo xtask play | test | prove | person | fuzz | bench | mutants | size | tools`.
//!
//! Every command fetches what it needs first and starts no step before the former one has succeeded. What this
//! crate refuses: to change anything outside the build directories and its own cache of tools, and to install
//! system packages without being root.

mod bench;
mod check;
mod cli;
mod client;
mod clock;
mod compress;
mod files;
mod fuzz;
mod mutants;
mod page;
mod person;
mod play;
mod process;
mod repo;
mod seam;
mod size;
mod tools;

use std::process::ExitCode;

use cli::Task;
use process::Result;
use repo::Repo;
use tools::Toolbox;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match cli::parse(&arguments).and_then(perform) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::from(failure.code())
        }
    }
}

fn perform(task: Task) -> Result<()> {
    match task {
        Task::Help => {
            print!("{}", cli::HELP);
            Ok(())
        }
        Task::Play { port, open } => play::play(&Repo::locate()?, port, open),
        Task::Announce { port, relay, open } => play::announce(port, relay, open),
        Task::Check { tier, order } => check::run(&Repo::locate()?, tier, &order),
        Task::ListSteps(tier) => {
            check::list(tier);
            Ok(())
        }
        Task::Person(order) => {
            let repo = Repo::locate()?;
            person::walk(&repo, &Toolbox::new(&repo)?, order)
        }
        Task::Fuzz { target, seconds } => fuzz::fuzz(&Repo::locate()?, target.as_deref(), seconds),
        Task::Bench { arguments } => bench::bench(&Repo::locate()?, &arguments),
        Task::Mutants { order } => mutants::mutants(&Repo::locate()?, &order),
        Task::Size => size::size(&Repo::locate()?),
        Task::Tools => Toolbox::new(&Repo::locate()?)?.print_path(),
    }
}
