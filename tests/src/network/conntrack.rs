//! Makes a router forget its connections, as if it were switched off and on.

use std::io;
use std::os::fd::AsRawFd as _;

use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};

use super::space::Space;
use crate::place::within;

/// The request, an `nlmsghdr` and an `nfgenmsg`. It deletes (2) connections from connection tracking (1): all of
/// them, because it names none. It asks for an answer.
fn request() -> Vec<u8> {
    let length = 20_u32.to_ne_bytes();
    let kind = 0x0102_u16.to_ne_bytes();
    let flags = 0x0005_u16.to_ne_bytes();
    [&length[..], &kind, &flags, &[0; 12]].concat()
}

/// Makes a router forget all connections, and returns when it has.
pub(super) fn flush(router: &Space) -> io::Result<()> {
    within(&router.file(), || {
        let netlink = SockProtocol::NetlinkNetFilter;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, netlink)?;
        send(socket.as_raw_fd(), &request(), MsgFlags::empty())?;
        let mut answer = [0; 256];
        let length = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        // The error comes after the header; 0 means success.
        match answer[..length].get(16..20).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes) {
            Some(0) => Ok(()),
            Some(error) => Err(io::Error::from_raw_os_error(-error)),
            None => Err(io::ErrorKind::InvalidData.into()),
        }
    })
}
