//! Checks the session's ticket: a trusted issuer made it, for this card and this policy.

use crate::format::bundle::{self, Bundle, BundleError};
use crate::format::certificate::{DeviceCertificate, key_id};
use crate::format::ticket::{SELF_ISSUER, SessionTicket, SignedTicket};
use crate::verify::check::image::BundleImage;
use crate::verify::code::Code;
use crate::verify::findings::VerifyFindings;
use crate::verify::report::EvidenceSummary;
use crate::verify::trust::{SignerIdentity, TrustedParties};
use portcullis_core::hex::{self, HexBytes};

/// Reads the ticket.
pub(crate) fn read(
    bundle: &Bundle<'_>,
    findings: &mut VerifyFindings,
    summary: &mut EvidenceSummary,
) -> Result<Option<SignedTicket<SessionTicket>>, BundleError> {
    let ticket = match SessionTicket::parse(&bundle.read(bundle::TICKET)?) {
        Ok(ticket) => ticket,
        Err(error) => {
            findings.add(Code::TicketMalformed, error);
            return Ok(None);
        }
    };
    summary.ticket_serial = Some(ticket.content.serial);
    summary.ticket_digest = Some(HexBytes(ticket.digest));
    summary.profiles_pinned = Some(!ticket.content.profiles.is_empty());
    summary.seat = Some(ticket.content.seat);
    summary.previous_close = Some(HexBytes(ticket.content.previous_close));
    Ok(Some(ticket))
}

/// Finds the issuer of a ticket that was used before the Unix second `used`, if a time is known.
pub(crate) fn issuer(
    ticket: &SignedTicket<SessionTicket>,
    trust: &TrustedParties,
    used: Option<u64>,
    findings: &mut VerifyFindings,
) -> SignerIdentity {
    let issuer = trust.issuer(ticket, used).unwrap_or_else(|error| {
        findings.add(Code::TicketIssuer, error);
        SignerIdentity::unknown(&ticket.content.issuer)
    });
    if issuer.key.is_none() && issuer.claimed == SELF_ISSUER {
        findings.add(Code::NoWitness, "the operator issued the ticket: nobody else saw the session");
    }
    issuer
}

pub(crate) fn card(ticket: &SessionTicket, device: &DeviceCertificate) -> VerifyFindings {
    let same = ticket.key == key_id(&device.public_key);
    VerifyFindings::unless(same, Code::TicketKey, || "the ticket is for another card".to_owned())
}

/// Checks that the ticket permits the tables. The digest is over the whole image, whatever its layout.
pub(crate) fn tables(ticket: &SessionTicket, image: &[u8; 32]) -> VerifyFindings {
    VerifyFindings::unless(ticket.policy == *image, Code::TicketPolicy, || {
        format!("the ticket is for policy digest {}", hex::encode(&ticket.policy))
    })
}

/// Reports an image without a text part if the ticket requires the text lane.
pub(crate) fn text_lane(ticket: &SessionTicket, image: Option<&BundleImage>) -> VerifyFindings {
    VerifyFindings::unless(
        !ticket.text_lane || image.is_none_or(|image| image.tables.text().is_some()),
        Code::TextLane,
        || "the ticket requires the text lane, and the table image does not use it".to_owned(),
    )
}
