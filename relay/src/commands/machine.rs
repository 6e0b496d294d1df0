//! The facts about this machine: its memory, its addresses, and where its name leads.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _, UdpSocket};

/// The memory of this machine in bytes; `None` if the system does not tell.
pub(crate) fn memory() -> Option<u64> {
    memory_in(&fs::read_to_string("/proc/meminfo").ok()?)
}

fn memory_in(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1_024)
}

/// The addresses by which this machine reaches the internet, one of each family at most.
pub(crate) fn own_addresses() -> Vec<IpAddr> {
    // The system chooses the address when a socket is connected. Nothing is sent. These two are of documentation.
    let anywhere: [(IpAddr, SocketAddr); 2] = [
        (Ipv4Addr::UNSPECIFIED.into(), (Ipv4Addr::new(192, 0, 2, 1), 9).into()),
        (Ipv6Addr::UNSPECIFIED.into(), (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), 9).into()),
    ];
    let chosen = |(from, to): (IpAddr, SocketAddr)| {
        let socket = UdpSocket::bind((from, 0)).ok()?;
        socket.connect(to).ok()?;
        Some(socket.local_addr().ok()?.ip()).filter(|address| !address.is_loopback())
    };
    anywhere.into_iter().filter_map(chosen).collect()
}

/// The addresses that a name leads to. This machine's own name may lead to itself here (`/etc/hosts`).
pub(crate) fn addresses_of(name: &str) -> Vec<IpAddr> {
    (name, 443).to_socket_addrs().into_iter().flatten().map(|address| address.ip()).collect()
}

/// The address in each family at which others most probably reach this machine.
///
/// The name knows better than the machine where a router or a cloud translates addresses, and where the machine chose a
/// temporary address of IPv6 (RFC 8981). A name that leads elsewhere may lead to somebody's proxy.
pub(crate) fn reached_at(named: &[IpAddr], own: &[IpAddr]) -> Vec<IpAddr> {
    let of_family = |all: &[IpAddr], is_v4: bool| -> Vec<IpAddr> {
        all.iter().copied().filter(|address| address.is_ipv4() == is_v4 && is_public(*address)).collect()
    };
    let network = |address: IpAddr| match address {
        IpAddr::V4(_) => None,
        IpAddr::V6(address) => Some(address.segments()[..4].to_vec()),
    };
    let reached = |is_v4| {
        let (named, own) = (of_family(named, is_v4), of_family(own, is_v4));
        let own = own.first().copied();
        let same = |address: &&IpAddr| own.is_none_or(|own| network(own) == network(**address) && !is_v4);
        named.iter().find(same).copied().or(own)
    };
    [true, false].into_iter().filter_map(reached).collect()
}

/// Whether others on the internet can reach this address.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [a, b, ..] = address.octets();
            let is_shared = a == 100 && (64..128).contains(&b);
            !(address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_unspecified()
                || is_shared)
        }
        IpAddr::V6(address) => address.segments()[0] & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_is_read_as_the_system_writes_it() {
        let text = "MemTotal:       24642216 kB\nMemFree:         1 kB\n";
        assert_eq!(memory_in(text), Some(24_642_216 * 1_024));
        assert_eq!(memory_in("MemFree: 1 kB\n"), None);
        assert_eq!(memory_in("MemTotal: 99999999999999999999 kB\n"), None);
    }

    #[test]
    fn the_address_is_one_that_others_reach() {
        for (named, own, reached) in [
            // The machine calls itself by its name.
            ("127.0.1.1", "10.0.0.5", ""),
            ("127.0.1.1", "203.0.113.5", "203.0.113.5"),
            // A cloud translates the address of IPv4 only.
            ("203.0.113.5 2a01:4f8::5", "10.0.0.5 2a01:4f8::5", "203.0.113.5 2a01:4f8::5"),
            ("203.0.113.5", "10.0.0.5 2a01:4f8::5", "203.0.113.5 2a01:4f8::5"),
            // The machine chose a temporary address.
            ("2a01:4f8::5", "2a01:4f8::1a2b:3c4d", "2a01:4f8::5"),
            // The name leads to a proxy.
            ("198.51.100.1 2a02::1", "203.0.113.5 2a01:4f8::5", "203.0.113.5 2a01:4f8::5"),
            ("", "203.0.113.5", "203.0.113.5"),
        ] {
            let read = |all: &str| -> Vec<IpAddr> {
                all.split_whitespace().map(|address| address.parse().expect("an address")).collect()
            };
            assert_eq!(reached_at(&read(named), &read(own)), read(reached), "{named} and {own}");
        }
    }

    #[test]
    fn addresses_behind_a_router_are_not_public() {
        for (address, public) in [
            ("203.0.113.5", true),
            ("10.0.0.1", false),
            ("172.17.0.2", false),
            ("192.168.1.1", false),
            ("100.64.0.1", false),
            ("169.254.0.1", false),
            ("127.0.0.1", false),
            ("2a01:4f8::1", true),
            ("fe80::1", false),
            ("fd00::1", false),
            ("::1", false),
        ] {
            assert_eq!(is_public(address.parse().expect("an address")), public, "{address}");
        }
    }
}
