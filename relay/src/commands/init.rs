//! `init`: the settings and the service of a relay on this machine.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use samovar_relay::settings::{DomainName, Settings};

use super::admin::CONFIG;
use super::machine;

/// The service, for a relay of the standard size.
const UNIT: &str = include_str!("../../../deploy/systemd/samovar-relay.service");
/// The places of the service and of the program.
const UNIT_FILE: &str = "/etc/systemd/system/samovar-relay.service";
const PROGRAM: &str = "/usr/local/bin/samovar-relay";
/// The place of the data, which the service makes.
const DATA: &str = "/var/lib/samovar";

/// The most connections of a relay.
const CONNECTIONS_MAX: u64 = 16_384;
/// The memory of a relay without connections, in bytes (docs/relay.md, "Memory").
const BASE: u64 = 96 * MIB;
/// The most memory of a connection with TLS and data channels, in bytes.
const PER_CONNECTION: u64 = (64 + 40 + 160) * 1_024;
/// The default of the bytes in all queues together, and the least.
const QUEUE: u64 = 256 * MIB;
const QUEUE_MIN: u64 = 16 * MIB;
const MIB: u64 = 1_024 * 1_024;

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The relay's name, like tea.example, which leads to this machine.
    domain: DomainName,
    /// Address at which members reach this machine, and again for one of the other family; found out unless told.
    #[arg(long, value_name = "ADDRESS")]
    address: Vec<IpAddr>,
    /// Where the authority that certifies the name may write to, like ann@tea.example.
    #[arg(long, value_name = "ADDRESS")]
    contact: Option<String>,
    /// Starts the service, now and whenever the machine starts.
    #[arg(long)]
    start: bool,
    /// Replaces files that are there already; settings and service are kept beside, with `.old` behind their names.
    #[arg(long)]
    force: bool,
    /// Writes below this directory, for an image of a machine.
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
}

/// The facts that the files depend on.
struct Facts {
    addresses: Vec<IpAddr>,
    memory: Option<u64>,
}

/// Writes the files.
///
/// # Errors
/// One is there already, or cannot be written.
pub(crate) fn run(args: &InitArgs) -> Result<(), String> {
    let mut said = Vec::new();
    let is_this_machine = args.root == Path::new("/");
    let facts = Facts {
        addresses: addresses(args, is_this_machine, &mut said),
        memory: machine::memory().filter(|_| is_this_machine),
    };
    let has_systemd = !is_this_machine || Path::new("/run/systemd/system").is_dir();
    let settings = settings(args, &facts);
    // A file that this program cannot read would be found only at the start.
    let parsed = settings.parse::<Settings>().map_err(|error| error.to_string())?;
    parsed.resolve().map_err(|error| error.to_string())?;
    let mut files = vec![(CONFIG, settings)];
    if has_systemd {
        files.push((UNIT_FILE, unit(facts.memory)));
    }
    let place = |path: &str| args.root.join(path.trim_start_matches('/'));
    let mut there = files.iter().map(|(path, _)| place(path));
    if !args.force
        && let Some(there) = there.find(|path| path.exists()).or_else(|| another_program(&place(PROGRAM)))
    {
        return Err(format!(
            "{} is there already: --force replaces it, and the settings, and the service. To update the program alone, put \
             it there in place of the old one",
            there.display()
        ));
    }
    install(&place(PROGRAM), &mut said)?;
    for (path, text) in &files {
        let path = place(path);
        if fs::read(&path).is_ok_and(|there| there != text.as_bytes()) {
            let old = path.with_file_name(format!("{}.old", path.file_name().unwrap_or_default().display()));
            fs::rename(&path, &old)
                .map_err(|error| format!("{} cannot be kept ({error})", path.display()))?;
            said.push(format!("Kept {}.", old.display()));
        }
        write(&path, text)
            .map_err(|error| format!("{} cannot be written ({error}); is this root?", path.display()))?;
        said.push(format!("Wrote {}.", path.display()));
    }
    said.push("The firewall must let in 80/tcp, 443/tcp and 443/udp.".to_owned());
    match (has_systemd, args.start && is_this_machine) {
        (true, true) => {
            systemctl(&["daemon-reload"])?;
            systemctl(&["enable", "samovar-relay"])?;
            // It may run already, with other settings.
            systemctl(&["restart", "samovar-relay"])?;
            said.push(format!("The relay runs. Its page: https://{}/", String::from(args.domain.clone())));
        }
        (true, false) => said.push("Start it: systemctl enable --now samovar-relay".to_owned()),
        (false, _) => {
            said.push(format!("There is no systemd here. Start it: {PROGRAM} serve --config {CONFIG}"))
        }
    }
    said.push("Then: samovar-relay admin status".to_owned());
    super::print(format!("{}\n", said.join("\n")).as_bytes());
    Ok(())
}

/// The addresses at which members reach the relay's machine.
fn addresses(args: &InitArgs, is_this_machine: bool, said: &mut Vec<String>) -> Vec<IpAddr> {
    let name = String::from(args.domain.clone());
    if !args.address.is_empty() {
        return args.address.clone();
    }
    if !is_this_machine {
        said.push("The other machine's memory and address are not known here: set connections and queue-bytes, and \
                   give --address, or members get no data channels."
            .to_owned());
        return Vec::new();
    }
    let (named, own) = (machine::addresses_of(&name), machine::own_addresses());
    let chosen = machine::reached_at(&named, &own);
    let public: Vec<_> = named.iter().copied().filter(|address| machine::is_public(*address)).collect();
    let list = |all: &[IpAddr]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
    match (named.is_empty(), public.is_empty()) {
        (true, _) => said.push(format!(
            "{name} leads nowhere yet: make its A and AAAA records lead to this machine, or no certificate comes."
        )),
        (false, true) => said.push(format!(
            "{name} leads to {} on this machine: whether others find it is not known here.",
            list(&named)
        )),
        (false, false) if !public.iter().any(|address| chosen.contains(address)) => said.push(format!(
            "{name} leads to {}, and this machine is {}: unless something passes ports on, no certificate comes.",
            list(&public),
            list(&chosen)
        )),
        (false, false) => said.push(format!("{name} leads to {}.", list(&public))),
    }
    if chosen.is_empty() {
        said.push("This machine's address on the internet is not known, so members get no data channels: give it with \
                   --address."
            .to_owned());
    }
    chosen
}

/// The file of settings.
fn settings(args: &InitArgs, facts: &Facts) -> String {
    let name = String::from(args.domain.clone());
    let mut text = format!(
        "# Written by `samovar-relay init {name}`. All settings: docs/relay.md, or `samovar-relay serve --help`.\n\
         # `samovar-relay serve --config {CONFIG} --check` says what they come to.\n\n\
         # The relay gets certificates for this name, and renews them.\n\
         domain = [\"{name}\"]\n"
    );
    if let Some(contact) = &args.contact {
        text.push_str(&format!("acme-contact = {}\n", quoted(contact)));
    }
    text.push_str(&format!("data = \"{DATA}\"\n"));
    if !facts.addresses.is_empty() {
        let any = if facts.addresses.iter().any(IpAddr::is_ipv6) { "[::]" } else { "0.0.0.0" };
        let list: Vec<_> = facts.addresses.iter().map(|address| format!("\"{address}\"")).collect();
        text.push_str(&format!(
            "\n# Members' data channels, and where members reach them.\nudp = \"{any}:443\"\npublic-address = [{}]\n",
            list.join(", ")
        ));
    }
    text.push_str(&format!(
        "\n# The page alone may speak to the relay. Without this line all pages may: `npm run dev` on your own machine, \
         too.\norigin = [\"https://{name}\"]\n\n\
         # For Prometheus, and the page of its state, on this machine.\nmetrics = \"127.0.0.1:9464\"\n"
    ));
    if let Some((queue, connections)) = facts.memory.map(limits) {
        text.push_str(&format!(
            "\n# What this machine's memory is enough for (docs/relay.md, \"Memory\").\nqueue-bytes = {queue}\nconnections = \
             {connections}\n"
        ));
    }
    text
}

/// The bytes in all queues and the connections for a machine with this memory.
fn limits(memory: u64) -> (u64, u64) {
    let budget = of_machine(memory).saturating_sub(BASE);
    let queue = (budget / 4).clamp(QUEUE_MIN, QUEUE);
    let connections = budget.saturating_sub(queue / 4 * 5) / PER_CONNECTION;
    (queue, connections.clamp(16, CONNECTIONS_MAX))
}

/// The memory that the relay may take of a machine: three quarters.
const fn of_machine(memory: u64) -> u64 {
    memory / 4 * 3
}

/// The service.
fn unit(memory: Option<u64>) -> String {
    let most = memory.map_or(1_024, |memory| of_machine(memory) / MIB).max(64);
    UNIT.replace("MemoryMax=1G", &format!("MemoryMax={most}M"))
}

/// The file in the place of the program, if it is another program than this one.
fn another_program(place: &Path) -> Option<PathBuf> {
    let there = fs::read(place).ok()?;
    let this = std::env::current_exe().and_then(fs::read).ok()?;
    (there != this).then(|| place.to_owned())
}

/// Puts this program where the service looks for it, unless it is there: the service sees no home directories.
fn install(place: &Path, said: &mut Vec<String>) -> Result<(), String> {
    let failed = |error: io::Error| format!("{} cannot be written ({error}); is this root?", place.display());
    let this = std::env::current_exe().map_err(failed)?;
    if fs::canonicalize(place).ok() == fs::canonicalize(&this).ok() {
        return Ok(());
    }
    let bytes = fs::read(&this).map_err(failed)?;
    if fs::read(place).ok().as_ref() != Some(&bytes) {
        // A program that runs cannot be overwritten, and can be replaced.
        let new = place.with_extension("new");
        let directory = place.parent().unwrap_or(Path::new("/"));
        let put = fs::create_dir_all(directory)
            .and_then(|()| fs::write(&new, bytes))
            .and_then(|()| set_mode(&new, 0o755))
            .and_then(|()| fs::rename(&new, place));
        put.map_err(failed)?;
        said.push(format!("Copied this program to {}.", place.display()));
    }
    Ok(())
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    let is_new = !directory.exists();
    fs::create_dir_all(directory)?;
    if is_new {
        // The service's own user reads it, whatever this user keeps from others.
        set_mode(directory, 0o755)?;
    }
    let new = path.with_extension("new");
    fs::write(&new, text)?;
    set_mode(&new, 0o644)?;
    fs::rename(new, path)
}

fn systemctl(words: &[&str]) -> Result<(), String> {
    let shown = words.join(" ");
    match Command::new("systemctl").args(words).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(format!("`systemctl {shown}` failed; `journalctl -u samovar-relay` may say why")),
        Err(error) => Err(format!("`systemctl {shown}` cannot be called ({error})")),
    }
}

/// A text as TOML's.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(domain: &str) -> InitArgs {
        InitArgs {
            domain: domain.parse().expect("a name"),
            address: Vec::new(),
            contact: Some("ann\"@tea.example".to_owned()),
            start: false,
            force: false,
            root: "/".into(),
        }
    }

    #[test]
    fn the_settings_are_valid_on_every_machine() {
        let addresses = [&[][..], &["203.0.113.5"], &["203.0.113.5", "2001:db8::5"], &["2001:db8::5"]];
        for addresses in addresses {
            for memory in [None, Some(128 * MIB), Some(512 * MIB), Some(1 << 30), Some(64 << 30)] {
                let addresses =
                    addresses.iter().map(|address| address.parse().expect("an address")).collect();
                let text = settings(&args("tea.example"), &Facts { addresses, memory });
                let parsed = text.parse::<Settings>().unwrap_or_else(|error| panic!("{error}: {text}"));
                parsed.resolve().unwrap_or_else(|error| panic!("{error}: {text}"));
            }
        }
    }

    #[test]
    fn limits_fit_into_the_memory() {
        for memory in [256 * MIB, 512 * MIB, 1 << 30, 4 << 30, 64 << 30] {
            let (queue, connections) = limits(memory);
            let most = BASE + queue / 4 * 5 + connections * PER_CONNECTION;
            assert!(most <= of_machine(memory), "{memory}: {most}");
        }
        assert_eq!(limits(64 << 30), (QUEUE, CONNECTIONS_MAX));
        assert!(limits(1 << 30).1 > 1_500, "a small server takes many players");
    }

    #[test]
    fn the_service_has_the_memory_of_the_machine() {
        assert!(unit(Some(1 << 30)).contains("\nMemoryMax=768M\n"));
        assert!(unit(None).contains("\nMemoryMax=1024M\n"));
        assert!(UNIT.contains(&format!("ExecStart={PROGRAM} serve --config {CONFIG}\n")));
    }
}
