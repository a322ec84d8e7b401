//! Tickets from a running issuer, and the reports of the session to it.

use crate::RecorderError;
use portcullis_card::driver::SinkError;
use portcullis_core::hex::{self, HexBytes};
use portcullis_core::wire::Life;
use portcullis_issuer::client::{IssuerClient, IssuerClientError, request_number};
use portcullis_issuer::wire::TicketRequest;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A running issuer, as the sessions of one card use it.
#[derive(Clone, Debug)]
pub struct IssuerAccess {
    pub client: Arc<IssuerClient>,
    /// The card's seat.
    pub seat: u16,
}

impl IssuerAccess {
    /// Requests the ticket for the session whose bundle will be in `folder`. `request` has all but its number.
    ///
    /// The number is in a file beside the bundle until the card has signed an opening checkpoint. If the session fails
    /// before that, the next one with this folder has the same number, and so gets the same, unused ticket.
    pub(crate) fn ticket(&self, folder: &Path, request: TicketRequest) -> Result<Vec<u8>, RecorderError> {
        let path = request_file(folder);
        let wrong = |source| RecorderError::Request { path: path.clone(), source };
        let request = TicketRequest { request: number(&path).map_err(wrong)?, ..request };
        let issued = self.client.issue(&request);
        if let Err(IssuerClientError::Refused { .. }) = issued {
            // No session can use a ticket under this number.
            fs::remove_file(&path).map_err(wrong)?;
        }
        Ok(issued?)
    }
}

fn request_file(folder: &Path) -> PathBuf {
    // Removes a `/` at the end of the path.
    let mut name = folder.components().collect::<PathBuf>().into_os_string();
    name.push(".request");
    name.into()
}

/// The number in this file, or a new one, which is on the disk before the request is sent.
fn number(path: &Path) -> io::Result<HexBytes<16>> {
    match fs::read_to_string(path) {
        Ok(text) => {
            let number = hex::decode(text.trim_end()).map(HexBytes);
            return number.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it has no number; remove it"));
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Err(_) => {}
    }
    let number = request_number().map_err(io::Error::other)?;
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut file = File::create_new(path)?;
    writeln!(file, "{number}")?;
    file.sync_all()?;
    Ok(number)
}

/// Reports the opening and the closing checkpoint of a session to its issuer.
pub(crate) struct Reporter {
    access: IssuerAccess,
    public_key: [u8; 32],
    serial: u64,
    /// Folder of the bundle.
    folder: PathBuf,
    closing: Mutex<Option<Vec<u8>>>,
}

impl Reporter {
    pub(crate) fn new(access: &IssuerAccess, public_key: [u8; 32], serial: u64, folder: &Path) -> Arc<Self> {
        let (access, folder) = (access.clone(), folder.to_owned());
        Arc::new(Self { access, public_key, serial, folder, closing: Mutex::default() })
    }

    /// Takes a checkpoint that is in the bundle; reports it if it is the opening one. Errors: the issuer has not
    /// accepted the report. The session is then lost, before it has admitted anything.
    pub(crate) fn checkpoint(&self, state: Life, message: &[u8]) -> Result<(), SinkError> {
        match state {
            Life::Opening => {
                // If this fails, the next session gets this ticket again, and its opening is refused.
                let _ = fs::remove_file(request_file(&self.folder));
                let opened = self.access.client.opened(self.public_key, message);
                opened.map_err(|error| format!("the issuer has not taken the report of the opening: {error}"))?;
            }
            Life::Closing => {
                *self.closing.lock().unwrap_or_else(PoisonError::into_inner) = Some(message.to_vec());
            }
            _ => {}
        }
        Ok(())
    }

    /// Reports the end of the session. The bundle is whole in any case, so a failure is only a text for the operator:
    /// what is missing, and how to make up for it.
    pub(crate) fn end(&self) -> Option<String> {
        let Self { access, public_key, serial, folder, .. } = self;
        let (url, seat, key) = (access.client.url(), access.seat, hex::encode(public_key));
        let closing = self.closing.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(closing) = closing else {
            return Some(format!(
                "the session of ticket {serial} at seat {seat} has no closing checkpoint, so the issuer gives no further \
                 ticket for this seat until its operator has used `portcullis ticket abandon --serial {serial}`"
            ));
        };
        let error = access.client.closed(*public_key, seat, &closing).err()?;
        Some(format!(
            "the bundle is whole, but the issuer does not know that the session of ticket {serial} at seat {seat} has \
             ended: {error}. Report it later: `portcullis ticket report --issuer {url} --issuer-token FILE --public-key \
             {key} {}`",
            folder.display()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_until_its_ticket_is_used() {
        let scene = tempfile::tempdir().unwrap();
        let folder = scene.path().join("new/b/");
        let path = request_file(&folder);
        assert_eq!(path, scene.path().join("new/b.request"));
        let first = number(&path).unwrap();
        assert_eq!(number(&path).unwrap(), first);
        fs::remove_file(&path).unwrap();
        assert_ne!(number(&path).unwrap(), first);
        fs::write(&path, "no number\n").unwrap();
        assert!(number(&path).unwrap_err().to_string().contains("remove it"));
    }
}
