//! The files of `deploy/`, read by the programs that they are for, as far as these run without an engine for
//! containers. The image is built, and its relay serves.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::Context;
use super::servers;
use crate::dist::{self, Server};
use crate::process::{self, Explain, Failure, Result};
use crate::tools::readers;

/// The variables that the compose files ask their operator for.
const ASKED: [(&str, &str); 3] =
    [("DOMAIN", "tea.example"), ("ADDRESS", "203.0.113.5"), ("GRAFANA_PASSWORD", "a password")];
/// The name of the image and of the container.
const NAME: &str = "samovar-relay";

/// Checks each file whose reader is here. `target/dist` has the relay for servers.
pub(super) fn check(context: &Context<'_>) -> Result<()> {
    let deploy = context.repo.root.join("deploy");
    // A place of its own, laid out like the repository: the target directory may be elsewhere.
    let place = context.repo.target.join("deploy");
    if place.exists() {
        fs::remove_dir_all(&place).explain(place.display())?;
    }
    fs::create_dir_all(place.join("target/dist")).explain(place.display())?;
    for program in readers::ensure()? {
        match program {
            "buildah" => image(&deploy, &dist::folder(context.repo), &place)?,
            "docker-compose" => {
                process::run(Command::new("cp").arg("--recursive").arg(&deploy).arg(&place))?;
                let mut compose = Command::new(program);
                compose.current_dir(place.join("deploy")).envs(ASKED);
                compose.args(["--file", "compose.yml", "--file", "compose.watch.yml", "config", "--quiet"]);
                process::run(&mut compose)?;
            }
            "cloud-init" => {
                let file = deploy.join("cloud-init.yaml");
                process::run(Command::new(program).args(["schema", "--config-file"]).arg(file))?;
            }
            _ => unit(program, &deploy, &dist::folder(context.repo), &place)?,
        }
    }
    Ok(())
}

/// Has systemd read the service, whose program is the one that was built.
fn unit(program: &str, deploy: &Path, dist: &Path, place: &Path) -> Result<()> {
    const SERVICE: &str = "systemd/samovar-relay.service";
    const INSTALLED: &str = "/usr/local/bin/samovar-relay";
    let text = fs::read_to_string(deploy.join(SERVICE)).explain(SERVICE)?;
    if !text.contains(INSTALLED) {
        return Err(Failure::new(format!("{SERVICE} does not start {INSTALLED}")));
    }
    let built = dist.join(Server::Amd64.file_name());
    let file = place.join("samovar-relay.service");
    fs::write(&file, text.replace(INSTALLED, &built.display().to_string())).explain(file.display())?;
    process::run(Command::new(program).arg("verify").arg(file))
}

/// Builds the image, and has its relay serve as the image's user, in the image's root.
fn image(deploy: &Path, dist: &Path, place: &Path) -> Result<()> {
    let buildah = || {
        let mut command = Command::new("buildah");
        for (flag, folder) in [("--root", "images"), ("--runroot", "running")] {
            command.arg(flag).arg(place.join(folder));
        }
        command.args(["--storage-driver", "vfs"]).env("BUILDAH_ISOLATION", "chroot");
        command
    };
    let mut build = buildah();
    build.args(["build", "--format", "docker", "--build-arg", "TARGETARCH=amd64", "--tag", NAME]);
    process::run(build.arg("--file").arg(deploy.join("Dockerfile")).arg(dist))?;
    process::run(buildah().args(["from", "--name", NAME, NAME]))?;
    let inside = || {
        let mut command = buildah();
        command.args(["run", NAME, servers::PROGRAM]);
        command
    };
    let served = servers::serve(&inside);
    process::run(buildah().args(["rm", NAME]))?;
    served
}
