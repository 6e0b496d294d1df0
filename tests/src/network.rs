//! A network for one test: name spaces on a bridge, and rules that drop packets between them on request.
//!
//! Each place is a network name space with one address. Another name space, the switch, holds the bridge that joins
//! them and the rules that drop packets. A rule has a set of pairs of addresses, from and to, so each direction can
//! be cut alone. A dropped packet vanishes on the way: neither end is told, as with a pulled cable.
//!
//! ```text
//!   near place --- switch --- router --- place at home       the router translates addresses
//!                     |
//!                     +------ gateway =/=/= far place        the line delays and loses packets
//! ```
//!
//! A name space lives as long as a process in it. The first process in each reads a stream of the test's process
//! until its end. So the network ends with the test, even if the test ends by a panic or by `SIGKILL`. The network
//! changes nothing outside of the name spaces, and gives them no names.

mod conntrack;
mod line;
mod space;

use std::net::Ipv4Addr;
use std::process::Command;

use crate::place::Place;
pub use line::Line;
use space::{Space, run};

/// The switch's rules. For each pair of addresses in a set they drop the packets from the first address to the
/// second: all packets, or only UDP.
const RULES: &str = "table bridge samovar {
  set severed { type ipv4_addr . ipv4_addr; }
  set without_udp { type ipv4_addr . ipv4_addr; }
  chain forward {
    type filter hook forward priority 0; policy accept;
    ip saddr . ip daddr @severed drop
    ip protocol udp ip saddr . ip daddr @without_udp drop
  }
}";

/// The address translation of a router that keeps the sender's port, for all receivers.
const KEEPING: &str = "masquerade";
/// The address translation of a router that takes another port for each receiver.
const DRAWING: &str = "masquerade to :20000-29999 random";
/// The address translation after [`Network::rebind`].
const REBOUND: &str = "masquerade to :30000-39999 random";

/// The way in which a place is joined to the others.
#[derive(Clone, Copy, Debug)]
pub enum Access {
    /// On the switch itself.
    Near,
    /// Behind a router of its own. Seen from outside, the place has the router's address, and it gets packets only
    /// from machines that it has sent packets to.
    Home,
    /// Behind a router as with [`Access::Home`], which takes another port for each machine that the place sends
    /// packets to. So the address that one machine sees is of no use to another.
    StrictHome,
    /// Behind a slow line, with an address that all others can reach.
    Far(Line),
}

/// Some places, and the switch between them. Dropping this removes all of them.
#[derive(Debug)]
pub struct Network {
    switch: Space,
    /// The name spaces of the places, held to keep them alive.
    spaces: Vec<Space>,
    places: Vec<Place>,
    /// The routers and gateways of the places that have one.
    routers: Vec<Option<Space>>,
}

impl Network {
    /// A network of `count` near places.
    ///
    /// # Errors
    /// A text that names the program or the permission that this machine lacks.
    ///
    /// # Panics
    /// As [`Network::of`].
    pub fn open(count: u8) -> Result<Self, String> {
        Self::of(&vec![Access::Near; usize::from(count)])
    }

    /// A network of these places, up to 100.
    ///
    /// # Errors
    /// A text that names the program or the permission that this machine lacks.
    ///
    /// # Panics
    /// A step fails although the machine permits all of them.
    pub fn of(places: &[Access]) -> Result<Self, String> {
        assert!(places.len() <= 100, "addresses end with a byte");
        for program in ["unshare", "nsenter", "ip", "nft"] {
            if run(Command::new(program).arg("-V")).is_err() {
                return Err(format!(
                    "{program} is missing (Debian: apt-get install util-linux iproute2 nftables)"
                ));
            }
        }
        let switch = Space::open()?;
        switch.ip("link add bridge type bridge forward_delay 0 stp_state 0")?;
        switch.ip("link set bridge up")?;
        switch.nft(RULES)?;
        let mut network = Self { switch, spaces: Vec::new(), places: Vec::new(), routers: Vec::new() };
        for (number, &access) in (1..).zip(places) {
            network.add(number, access).unwrap_or_else(|error| panic!("place {number}: {error}"));
        }
        Ok(network)
    }

    fn add(&mut self, number: u8, access: Access) -> Result<(), String> {
        let space = Space::open()?;
        let (address, router) = match access {
            Access::Near => {
                self.plug(&space, number, outer(number))?;
                // A browser offers the address of its default route to other peers.
                space.ip("route add default dev uplink")?;
                (outer(number), None)
            }
            Access::Home | Access::StrictHome => {
                let router = Space::open()?;
                self.plug(&router, number, outer(number))?;
                let address = home(&space, &router, number)?;
                translate(&router, if matches!(access, Access::Home) { KEEPING } else { DRAWING })?;
                (address, Some(router))
            }
            Access::Far(line) => {
                let gateway = Space::open()?;
                self.plug(&gateway, number, Ipv4Addr::new(10, 77, 0, 100 + number))?;
                far(&space, &gateway, (outer(number), line))?;
                (outer(number), Some(gateway))
            }
        };
        self.places.push(Place::apart(address, space.file()));
        self.spaces.push(space);
        self.routers.push(router);
        Ok(())
    }

    /// Plugs a name space into the switch, under this address.
    fn plug(&self, space: &Space, number: u8, address: Ipv4Addr) -> Result<(), String> {
        let (peer, port) = (space.id(), format!("port{number}"));
        self.switch.ip(&format!("link add {port} type veth peer name uplink netns {peer}"))?;
        self.switch.ip(&format!("link set {port} master bridge up"))?;
        space.ip(&format!("address add {address}/24 dev uplink"))?;
        space.ip("link set uplink up")
    }

    /// The place of this number, from 0.
    ///
    /// # Panics
    /// There is no such place.
    #[must_use]
    pub fn place(&self, number: usize) -> &Place {
        &self.places[number]
    }

    /// Gives a near place a further address, beside its own.
    ///
    /// # Panics
    /// The system refuses.
    pub fn add_address(&self, number: usize, address: Ipv4Addr) {
        let added = self.spaces[number].ip(&format!("address add {address}/24 dev uplink"));
        added.unwrap_or_else(|error| panic!("{error}"));
    }

    /// Drops, from now on, all packets from the places `from` to the places `to`.
    ///
    /// # Panics
    /// The switch refuses.
    pub fn cut(&self, from: &[usize], to: &[usize]) {
        self.change("add", "severed", from, to);
    }

    /// Drops, from now on, all packets between the places `one` and the places `other`, in both directions.
    ///
    /// # Panics
    /// The switch refuses.
    pub fn sever(&self, one: &[usize], other: &[usize]) {
        self.cut(one, other);
        self.cut(other, one);
    }

    /// Ends the cuts between the places `one` and the places `other`, in both directions.
    ///
    /// # Panics
    /// The switch refuses, for instance because only one direction was cut.
    pub fn join(&self, one: &[usize], other: &[usize]) {
        self.change("delete", "severed", one, other);
        self.change("delete", "severed", other, one);
    }

    /// Drops all UDP between any two of these from now on.
    ///
    /// # Panics
    /// The switch refuses.
    pub fn block_udp(&self, among: &[usize]) {
        self.change("add", "without_udp", among, among);
    }

    /// Ends all cuts, and lets UDP through again.
    ///
    /// # Panics
    /// The switch refuses.
    pub fn heal(&self) {
        for set in ["severed", "without_udp"] {
            self.command(&format!("flush set bridge samovar {set}"));
        }
    }

    /// Lets the router of this place forget all its connections, and use other ports.
    ///
    /// # Panics
    /// The place has no router, or the router refuses.
    pub fn rebind(&self, number: usize) {
        let router = self.routers[number].as_ref().expect("a place with a router");
        translate(router, REBOUND).unwrap_or_else(|error| panic!("{error}"));
        conntrack::flush(router).unwrap_or_else(|error| panic!("conntrack: {error}"));
    }

    fn change(&self, how: &str, set: &str, from: &[usize], to: &[usize]) {
        let pairs = from.iter().flat_map(|&one| to.iter().map(move |&other| (one, other)));
        let address = |number: usize| outer(u8::try_from(number + 1).expect("up to 100"));
        let pairs = pairs.filter(|(one, other)| one != other);
        let pairs: Vec<_> =
            pairs.map(|(one, other)| format!("{} . {}", address(one), address(other))).collect();
        if !pairs.is_empty() {
            self.command(&format!("{how} element bridge samovar {set} {{ {} }}", pairs.join(", ")));
        }
    }

    fn command(&self, command: &str) {
        self.switch.nft(command).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// The address of a place, as the other places see it.
const fn outer(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, number)
}

/// Puts a place behind a router that translates addresses. Returns the place's address there.
fn home(space: &Space, router: &Space, number: u8) -> Result<Ipv4Addr, String> {
    let [inside, own] = [1, 2].map(|last| Ipv4Addr::new(10, 88, number, last));
    router.ip(&format!("link add home type veth peer name uplink netns {}", space.id()))?;
    router.ip(&format!("address add {inside}/24 dev home"))?;
    router.ip("link set home up")?;
    router.set("ip_forward")?;
    space.ip(&format!("address add {own}/24 dev uplink"))?;
    space.ip("link set uplink up")?;
    space.ip(&format!("route add default via {inside}"))?;
    Ok(own)
}

/// Sets the address translation of a router, and drops incoming packets that the place did not ask for.
fn translate(router: &Space, how: &str) -> Result<(), String> {
    router.nft(&format!(
        "table ip samovar
delete table ip samovar
table ip samovar {{
  chain postrouting {{
    type nat hook postrouting priority 100;
    oifname uplink meta l4proto {{ tcp, udp }} {how}
    oifname uplink masquerade
  }}
  chain input {{
    type filter hook input priority 0;
    iifname uplink ct state new drop
  }}
}}"
    ))
}

/// Puts a place behind a line. A gateway on the switch answers for the place's address.
fn far(space: &Space, gateway: &Space, (address, line): (Ipv4Addr, Line)) -> Result<(), String> {
    line.lay(space, gateway)?;
    gateway.ip(&format!("link set {} up", line::DEVICE))?;
    gateway.ip(&format!("route add {address} dev {}", line::DEVICE))?;
    gateway.set("ip_forward")?;
    gateway.set("conf/uplink/proxy_arp")?;
    space.ip(&format!("address add {address}/32 dev {}", line::DEVICE))?;
    space.ip(&format!("link set {} up", line::DEVICE))?;
    space.ip(&format!("route add default dev {}", line::DEVICE))
}
