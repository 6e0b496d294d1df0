//! A line that delays and loses packets. It consists of two devices, each in its own name space, and of threads that
//! carry packets between them. The kernel's own means (`netem`) is not available everywhere.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use nix::libc::{IFF_NO_PI, IFF_TUN, c_char, c_int, c_short, ifreq};

use super::space::Space;
use crate::place::within;

/// The effects of a line on packets, in each direction.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The delay.
    pub delay: Duration,
    /// The percentage of packets that are lost.
    pub loss: u8,
}

/// The most bytes of a packet.
const PACKET_MAX: usize = 65_536;

/// The name of the device at either end.
pub(super) const DEVICE: &str = "line";

impl Line {
    /// Lays a line between two name spaces. The line ends when either name space ends.
    pub(super) fn lay(self, one: &Space, other: &Space) -> Result<(), String> {
        let end =
            |space: &Space| within(&space.file(), || device(DEVICE)).map_err(|error| format!("TUN: {error}"));
        let (one, other) = (end(one)?, end(other)?);
        let copy = |file: &File| file.try_clone().map_err(|error| error.to_string());
        self.carry(copy(&one)?, copy(&other)?, 0x9e37_79b9_7f4a_7c15);
        self.carry(other, one, 0xbf58_476d_1ce4_e5b9);
        Ok(())
    }

    fn carry(self, from: File, to: File, seed: u64) {
        let (sender, receiver) = channel();
        std::thread::spawn(move || self.take(from, &sender, seed));
        std::thread::spawn(move || give(&receiver, to));
    }

    fn take(self, mut from: File, to: &Sender<(Instant, Vec<u8>)>, seed: u64) {
        let (mut buffer, mut random) = (vec![0; PACKET_MAX], seed);
        // Reading fails when the name space is gone.
        while let Ok(length) = from.read(&mut buffer) {
            let due = Instant::now() + self.delay;
            // xorshift64. The same packets are lost in every run, if they come in the same order.
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            if random % 100 >= u64::from(self.loss) && to.send((due, buffer[..length].to_vec())).is_err() {
                return;
            }
        }
    }
}

fn give(from: &Receiver<(Instant, Vec<u8>)>, mut to: File) {
    while let Ok((due, packet)) = from.recv() {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        // The write fails while the device is down.
        to.write_all(&packet).ok();
    }
}

nix::ioctl_write_ptr_bad!(set_device, nix::request_code_write!(b'T', 202, size_of::<c_int>()), ifreq);

/// Opens a TUN device in the name space of this thread. Its packets have no header of the device.
#[expect(unsafe_code, reason = "no other way to name the device that the file is to stand for")]
fn device(name: &str) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).open("/dev/net/tun")?;
    let mut ifr_name = [0; 16];
    for (to, from) in ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as c_char;
    }
    let flags = (IFF_TUN | IFF_NO_PI) as c_short;
    let request = ifreq { ifr_name, ifr_ifru: nix::libc::__c_anonymous_ifr_ifru { ifru_flags: flags } };
    // SAFETY: the request is a whole `ifreq`, and lives until the call returns.
    unsafe { set_device(file.as_raw_fd(), &raw const request) }?;
    Ok(file)
}
