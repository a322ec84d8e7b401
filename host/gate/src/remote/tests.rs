use super::*;

#[test]
fn frames_come_back_and_an_end_between_two_is_no_error() {
    let mut bytes = Vec::new();
    send(&mut bytes, &ToClient::RollBack(3)).unwrap();
    send(&mut bytes, &ToClient::Done).unwrap();
    assert_eq!(bytes[..4], 14u32.to_le_bytes(), "{bytes:?}");
    let mut from = bytes.as_slice();
    assert!(matches!(receive(&mut from), Ok(Some(ToClient::RollBack(3)))));
    assert!(matches!(receive(&mut from), Ok(Some(ToClient::Done))));
    assert!(matches!(receive::<ToClient>(&mut from), Ok(None)));
}

#[test]
fn a_frame_that_is_cut_too_long_or_no_message_is_an_error() {
    let mut whole = Vec::new();
    send(&mut whole, &ToClient::Advance("Birds sing.".into())).unwrap();
    for cut in 1..whole.len() {
        let error = receive::<ToClient>(&mut &whole[..cut]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{cut}");
    }
    let long = (FRAME_MAX + 1).to_le_bytes();
    assert!(receive::<ToClient>(&mut long.as_slice()).unwrap_err().to_string().contains("at most"));
    for wrong in ["{}", "\"Nothing\"", "\"Done\" \"Done\"", "{\"RollBack\":-1}", "\u{0}"] {
        let frame = [&u32::try_from(wrong.len()).unwrap().to_le_bytes(), wrong.as_bytes()].concat();
        assert!(receive::<ToClient>(&mut frame.as_slice()).is_err(), "{wrong}");
    }
}

#[test]
fn a_byte_at_a_time_is_late_and_so_is_nobody_reading() {
    let (here, there) = UnixStream::pair().unwrap();
    let wire = Wire::new(here, Duration::from_millis(300));
    let dribble = std::thread::spawn(move || {
        // Each byte arrives within the time limit, but the whole frame does not.
        let bytes = [&1000u32.to_le_bytes()[..], &[b' '; 1000]].concat();
        for byte in bytes {
            if (&there).write_all(&[byte]).is_err() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let start = Instant::now();
    let error = wire.receive::<ToClient>().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(start.elapsed() < Duration::from_secs(10));
    drop(wire);
    dribble.join().unwrap();

    let (here, there) = UnixStream::pair().unwrap();
    let wire = Wire::new(here, Duration::from_millis(300));
    let message = ToClient::Advance("x".repeat(4 << 20));
    assert_eq!(wire.send(&message).unwrap_err().kind(), io::ErrorKind::TimedOut);
    drop(there);
}
