//! The developer's commands: `cargo xtask play | test | prove | person | picture | fuzz | bench | mutants | size | book |
//! js | npm | dist | tools`.
//!
//! Every command first fetches the tools that it needs, and starts no step before the previous one has succeeded. This
//! crate never changes anything outside the build directories and its own cache of tools, and never installs system
//! packages without being root.

mod bench;
mod book;
mod check;
mod cli;
mod client;
mod clock;
mod compress;
mod dist;
mod files;
mod fuzz;
mod js;
mod mutants;
mod page;
mod person;
mod picture;
mod play;
mod process;
mod repo;
mod seam;
mod size;
mod tools;

use std::process::ExitCode;

use check::Tier;
use clap::Parser as _;
use cli::Task;
use process::Result;
use repo::Repo;
use tools::Toolbox;

fn main() -> ExitCode {
    match perform(Task::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::from(failure.code())
        }
    }
}

fn perform(task: Task) -> Result<()> {
    match task {
        Task::Play { port, open } => play::play(&Repo::locate()?, port, open),
        Task::Announce { port, relay, open } => play::announce(port, relay, open.is_some()),
        Task::Test { list: true, .. } => {
            check::list(Tier::Test);
            Ok(())
        }
        Task::Test { only, keep_going, .. } => {
            check::run(&Repo::locate()?, Tier::Test, &check::Order { only, keep_going, within: None })
        }
        Task::Prove { list: true, minutes, .. } => {
            check::list(Tier::Prove { minutes });
            Ok(())
        }
        Task::Prove { minutes, within, only, .. } => {
            // The search for unknown bugs does not stop at the first one.
            check::run(
                &Repo::locate()?,
                Tier::Prove { minutes },
                &check::Order { only, keep_going: true, within },
            )
        }
        Task::Person { seed, minutes } => {
            let repo = Repo::locate()?;
            person::walk(&repo, &Toolbox::new(&repo)?, person::Order { seed, minutes })
        }
        Task::Picture => {
            let repo = Repo::locate()?;
            picture::take(&repo, &Toolbox::new(&repo)?)
        }
        Task::Fuzz { target, seconds } => fuzz::fuzz(&Repo::locate()?, target.as_deref(), seconds),
        Task::Bench { arguments } => bench::bench(&Repo::locate()?, &arguments),
        Task::Mutants { check: true, .. } => mutants::mutants(&Repo::locate()?, &mutants::Order::Check),
        Task::Mutants { list: true, .. } => mutants::mutants(&Repo::locate()?, &mutants::Order::List),
        Task::Mutants { names, seeds, .. } => {
            mutants::mutants(&Repo::locate()?, &mutants::Order::Find { only: names, seeds })
        }
        Task::Book => {
            let repo = Repo::locate()?;
            let book = book::build(&repo, &Toolbox::new(&repo)?)?;
            println!("{}", book.join("index.html").display());
            Ok(())
        }
        Task::Npm => {
            let repo = Repo::locate()?;
            println!("{}", js::release(&repo, &Toolbox::new(&repo)?)?.display());
            Ok(())
        }
        Task::Js => {
            let repo = Repo::locate()?;
            println!("{}", js::build(&repo, &Toolbox::new(&repo)?)?.display());
            Ok(())
        }
        Task::Dist { server } => {
            let repo = Repo::locate()?;
            let servers = if server.is_empty() { dist::Server::ALL.to_vec() } else { server };
            dist::build(&repo, &Toolbox::new(&repo)?, &servers)
        }
        Task::Size => size::size(&Repo::locate()?),
        Task::Tools => Toolbox::new(&Repo::locate()?)?.print_path(),
    }
}
