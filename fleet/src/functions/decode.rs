//! Functions that read statements and records from their bytes.

use super::{AuditFunction, Definition, arrays, at, binary, fixed, text};
use crate::rows::{BYTES, RECORD};
use crate::trust::TrustFolder;
use datafusion::arrow::array::{
    Array, ArrayRef, BooleanArray, StringArray, StructArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use datafusion::arrow::datatypes::{DataType, Field, Fields};
use datafusion::common::cast::{as_uint16_array, as_uint32_array, as_uint64_array};
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Volatility};
use portcullis_core::hex;
use portcullis_evidence::certificate::verify_chain;
use portcullis_evidence::checkpoint::CoseCheckpoint;
use portcullis_evidence::note::{LogTreeHead, SignedNote, WitnessProof};
use portcullis_evidence::ticket::{ChainId, SessionTicket};
use portcullis_fleet_core::RecordColumns;
use std::sync::Arc;

/// A column of a struct: its name, its type, and the value of each row.
type Part<T> = (&'static str, DataType, fn(&[Option<T>]) -> ArrayRef);

/// A function that decodes a message into a struct. All fields are null for a malformed message.
fn decoder<T: 'static>(definition: Definition, parse: fn(&[u8]) -> Option<T>, parts: &'static [Part<T>]) -> ScalarUDF {
    let fields: Fields = parts.iter().map(|(name, kind, _)| Field::new(*name, kind.clone(), true)).collect();
    let of = fields.clone();
    let decode = move |args: &[ColumnarValue]| -> Result<ColumnarValue> {
        let args = arrays(args)?;
        let rows: Vec<Option<T>> = binary(&args, 0)?.iter().map(|message| message.and_then(parse)).collect();
        let columns = parts.iter().map(|(_, _, column)| column(&rows)).collect();
        Ok(ColumnarValue::Array(Arc::new(StructArray::try_new(of.clone(), columns, None)?)))
    };
    AuditFunction::of(definition, vec![DataType::Binary], DataType::Struct(fields), Volatility::Immutable, decode)
}

fn texts<T>(rows: &[Option<T>], value: impl Fn(&T) -> Option<String>) -> ArrayRef {
    Arc::new(StringArray::from_iter(rows.iter().map(|row| row.as_ref().and_then(&value))))
}

fn hexes<T>(rows: &[Option<T>], value: impl Fn(&T) -> [u8; 32]) -> ArrayRef {
    texts(rows, |row| Some(hex::encode(&value(row))))
}

fn numbers<T>(rows: &[Option<T>], value: impl Fn(&T) -> u64) -> ArrayRef {
    Arc::new(UInt64Array::from_iter(rows.iter().map(|row| row.as_ref().map(&value))))
}

fn seats<T>(rows: &[Option<T>], value: impl Fn(&T) -> u16) -> ArrayRef {
    Arc::new(UInt16Array::from_iter(rows.iter().map(|row| row.as_ref().map(&value))))
}

/// `decode_ticket(content)`.
pub(crate) fn decode_ticket() -> ScalarUDF {
    type Signed = portcullis_evidence::ticket::SignedTicket<SessionTicket>;
    const PARTS: &[Part<Signed>] = &[
        ("digest", DataType::Utf8, |rows| hexes(rows, |row| row.digest)),
        ("key", DataType::Utf8, |rows| hexes(rows, |row| row.content.key)),
        ("seat", DataType::UInt16, |rows| seats(rows, |row| row.content.seat)),
        ("serial", DataType::UInt64, |rows| numbers(rows, |row| row.content.serial)),
        ("policy", DataType::Utf8, |rows| hexes(rows, |row| row.content.policy)),
        ("previous_close", DataType::Utf8, |rows| hexes(rows, |row| row.content.previous_close)),
        ("not_before", DataType::UInt64, |rows| numbers(rows, |row| row.content.not_before)),
        ("not_after", DataType::UInt64, |rows| numbers(rows, |row| row.content.not_after)),
        ("issuer", DataType::Utf8, |rows| texts(rows, |row| Some(row.content.issuer.clone()))),
    ];
    decoder(Definition::DecodeTicket, |message| SessionTicket::parse(message).ok(), PARTS)
}

/// `decode_checkpoint(message)`.
pub(crate) fn decode_checkpoint() -> ScalarUDF {
    const PARTS: &[Part<CoseCheckpoint>] = &[
        ("digest", DataType::Utf8, |rows| hexes(rows, |row| row.checkpoint.digest())),
        ("serial", DataType::UInt64, |rows| numbers(rows, |row| row.checkpoint.wire.serial.get())),
        ("size", DataType::UInt64, |rows| numbers(rows, |row| row.checkpoint.wire.size.get())),
        ("tick", DataType::UInt64, |rows| numbers(rows, |row| row.checkpoint.wire.tick.get())),
        ("state", DataType::Utf8, |rows| texts(rows, |row| Some(row.checkpoint.state.name().to_owned()))),
        ("root", DataType::Utf8, |rows| hexes(rows, |row| row.checkpoint.wire.root)),
        ("policy", DataType::Utf8, |rows| hexes(rows, |row| row.checkpoint.wire.policy_digest)),
        ("ticket", DataType::Utf8, |rows| hexes(rows, |row| row.checkpoint.wire.ticket_digest)),
        ("lanes", DataType::UInt8, |rows| {
            Arc::new(UInt8Array::from_iter(rows.iter().map(|row| Some(row.as_ref()?.checkpoint.wire.lanes))))
        }),
        ("epoch", DataType::UInt32, |rows| {
            Arc::new(UInt32Array::from_iter(rows.iter().map(|row| Some(row.as_ref()?.checkpoint.wire.epoch.get()))))
        }),
    ];
    decoder(Definition::DecodeCheckpoint, |message| CoseCheckpoint::parse(message).ok(), PARTS)
}

/// `decode_note(content)`. Nothing of it is checked.
pub(crate) fn decode_note() -> ScalarUDF {
    type Parsed = (WitnessProof, ChainId);
    const PARTS: &[Part<Parsed>] = &[
        ("key", DataType::Utf8, |rows| hexes(rows, |row| row.1.key)),
        ("seat", DataType::UInt16, |rows| seats(rows, |row| row.1.seat)),
        ("serial", DataType::UInt64, |rows| numbers(rows, |row| row.0.entry.ticket)),
        ("checkpoint", DataType::UInt64, |rows| numbers(rows, |row| row.0.entry.serial)),
        ("digest", DataType::Utf8, |rows| hexes(rows, |row| row.0.entry.checkpoint)),
    ];
    decoder(Definition::DecodeNote, parse_note, PARTS)
}

/// The parts of a note, and the chain that it is about. Nothing of it is checked.
pub(crate) fn parse_note(note: &[u8]) -> Option<(WitnessProof, ChainId)> {
    let proof = WitnessProof::parse(note).ok()?;
    let chain = LogTreeHead::parse(SignedNote::parse(&proof.note).ok()?.text).ok()?.chain().ok()?;
    Some((proof, chain))
}

/// A certificate, those between it and the root, and the key of the card if a trusted root certified it.
type Certified<'a> = (&'a [u8], &'a [u8], Option<[u8; 32]>);

/// `checkpoint_signed(message, certificate, chain)`: whether a card signed that a trusted root certified. When the
/// certificate was valid, and whether a key was revoked later, are questions for the verifier of the bundle.
pub(crate) fn checkpoint_signed(trust: &TrustFolder) -> ScalarUDF {
    let definition = Definition::CheckpointSigned(trust.clone());
    let roots = trust.trust().roots.clone().without_dated_revocations();
    let signed = move |args: &[ColumnarValue]| -> Result<ColumnarValue> {
        let args = arrays(args)?;
        let (messages, certificates, chains) = (binary(&args, 0)?, binary(&args, 1)?, binary(&args, 2)?);
        // The rows of a bundle follow each other, and all of them have its certificate.
        let mut last: Option<Certified<'_>> = None;
        let mut is_signed = |row: usize| {
            let (message, certificate, chain) = (at(messages, row)?, at(certificates, row)?, at(chains, row)?);
            let key = match last {
                Some((leaf, between, key)) if (leaf, between) == (certificate, chain) => key,
                _ => verify_chain(certificate, chain, &roots, None).ok().map(|device| device.public_key),
            };
            last = Some((certificate, chain, key));
            Some(CoseCheckpoint::parse(message).is_ok_and(|signed| key.is_some_and(|key| signed.verify(&key))))
        };
        let rows = (0..messages.len()).map(|row| Some(is_signed(row).unwrap_or(false)));
        Ok(ColumnarValue::Array(Arc::new(BooleanArray::from_iter(rows))))
    };
    let inputs = vec![DataType::Binary; 3];
    AuditFunction::of(definition, inputs, DataType::Boolean, Volatility::Stable, signed)
}

/// `columns_hold(record, record_index, tick, kind, slot, sequence, determination, stage, fault)`: whether the decoded
/// columns are those of the record's bytes.
pub(crate) fn columns_hold() -> ScalarUDF {
    let hold = |args: &[ColumnarValue]| -> Result<ColumnarValue> {
        let args = arrays(args)?;
        let records = fixed(&args, 0)?;
        let number = |column: usize| as_uint64_array(super::argument(&args, column)?);
        let short = |column: usize| as_uint16_array(super::argument(&args, column)?);
        let (index, tick, slot, fault) = (number(1)?, number(2)?, short(4)?, short(8)?);
        let sequence = as_uint32_array(super::argument(&args, 5)?)?;
        let (kind, determination, stage) = (text(&args, 3)?, text(&args, 6)?, text(&args, 7)?);
        let holds = |row: usize| -> Option<bool> {
            let columns = RecordColumns::of(<&[u8; BYTES]>::try_from(at(records, row)?).ok()?);
            Some(
                (index.is_valid(row) && index.value(row) == columns.index)
                    && (tick.is_valid(row) && tick.value(row) == columns.tick)
                    && at(kind, row) == Some(columns.kind)
                    && slot.is_valid(row).then(|| slot.value(row)) == columns.slot
                    && sequence.is_valid(row).then(|| sequence.value(row)) == columns.sequence
                    && at(determination, row) == columns.determination
                    && at(stage, row) == columns.stage
                    && (fault.is_valid(row) && fault.value(row) == columns.fault),
            )
        };
        let rows = (0..records.len()).map(|row| Some(holds(row).unwrap_or(false)));
        Ok(ColumnarValue::Array(Arc::new(BooleanArray::from_iter(rows))))
    };
    let inputs = vec![
        RECORD,
        DataType::UInt64,
        DataType::UInt64,
        DataType::Utf8,
        DataType::UInt16,
        DataType::UInt32,
        DataType::Utf8,
        DataType::Utf8,
        DataType::UInt16,
    ];
    AuditFunction::of(Definition::ColumnsHold, inputs, DataType::Boolean, Volatility::Immutable, hold)
}
