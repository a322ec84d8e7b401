//! A running issuer, and raw HTTP requests to it.

use super::common::Card;
use ed25519_dalek::SigningKey;
use portcullis_authority::StoreUrl;
use portcullis_authority::tickets::Issuer;
use portcullis_core::hex::{self, HexBytes};
use portcullis_issuer::config::IssuerConfig;
use portcullis_issuer::wire::{TicketAnswer, TicketRequest};
use portcullis_issuer::{IssuerServeError, serve};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

pub(crate) const NAME: &str = "registrar.example";
pub(crate) const TOKEN: &str = "token-of-the-first-client";
pub(crate) const OTHER_TOKEN: &str = "token-of-the-other-client";
/// The policies of the configuration: without terms, and with all of them.
pub(crate) const POLICY: [u8; 32] = [3; 32];
pub(crate) const STRICT: [u8; 32] = [4; 32];
pub(crate) const PROFILE: [u8; 32] = [6; 32];

/// A configuration for the cards `first` (seats 0 to 3, all policies) and `second` (seat 7, only the strict policy).
/// The client `other` gets tickets only for `second`.
pub(crate) fn config(folder: &Path, first: &Card, second: &Card, limits: &str) -> IssuerConfig {
    let file = |name: &str, token: &str| {
        std::fs::write(folder.join(name), format!("{token}\n")).unwrap();
        std::fs::set_permissions(folder.join(name), std::fs::Permissions::from_mode(0o600)).unwrap();
        folder.join(name).display().to_string()
    };
    let (one, other) = (file("one.token", TOKEN), file("other.token", OTHER_TOKEN));
    let [first, second] = [first, second].map(|card| hex::encode(&card.public_key));
    let [policy, strict, profile] = [POLICY, STRICT, PROFILE].map(|digest| hex::encode(&digest));
    IssuerConfig::parse(&format!(
        "listen = \"127.0.0.1:0\"
         [limits]
         {limits}
         [[client]]
         name = \"one\"
         token = \"{one}\"
         [[client]]
         name = \"other\"
         token = \"{other}\"
         cards = [\"second\"]
         [[card]]
         name = \"first\"
         public_key = \"{first}\"
         seats = [0, 1, 2, 3]
         [[card]]
         name = \"second\"
         public_key = \"{second}\"
         seats = [7]
         policies = [\"strict\"]
         [[policy]]
         name = \"plain\"
         digest = \"{policy}\"
         [[policy]]
         name = \"strict\"
         digest = \"{strict}\"
         profiles = [\"{profile}\"]
         text_lane = true
         heartbeat_records = 100
         hours = 2"
    ))
    .unwrap()
}

pub(crate) fn open(store: &StoreUrl, log: Option<&PathBuf>) -> Issuer {
    let mut issuer = Issuer::open(store, SigningKey::from_bytes(&[5; 32]), NAME).unwrap();
    log.iter().for_each(|log| issuer.publish(log, None).unwrap());
    issuer
}

/// An issuer that runs in its own thread.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub(crate) fn start(config: &IssuerConfig, issuer: Issuer) -> Self {
        let (say, address) = mpsc::channel();
        let (stop, stopped) = mpsc::channel::<()>();
        let config = config.clone();
        let thread = std::thread::spawn(move || {
            let stopped = async move {
                while stopped.try_recv() == Err(mpsc::TryRecvError::Empty) {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            let open = || Ok::<_, IssuerServeError>(issuer);
            serve(&config, open, stopped, |address| say.send(address).unwrap()).unwrap();
        });
        Self { address: address.recv().unwrap(), stop: Some(stop), thread: Some(thread) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn post(&self, path: &str, body: &impl serde::Serialize) -> Answer {
        self.post_as(TOKEN, path, body)
    }

    pub(crate) fn post_as(&self, token: &str, path: &str, body: &impl serde::Serialize) -> Answer {
        let body = serde_json::to_string(body).unwrap();
        let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}");
        let kind = "Content-Type: application/json";
        self.send(&format!("{head}\r\n{kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()))
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
    }

    /// Sends these bytes, and reads the answer to its end.
    pub(crate) fn send(&self, bytes: &str) -> Answer {
        let mut stream = self.connect();
        // The issuer may refuse before it has read everything.
        let _ = stream.write_all(bytes.as_bytes());
        Answer::read(stream)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// The ticket for this request.
    pub(crate) fn ticket(&self, request: &TicketRequest) -> TicketAnswer {
        let answer = self.post("/v1/tickets", request);
        assert_eq!(answer.status, 200, "{}", answer.body);
        serde_json::from_str(&answer.body).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            assert!(thread.join().is_ok() || std::thread::panicking());
        }
    }
}

#[derive(Debug)]
pub(crate) struct Answer {
    /// 0 if the connection was closed without an answer.
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn read(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
        let status = head.get(9..12).map_or(0, |status| status.parse().unwrap());
        Self { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    /// Status and code of a refusal, which also has a message and a remedy.
    #[track_caller]
    pub(crate) fn refused(&self) -> (u16, String) {
        assert!(self.head.contains("content-type: application/json"), "{self:?}");
        let error: Value = serde_json::from_str(&self.body).unwrap();
        let text = |field: &str| error["error"][field].as_str().unwrap().to_owned();
        assert!(!text("message").is_empty() && !text("remedy").is_empty(), "{self:?}");
        (self.status, text("code"))
    }
}

/// A request for the plain policy. Different numbers are different requests.
pub(crate) fn request(card: &Card, seat: u16, number: u64) -> TicketRequest {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    TicketRequest {
        request: HexBytes(bytes),
        public_key: HexBytes(card.public_key),
        seat,
        policy: HexBytes(POLICY),
        profile: HexBytes(PROFILE),
        text_lane: false,
        witness: false,
    }
}
