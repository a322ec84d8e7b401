use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use zerocopy::{FromBytes, IntoBytes};

use crate::message::{
    Access, DmaMap as MapBytes, Header, PAYLOAD_MAX, SetIrqs, Version, VfioUserCommand, header_flags, irq, region,
};
use crate::{
    ChannelError, DeviceClient, DeviceClientError, DeviceServeError, DmaRange, DriverConnection, Errno,
    VfioUserChannel, VfioUserDevice, VfioUserRegion,
};

const DEADLINE: Duration = Duration::from_millis(200);

/// A device of 32 bytes that stores what it receives.
#[derive(Default)]
struct Memory {
    bytes: [u8; 32],
    maps: Vec<(DmaRange, bool)>,
    unmaps: Vec<(u128, u128)>,
    irqs: BTreeMap<u32, bool>,
    fired: Vec<u32>,
    resets: u32,
}

impl VfioUserDevice for Memory {
    fn region(&self, index: u32) -> VfioUserRegion {
        if index == region::BAR0 { VfioUserRegion { size: 32, flags: 3 } } else { VfioUserRegion::default() }
    }
    fn irqs(&self, index: u32) -> u32 {
        if index == irq::MSIX { 4 } else { 0 }
    }
    fn read(&mut self, _region: u32, offset: u64, into: &mut [u8]) -> Result<(), Errno> {
        into.copy_from_slice(&self.bytes[offset as usize..][..into.len()]);
        Ok(())
    }
    fn write(&mut self, _region: u32, offset: u64, from: &[u8]) -> Result<(), Errno> {
        if offset == 31 {
            return Err(Errno::PERM);
        }
        self.bytes[offset as usize..][..from.len()].copy_from_slice(from);
        Ok(())
    }
    fn map(&mut self, map: DmaRange, file: Option<OwnedFd>) -> Result<(), Errno> {
        self.maps.push((map, file.is_some()));
        if map.size == 0 { Err(Errno::NOMEM) } else { Ok(()) }
    }
    fn unmap(&mut self, from: u128, to: u128) -> Result<(), Errno> {
        self.unmaps.push((from, to));
        Ok(())
    }
    fn connect_irqs(&mut self, _index: u32, start: u32, files: Vec<Option<OwnedFd>>) -> Result<(), Errno> {
        self.irqs.extend((start..).zip(files.iter().map(Option::is_some)));
        Ok(())
    }
    fn fire_irqs(&mut self, _index: u32, start: u32, count: u32) -> Result<(), Errno> {
        self.fired.extend(start..start + count);
        Ok(())
    }
    fn reset(&mut self) -> Result<(), Errno> {
        self.resets += 1;
        Ok(())
    }
}

/// Starts a device in a thread, which returns the device after the driver has disconnected.
fn serve() -> (UnixStream, std::thread::JoinHandle<(Memory, DeviceServeError)>) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let served = std::thread::spawn(move || {
        let mut connection = DriverConnection::new(VfioUserChannel::new(theirs, DEADLINE).unwrap());
        let mut device = Memory::default();
        loop {
            if let Err(error) = connection.serve(&mut device) {
                return (device, error);
            }
        }
    });
    (ours, served)
}

fn file() -> OwnedFd {
    rustix::fs::memfd_create("test", rustix::fs::MemfdFlags::CLOEXEC).unwrap()
}

#[test]
fn both_ends_understand_each_other() {
    let (socket, served) = serve();
    let mut client = DeviceClient::from_stream(socket, DEADLINE).unwrap();
    assert_eq!(client.region(region::BAR0).unwrap().size, 32);
    assert_eq!(client.region(region::CONFIG).unwrap().size, 0);
    assert_eq!((client.irqs(irq::MSIX).unwrap(), client.irqs(irq::ERR).unwrap()), (4, 0));
    client.write(region::BAR0, 8, &[1, 2, 3, 4]).unwrap();
    let mut back = [0; 6];
    client.read(region::BAR0, 7, &mut back).unwrap();
    assert_eq!(back, [0, 1, 2, 3, 4, 0]);
    client.map(0x1000, 4096, file().as_fd()).unwrap();
    client.unmap(0x1000, 4096).unwrap();
    client.unmap(0xfef0_0000, 0xffff_ffff_0110_0000).unwrap();
    client.set_irq(irq::MSIX, 3, file().as_fd()).unwrap();
    client.reset().unwrap();
    drop(client);
    let (device, end) = served.join().unwrap();
    assert!(matches!(end, DeviceServeError::Left), "{end}");
    let map = DmaRange { read: true, write: true, offset: 0, address: 0x1000, size: 4096 };
    assert_eq!(device.maps, [(map, true)]);
    assert_eq!(device.unmaps, [(0x1000, 0x2000), (0xfef0_0000, 1 << 64)]);
    assert_eq!(device.irqs, BTreeMap::from([(3, true)]));
    assert_eq!(device.resets, 1);
}

#[test]
fn refusals_arrive_with_their_number_and_the_connection_stays() {
    let (socket, served) = serve();
    let mut client = DeviceClient::from_stream(socket, DEADLINE).unwrap();
    let refused = |result: Result<(), DeviceClientError>, expected: Errno| match result {
        Err(DeviceClientError::Refused { errno, .. }) => assert_eq!(errno, expected.raw_os_error()),
        other => panic!("{other:?}"),
    };
    refused(client.write(region::BAR0, 31, &[1]), Errno::PERM);
    refused(client.write(region::BAR0, 30, &[1, 2, 3]), Errno::INVAL);
    refused(client.read(region::BAR0, u64::MAX, &mut [0]), Errno::INVAL);
    refused(client.read(region::BAR0, 0, &mut []), Errno::INVAL);
    refused(client.read(77, 0, &mut [0]), Errno::INVAL);
    refused(client.map(0, 0, file().as_fd()), Errno::NOMEM);
    refused(client.set_irq(irq::MSIX, 4, file().as_fd()), Errno::INVAL);
    refused(client.set_irq(irq::ERR, 0, file().as_fd()), Errno::INVAL);
    refused(client.region(9).map(|_| ()), Errno::INVAL);
    client.write(region::BAR0, 0, &[9]).unwrap();
    drop(client);
    assert!(matches!(served.join().unwrap().1, DeviceServeError::Left));
}

fn message(command: u16, payload: &[u8]) -> Vec<u8> {
    let size = (Header::BYTES + payload.len()) as u32;
    let header = Header { id: 7.into(), command: command.into(), size: size.into(), ..Header::default() };
    [header.as_bytes(), payload].concat()
}

fn version() -> Vec<u8> {
    message(VfioUserCommand::Version as u16, Version::default().as_bytes())
}

/// Reads one reply: its flags, error number and payload.
fn reply(socket: &mut UnixStream) -> (u32, u32, Vec<u8>) {
    let mut bytes = [0; Header::BYTES];
    socket.read_exact(&mut bytes).unwrap();
    let header = Header::read_from_bytes(&bytes).unwrap();
    let mut payload = vec![0; header.size.get() as usize - Header::BYTES];
    socket.read_exact(&mut payload).unwrap();
    (header.flags.get(), header.error.get(), payload)
}

#[test]
fn a_version_may_come_without_json_and_byte_by_byte() {
    let (mut socket, served) = serve();
    for byte in version() {
        socket.write_all(&[byte]).unwrap();
    }
    let (flags, error, payload) = reply(&mut socket);
    assert_eq!((flags, error), (header_flags::REPLY, 0));
    assert!(payload.ends_with(b"}\0"));
    // An unknown command is refused, and the next command is served.
    socket.write_all(&message(99, &[1, 2, 3])).unwrap();
    assert_eq!(reply(&mut socket), (header_flags::REPLY | header_flags::ERROR, 95, vec![]));
    // A write to a missing region is refused; its payload is consumed.
    let access = Access { offset: 0.into(), region: 55.into(), count: 4.into() };
    socket.write_all(&message(VfioUserCommand::RegionWrite as u16, &[access.as_bytes(), &[0; 4]].concat())).unwrap();
    assert_eq!(reply(&mut socket).1, 22);
    socket.write_all(&message(VfioUserCommand::Reset as u16, &[])).unwrap();
    assert_eq!(reply(&mut socket), (header_flags::REPLY, 0, vec![]));
    // A read of 4 GiB is refused before memory is allocated.
    let access = Access { offset: 0.into(), region: 0.into(), count: u32::MAX.into() };
    socket.write_all(&message(VfioUserCommand::RegionRead as u16, access.as_bytes())).unwrap();
    assert_eq!(reply(&mut socket).1, 22);
    // Requests that are too short for their command are refused.
    for command in [2, 3, 4, 5, 7, 8, 9, 10] {
        socket.write_all(&message(command, &[0; 7])).unwrap();
        assert_eq!(reply(&mut socket).1, 22, "command {command}");
    }
    // Interrupt requests with unsupported flags, or with vectors that do not exist, are refused.
    for (flags, start, count) in [(0x22, 0, 1), (0x28, 0, 1), (0x21, 4, 1), (0x21, 1, u32::MAX), (0x24, 0, 5)] {
        let ask = SetIrqs {
            index: 2.into(),
            flags: u32::into(flags),
            start: u32::into(start),
            count: u32::into(count),
            ..SetIrqs::default()
        };
        socket.write_all(&message(VfioUserCommand::SetIrqs as u16, ask.as_bytes())).unwrap();
        assert_eq!(reply(&mut socket).1, 22, "{flags:#x} {start} {count}");
    }
    // A map without a file is accepted; the device decides what to do with it.
    let ask = MapBytes { size: 4096.into(), flags: 1.into(), ..MapBytes::default() };
    socket.write_all(&message(VfioUserCommand::DmaMap as u16, ask.as_bytes())).unwrap();
    assert_eq!(reply(&mut socket), (header_flags::REPLY, 0, vec![]));
    drop(socket);
    let (device, end) = served.join().unwrap();
    assert!(matches!(end, DeviceServeError::Left), "{end}");
    assert_eq!(device.maps.len(), 1);
    assert!(!device.maps[0].1);
    assert!(device.fired.is_empty());
}

#[test]
fn nobody_is_answered_who_wants_no_reply() {
    let (mut socket, served) = serve();
    socket.write_all(&version()).unwrap();
    reply(&mut socket);
    let mut silent = message(VfioUserCommand::Reset as u16, &[]);
    silent[8] = header_flags::NO_REPLY as u8;
    socket.write_all(&silent).unwrap();
    silent[2] = 99;
    socket.write_all(&silent).unwrap();
    socket.write_all(&message(VfioUserCommand::Reset as u16, &[])).unwrap();
    assert_eq!(reply(&mut socket), (header_flags::REPLY, 0, vec![]));
    drop(socket);
    assert_eq!(served.join().unwrap().0.resets, 2);
}

/// Messages of a hostile driver, each with the expected answer.
#[test]
fn garbage_ends_the_connection_and_nothing_else() {
    let short = Header { command: 1.into(), size: 15.into(), ..Header::default() };
    let long = Header { command: 1.into(), size: (PAYLOAD_MAX as u32 + 17).into(), ..Header::default() };
    let huge = Header { command: 1.into(), size: u32::MAX.into(), ..Header::default() };
    let mut as_reply = version();
    as_reply[8] = 1;
    let mut unknown_flag = version();
    unknown_flag[8] = 0x40;
    let other_major = message(1, Version { major: 1.into(), minor: 0.into() }.as_bytes());
    let not_json = message(1, &[Version::default().as_bytes(), b"{]\0"].concat());
    let cases: [(&str, Vec<u8>); 12] = [
        ("random bytes", (0..64_u8).map(|i| i.wrapping_mul(97) ^ 0x5a).collect()),
        ("shorter than a header", short.as_bytes().to_vec()),
        ("longer than agreed", long.as_bytes().to_vec()),
        ("4 GiB", huge.as_bytes().to_vec()),
        ("a reply", as_reply),
        ("an unknown flag", unknown_flag),
        ("another major version", other_major),
        ("a version without one", message(1, &[0, 0])),
        ("not JSON", not_json),
        ("no version first", message(13, &[])),
        ("version twice", [version(), version()].concat()),
        ("an unknown command first", message(99, &[])),
    ];
    for (what, bytes) in cases {
        let (mut socket, served) = serve();
        socket.write_all(&bytes).unwrap();
        let (device, end) = served.join().unwrap();
        assert!(matches!(end, DeviceServeError::Channel(ChannelError::Protocol(_))), "{what}: {end}");
        assert_eq!(device.resets, 0, "{what}");
    }
    // A message cut at any byte ends the connection at once.
    let whole = version();
    for cut in 1..whole.len() {
        let (mut socket, served) = serve();
        socket.write_all(&whole[..cut]).unwrap();
        drop(socket);
        let (_, end) = served.join().unwrap();
        assert!(matches!(end, DeviceServeError::Channel(ChannelError::Cut)), "{cut}: {end}");
    }
    // A message that stalls ends the connection after the deadline.
    let started = Instant::now();
    let (mut socket, served) = serve();
    socket.write_all(&whole[..5]).unwrap();
    let (_, end) = served.join().unwrap();
    assert!(matches!(end, DeviceServeError::Channel(ChannelError::Late { .. })), "{end}");
    assert!(started.elapsed() >= DEADLINE);
}

#[test]
fn more_files_than_a_message_takes_end_the_connection() {
    let (socket, served) = serve();
    let file = file();
    let mut channel = VfioUserChannel::new(socket.try_clone().unwrap(), DEADLINE).unwrap();
    channel.send(Header { command: 1.into(), ..Header::default() }, &[Version::default().as_bytes()], &[]).unwrap();
    channel.receive().unwrap();
    // Sends the two parts of one message with 16 files each, more than a message may have.
    let header = Header { command: 13.into(), size: 16.into(), ..Header::default() };
    for half in header.as_bytes().chunks(8) {
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
        let mut control = rustix::net::SendAncillaryBuffer::new(&mut space);
        let files = [file.as_fd(); 16];
        assert!(control.push(rustix::net::SendAncillaryMessage::ScmRights(&files)));
        let flags = rustix::net::SendFlags::empty();
        rustix::net::sendmsg(&socket, &[std::io::IoSlice::new(half)], &mut control, flags).unwrap();
    }
    let (device, end) = served.join().unwrap();
    assert!(matches!(end, DeviceServeError::Channel(ChannelError::Protocol(_))), "{end}");
    assert_eq!(device.resets, 0);
}

/// Connects to a device that negotiates correctly and then answers a read with `answer`.
fn lying(answer: impl FnOnce(&mut UnixStream, Header) + Send + 'static) -> DeviceClientError {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let lies = std::thread::spawn(move || {
        let mut connection =
            DriverConnection::new(VfioUserChannel::new(theirs.try_clone().unwrap(), DEADLINE).unwrap());
        let mut device = Memory::default();
        connection.serve(&mut device).unwrap();
        connection.serve(&mut device).unwrap();
        theirs.set_nonblocking(false).unwrap();
        let mut bytes = [0; Header::BYTES];
        theirs.read_exact(&mut bytes).unwrap();
        answer(&mut theirs, Header::read_from_bytes(&bytes).unwrap());
        // Keeps the connection until the driver closes it.
        let _ = theirs.read_to_end(&mut Vec::new());
    });
    let mut client = DeviceClient::from_stream(ours, DEADLINE).unwrap();
    let started = Instant::now();
    let error = client.read(region::BAR0, 0, &mut [0; 4]).unwrap_err();
    assert!(started.elapsed() < DEADLINE * 20);
    if !matches!(error, DeviceClientError::Refused { .. }) {
        assert!(matches!(client.reset(), Err(DeviceClientError::Lost)));
    }
    drop(client);
    lies.join().unwrap();
    error
}

fn say(socket: &mut UnixStream, header: Header, payload: &[u8]) {
    let size = (Header::BYTES + payload.len()) as u32;
    let header = Header { size: size.into(), ..header };
    let _ = socket.write_all(&[header.as_bytes(), payload].concat());
}

#[test]
fn a_device_that_lies_stalls_or_dies_is_found_out() {
    let ok = header_flags::REPLY;
    let data = |count: u32, bytes: usize| {
        let access = Access { offset: 0.into(), region: 0.into(), count: count.into() };
        [access.as_bytes(), &vec![0; bytes]].concat()
    };
    type Lie = fn(Header, Vec<u8>) -> (Header, Vec<u8>);
    let lies: [(&str, Lie); 8] = [
        ("another id", |h, d| (Header { id: (h.id.get() + 1).into(), ..h }, d)),
        ("another command", |h, d| (Header { command: 10.into(), ..h }, d)),
        ("a command", |h, d| (Header { flags: 0.into(), ..h }, d)),
        ("an unknown flag", |h, d| (Header { flags: 0x81.into(), ..h }, d)),
        ("too short", |h, d| (h, d[..19].to_vec())),
        ("too long", |h, d| (h, [d, vec![0]].concat())),
        ("another count", |h, mut d| {
            d[12] = 5;
            (h, d)
        }),
        ("a refusal with data", |h, d| (Header { flags: 0x21.into(), error: 5.into(), ..h }, d)),
    ];
    for (what, lie) in lies {
        let payload = data(4, 4);
        let error = lying(move |socket, header| {
            let (header, payload) = lie(Header { flags: ok.into(), ..header }, payload);
            say(socket, header, &payload);
        });
        let protocol = matches!(error, DeviceClientError::Channel { source: ChannelError::Protocol(_), .. });
        assert!(protocol, "{what}: {error}");
    }
    let error = lying(|_, _| {});
    assert!(matches!(error, DeviceClientError::Channel { source: ChannelError::Late { .. }, .. }), "{error}");
    let error = lying(|socket, _| socket.shutdown(std::net::Shutdown::Both).unwrap());
    assert!(matches!(error, DeviceClientError::Channel { source: ChannelError::Closed, .. }), "{error}");
    let error = lying(|socket, _| {
        socket.write_all(&[7, 0, 9]).unwrap();
        socket.shutdown(std::net::Shutdown::Both).unwrap();
    });
    assert!(matches!(error, DeviceClientError::Channel { source: ChannelError::Cut, .. }), "{error}");
    // An error without an error number is still an error.
    let error = lying(|socket, header| say(socket, Header { flags: 0x21.into(), ..header }, &[]));
    assert!(matches!(error, DeviceClientError::Refused { errno: 5, .. }), "{error}");
    // A device that announces 4 GiB does not make the driver allocate them.
    let error = lying(move |socket, header| {
        let header = Header { flags: ok.into(), size: u32::MAX.into(), ..header };
        socket.write_all(header.as_bytes()).unwrap();
    });
    assert!(matches!(error, DeviceClientError::Channel { source: ChannelError::Protocol(_), .. }), "{error}");
}

#[test]
fn a_silent_device_is_not_waited_for() {
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let started = Instant::now();
    let error = DeviceClient::from_stream(ours, DEADLINE).unwrap_err();
    assert!(matches!(error, DeviceClientError::Handshake(ChannelError::Late { .. })), "{error}");
    assert!(error.to_string().contains("another driver may hold the card"), "{error}");
    assert!(started.elapsed() < DEADLINE * 20);
    let error = DeviceClient::connect(std::path::Path::new("/nonexistent/card.sock"), DEADLINE).unwrap_err();
    assert!(error.to_string().contains("portcullis card serve"), "{error}");
}
