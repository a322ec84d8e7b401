//! The limits of the listener and of the client.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use portcullis_http::client::{BoundedClient, ExchangeFault, ExchangeLimits, RootsError, TrustedRoots};
use portcullis_http::server::{BoundedListener, ListenerLimits, read_body};
use std::convert::Infallible;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;

const LIMITS: ListenerLimits = ListenerLimits {
    connections: 2,
    head: Duration::from_millis(500),
    head_bytes: 8192,
    head_fields: 8,
    write: Duration::from_millis(500),
};
const BUSY: &str = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// A running listener. `/slow` answers after a time, `/long` with more than a socket holds, and any other path with the
/// length of the body or why it was not read.
struct Served {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Served {
    fn new(limits: ListenerLimits) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = thread::spawn(move || {
            runtime.block_on(async {
                let listener = BoundedListener::new(listener, limits);
                let listener = listener.with_busy_response(BUSY).with_linger(Duration::from_secs(1));
                let open = listener.serve(service_fn(respond), async { drop(stopped.await) }).await;
                open.finish(Duration::from_secs(10)).await;
            });
        });
        Self { address, stop: Some(stop), thread: Some(thread) }
    }

    /// What comes back for these bytes.
    fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8(answer).unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

async fn respond(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let text = match head.uri.path() {
        "/slow" => {
            tokio::time::sleep(Duration::from_millis(700)).await;
            "slow".to_owned()
        }
        "/long" => "x".repeat(64 << 20),
        _ => match read_body(body, 16, Duration::from_millis(300)).await {
            Ok(body) => format!("{} bytes", body.len()),
            Err(unread) => unread.to_string(),
        },
    };
    let mut response = Response::new(Full::from(text));
    response.headers_mut().insert("connection", "close".parse().unwrap());
    Ok(response)
}

#[test]
fn heads_and_bodies_have_limits() {
    let served = Served::new(LIMITS);
    let head = "POST / HTTP/1.1\r\nHost: x\r\n";
    let posted =
        |length: usize, body: &str| served.raw(format!("{head}Content-Length: {length}\r\n\r\n{body}").as_bytes());
    assert!(posted(5, "hello").ends_with("5 bytes"));
    assert!(posted(17, "123456789 12345678").ends_with("the body is longer than the limit"));
    assert!(posted(16, "late").ends_with("the body did not come in time"));
    let chunks = format!("{head}Transfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n", "8\r\n12345678\r\n".repeat(3));
    assert!(served.raw(chunks.as_bytes()).ends_with("the body is longer than the limit"));
    // The client gets the answer although much of its request was never read.
    let long = [format!("{head}Content-Length: 1000000\r\n\r\n").as_bytes(), &vec![b'x'; 1_000_000]].concat();
    assert!(served.raw(&long).ends_with("the body is longer than the limit"));
    assert!(served.raw(format!("{head}X: {}\r\n\r\n", "x".repeat(20_000)).as_bytes()).starts_with("HTTP/1.1 431 "));
    assert!(served.raw(format!("{head}{}\r\n", "X: x\r\n".repeat(8)).as_bytes()).starts_with("HTTP/1.1 431 "));
    assert!(served.raw(b"hello\r\n\r\n").starts_with("HTTP/1.1 400 "));
    assert_eq!(served.raw(head.as_bytes()), "", "a head that is late");
}

#[test]
fn a_client_above_the_limit_is_turned_away() {
    let served = Served::new(ListenerLimits { head: Duration::from_secs(60), ..LIMITS });
    let open: Vec<TcpStream> = (0..2).map(|_| TcpStream::connect(served.address).unwrap()).collect();
    assert_eq!(served.raw(b""), BUSY);
    drop(open);
    // The places become free as soon as the listener has seen that both clients are gone.
    let good = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    let mut tries = (0..200).map(|_| {
        thread::sleep(Duration::from_millis(50));
        served.raw(good)
    });
    assert!(tries.any(|answer| answer.ends_with("0 bytes")));
}

#[test]
fn a_client_that_does_not_read_is_cut_off() {
    let served = Served::new(LIMITS);
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream.write_all(b"GET /long HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    thread::sleep(Duration::from_secs(2));
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(answer.len() < 64 << 20, "{} bytes", answer.len());
}

#[test]
fn a_request_in_progress_ends_before_the_listener_does() {
    let served = Served::new(LIMITS);
    let address = served.address;
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    thread::sleep(Duration::from_millis(200));
    let mut answer = String::new();
    thread::scope(|scope| {
        let stopping = scope.spawn(move || drop(served));
        stream.read_to_string(&mut answer).unwrap();
        drop(stream);
        stopping.join().unwrap();
    });
    assert!(answer.ends_with("slow"), "{answer}");
    assert!(TcpStream::connect(address).is_err(), "it still listens");
}

/// What a client finds at a server that sends this answer, and then keeps the connection open or not.
fn answered(answer: &'static [u8], is_kept: bool) -> Result<(u16, Vec<u8>), ExchangeFault> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(answer);
            while is_kept && !over.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(10));
            }
        });
        let limits = ExchangeLimits { time: Duration::from_millis(500), answer_bytes: 8 };
        let posted = BoundedClient::direct(limits, TrustedRoots::mozilla()).post(&url, &[], b"hello");
        over.store(true, Ordering::SeqCst);
        posted.map(|answer| (answer.status, answer.body)).map_err(|error| error.into_fault())
    })
}

#[test]
fn an_answer_has_a_largest_size_and_a_deadline() {
    let whole = answered(b"HTTP/1.1 404 Not Found\r\nContent-Length: 8\r\n\r\n12345678", true);
    assert_eq!(whole.unwrap(), (404, b"12345678".to_vec()), "a status is not an error");
    let announced = answered(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", true);
    assert!(matches!(announced, Err(ExchangeFault::Oversize)), "{announced:?}");
    let chunked = answered(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n123456789\r\n0\r\n\r\n", true);
    assert!(matches!(chunked, Err(ExchangeFault::Oversize)), "{chunked:?}");
    let late = answered(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n1234", true);
    assert!(matches!(late, Err(ExchangeFault::Deadline)), "{late:?}");
    let cut = answered(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n1234", false);
    assert!(matches!(cut, Err(ExchangeFault::Closed)), "{cut:?}");
    let silent = answered(b"", true);
    assert!(matches!(silent, Err(ExchangeFault::Deadline)), "{silent:?}");
    let redirect = answered(b"HTTP/1.1 302 Found\r\nLocation: http://x.example/\r\nContent-Length: 0\r\n\r\n", true);
    assert_eq!(redirect.unwrap().0, 302, "it is not followed");
    let wrong = answered(b"hello\r\n\r\n", true);
    assert!(matches!(wrong, Err(ExchangeFault::Malformed)), "{wrong:?}");
}

#[test]
fn nobody_listens() {
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let limits = ExchangeLimits { time: Duration::from_millis(500), answer_bytes: 8 };
    let posted = BoundedClient::shared(limits).post(&format!("http://{address}/"), &[], b"");
    let fault = posted.unwrap_err().into_fault();
    assert!(matches!(fault, ExchangeFault::Connect(_)), "{fault:?}");
}

#[test]
fn certificates_that_cannot_be_trusted() {
    assert!(matches!(TrustedRoots::from_pem("x"), Err(RootsError::Empty)));
    let broken = "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n";
    assert!(matches!(TrustedRoots::from_pem(broken), Err(RootsError::Pem(_))));
}
