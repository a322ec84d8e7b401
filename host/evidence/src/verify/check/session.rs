//! Checks session records: OPEN and CLOSE name the tables and the ticket; an ALARM ends the session.

use crate::format::ticket::{SessionTicket, SignedTicket};
use crate::verify::check::image::BundleImage;
use crate::verify::code::Code;
use crate::verify::findings::VerifyFindings;
use portcullis_core::hex;
use portcullis_core::wire::{RecordType, SessionFields, features};

/// Compares the tables in OPEN and CLOSE with the image, and reports an ALARM.
pub(crate) fn tables(kind: RecordType, session: &SessionFields, image: Option<&BundleImage>) -> VerifyFindings {
    let mut findings = VerifyFindings::default();
    let Some(image) = image else { return findings };
    if kind == RecordType::Open {
        let used = session.features.get() & features::TEXT_LANE != 0;
        findings.require(used == image.tables.text().is_some(), Code::OpenFeatures, || {
            let (used, part) = if used { ("uses", "no") } else { ("does not use", "a") };
            format!("the session {used} the text lane, but the image has {part} text part")
        });
    }
    match kind {
        RecordType::Open | RecordType::Close => {
            let open = kind == RecordType::Open;
            let (code, name) = if open { (Code::OpenPolicy, "OPEN") } else { (Code::ClosePolicy, "CLOSE") };
            let what = || format!("{name} records policy digest {}", hex::encode(&session.policy_digest));
            findings.require(session.policy_digest == image.digest, code, what);
            let what = || format!("{name} records package digest {}", hex::encode(&session.package_digest));
            findings.require(
                session.package_digest == image.tables.header().package_digest,
                Code::SessionPackage,
                what,
            );
        }
        RecordType::Alarm => {
            findings.add(Code::Alarm, format_args!("the card stopped with fault {:#06x}", session.cause.get()));
        }
        _ => {}
    }
    findings
}

pub(crate) fn ticket(
    kind: RecordType,
    session: &SessionFields,
    ticket: Option<&SignedTicket<SessionTicket>>,
) -> VerifyFindings {
    let mut findings = VerifyFindings::default();
    let (RecordType::Open, Some(ticket)) = (kind, ticket) else { return findings };
    findings.require(session.ticket_digest == ticket.digest, Code::OpenTicket, || {
        format!("OPEN names ticket {}", hex::encode(&session.ticket_digest))
    });
    let same = session.heartbeat_records.get() == ticket.content.heartbeat_records
        && session.heartbeat_ticks.get() == ticket.content.heartbeat_ticks;
    findings
        .require(same, Code::HeartbeatLimits, || "OPEN latched other heartbeat limits than the ticket sets".to_owned());
    findings
}
