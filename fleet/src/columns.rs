//! Typed columns of values in memory: the units of the work, what they reply, facts and findings. A value is a struct
//! of the engine, and its fields have the names that serde gives them.

use crate::error::FleetError;
use datafusion::arrow::array::{Array, RecordBatch, StructArray};
use datafusion::arrow::datatypes::DataType::{Binary, Boolean, Struct, UInt16, UInt64, Utf8};
use datafusion::arrow::datatypes::{DataType, Field, Fields, Schema};
use datafusion::arrow::json::{LineDelimitedWriter, ReaderBuilder};
use portcullis_fleet_core::{AuditFinding, AuditFindingSource, FleetCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Values that are read at one time.
const VALUES: usize = 1 << 10;

/// Values as structs. Errors: a value has other fields than these.
pub(crate) fn structs<T: Serialize>(fields: &Fields, values: &[T]) -> Result<StructArray, FleetError> {
    let schema = Arc::new(Schema::new(fields.clone()));
    let mut decoder = ReaderBuilder::new(Arc::clone(&schema)).with_strict_mode(true).build_decoder()?;
    decoder.serialize(values)?;
    Ok(decoder.flush()?.unwrap_or_else(|| RecordBatch::new_empty(schema)).into())
}

/// The values of structs. Errors: a struct has no value of this type.
pub(crate) fn values<T: DeserializeOwned>(structs: &StructArray) -> Result<Vec<T>, FleetError> {
    let schema = Arc::new(Schema::new(structs.fields().clone()));
    let mut values = Vec::with_capacity(structs.len());
    for from in (0..structs.len()).step_by(VALUES) {
        let part = structs.slice(from, VALUES.min(structs.len().saturating_sub(from)));
        let mut text = Vec::new();
        let mut writer = LineDelimitedWriter::new(&mut text);
        writer.write(&RecordBatch::try_new(Arc::clone(&schema), part.columns().to_vec())?)?;
        writer.finish()?;
        for value in serde_json::Deserializer::from_slice(&text).into_iter() {
            values.push(value?);
        }
    }
    Ok(values)
}

fn fields<const N: usize>(fields: [(&str, DataType); N]) -> Fields {
    fields.into_iter().map(|(name, kind)| Field::new(name, kind, true)).collect()
}

fn list(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(item, true)))
}

/// The columns of a unit of the work.
pub(crate) fn units() -> Fields {
    let place = fields([("bundle", Utf8), ("name", Utf8), ("uri", Utf8), ("is_asked", Boolean)]);
    fields([("bundle", Utf8), ("name", Utf8), ("uri", Utf8), ("earlier", list(Struct(place))), ("kept", Boolean)])
}

/// The columns of a reply to a unit.
pub(crate) fn replies() -> Fields {
    fields([("keep", Boolean), ("outcome", Utf8)])
}

/// The columns of a fact about chains: one of them is not null.
pub(crate) fn chain_facts() -> Fields {
    let view = Struct(fields([
        ("witness", Utf8),
        ("key", Binary),
        ("seat", UInt16),
        ("index", UInt64),
        ("size", UInt64),
        ("leaf", Binary),
        ("path", list(Binary)),
    ]));
    let session = fields([
        ("key", Binary),
        ("seat", UInt16),
        ("serial", UInt64),
        ("name", Utf8),
        ("ticket", Binary),
        ("is_self_issued", Boolean),
        ("issuer", Binary),
        ("previous_close", Binary),
        ("last_checkpoint", Binary),
        ("checkpoints", UInt64),
        ("digests", list(Struct(fields([("serial", UInt64), ("digest", Binary)])))),
        ("policy", Binary),
        ("is_closed", Boolean),
        ("is_known", Boolean),
        ("is_genuine", Boolean),
        ("is_own_key", Boolean),
        ("witnessed", list(UInt64)),
        ("notes", list(view.clone())),
    ]);
    let ticket = fields([
        ("key", Binary),
        ("seat", UInt16),
        ("serial", UInt64),
        ("ticket", Binary),
        ("name", Utf8),
        ("is_trusted", Boolean),
    ]);
    let note = fields([
        ("key", Binary),
        ("seat", UInt16),
        ("serial", UInt64),
        ("name", Utf8),
        ("seen", Struct(fields([("serial", UInt64), ("digest", Binary), ("view", view)]))),
    ]);
    let logged = fields([
        ("key", Binary),
        ("seat", UInt16),
        ("serial", UInt64),
        ("ticket", Binary),
        ("state", Utf8),
        ("is_opened", Boolean),
    ]);
    fields([
        ("session", Struct(session)),
        ("ticket", Struct(ticket)),
        ("note", Struct(note)),
        ("logged", Struct(logged)),
    ])
}

/// The columns of a finding about chains.
pub(crate) fn findings() -> Fields {
    fields([("code", Utf8), ("key", Utf8), ("seat", UInt16), ("serial", UInt64), ("bundle", Utf8), ("detail", Utf8)])
}

/// A finding about chains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FindingRow {
    code: String,
    key: Option<String>,
    seat: Option<u16>,
    serial: Option<u64>,
    bundle: Option<String>,
    detail: String,
}

impl From<AuditFinding> for FindingRow {
    fn from(finding: AuditFinding) -> Self {
        let AuditFinding { code, key, seat, serial, bundle, detail, .. } = finding;
        Self { code: code.into_owned(), key, seat, serial, bundle, detail }
    }
}

impl FindingRow {
    /// The finding. Errors: this program does not have the code.
    pub(crate) fn finding(self) -> Result<AuditFinding, FleetError> {
        let Self { code, key, seat, serial, bundle, detail } = self;
        let code = FleetCode::of_id(&code).ok_or(FleetError::Column("code"))?;
        Ok(AuditFinding {
            key,
            seat,
            serial,
            ..AuditFinding::of_fleet(AuditFindingSource::Fleet, code, bundle.as_deref(), detail)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{AuditUnit, EarlierChainBundle, ReplyRow};
    use portcullis_core::hex::HexBytes;
    use portcullis_evidence::note::LogView;
    use portcullis_evidence::public_log::LoggedSessionState;
    use portcullis_evidence::verify::judge::{
        ChainFact, LoggedFacts, NoteFacts, SeenCheckpoint, SessionFacts, ShownCheckpoint, TicketFacts,
    };
    use std::fmt::Debug;

    #[track_caller]
    fn arrive<T: Serialize + DeserializeOwned + PartialEq + Debug>(fields: &Fields, sent: &[T]) {
        let structs = structs(fields, sent).unwrap();
        assert_eq!((structs.len(), structs.null_count()), (sent.len(), 0));
        assert_eq!(values::<T>(&structs).unwrap(), sent);
        assert_eq!(values::<T>(&structs.slice(1, sent.len() - 1)).unwrap(), sent[1..]);
    }

    /// Every field arrives, with a value and without one.
    #[test]
    fn values_arrive_whole() {
        let digest = |byte| Some(HexBytes([byte; 32]));
        let view = LogView {
            witness: "w\"\n".to_owned(),
            key: HexBytes([1; 32]),
            seat: 2,
            index: 3,
            size: u64::MAX,
            leaf: HexBytes([4; 32]),
            path: vec![HexBytes([5; 32]), HexBytes([6; 32])],
        };
        let session = SessionFacts {
            key: digest(1),
            seat: Some(u16::MAX),
            serial: Some(u64::MAX),
            name: "ä".to_owned(),
            ticket: digest(2),
            is_self_issued: true,
            issuer: digest(3),
            previous_close: digest(4),
            last_checkpoint: digest(5),
            checkpoints: 7,
            digests: Some(vec![ShownCheckpoint { serial: 0, digest: HexBytes([7; 32]) }]),
            policy: digest(6),
            is_closed: true,
            is_known: true,
            is_genuine: true,
            is_own_key: true,
            witnessed: Some((1, 2)),
            notes: vec![view.clone(), view.clone()],
        };
        let ticket =
            TicketFacts { key: digest(1), seat: Some(0), serial: Some(1), ticket: digest(2), ..TicketFacts::default() };
        let seen = Some(SeenCheckpoint { serial: 1, digest: HexBytes([8; 32]), view });
        let states = [
            LoggedSessionState::Issued,
            LoggedSessionState::Opened,
            LoggedSessionState::Closed,
            LoggedSessionState::Abandoned,
        ];
        let logged = states.map(|state| {
            let (key, ticket) = (HexBytes([1; 32]), HexBytes([2; 32]));
            ChainFact::Logged(LoggedFacts { key, seat: 1, serial: 2, ticket, state, is_opened: true })
        });
        let empty = SessionFacts { digests: Some(Vec::new()), ..SessionFacts::default() };
        let mut facts = vec![
            ChainFact::Session(session),
            ChainFact::Session(SessionFacts::default()),
            ChainFact::Session(empty),
            ChainFact::Ticket(ticket),
            ChainFact::Ticket(TicketFacts::default()),
            ChainFact::Note(NoteFacts { seen, ..NoteFacts::default() }),
            ChainFact::Note(NoteFacts::default()),
        ];
        facts.extend(logged);
        arrive(&chain_facts(), &facts);
        let many: Vec<ChainFact> = facts.iter().cycle().take(VALUES * 2 + 1).cloned().collect();
        arrive(&chain_facts(), &many);
        let place =
            EarlierChainBundle { bundle: "b".to_owned(), name: "n".to_owned(), uri: "u".to_owned(), is_asked: true };
        let unit = AuditUnit {
            bundle: "b".to_owned(),
            name: "n".to_owned(),
            uri: "u".to_owned(),
            earlier: vec![place],
            kept: true,
        };
        arrive(&units(), &[unit, AuditUnit::default()]);
        let reply = ReplyRow { keep: true, outcome: Some("{}".to_owned()) };
        arrive(&replies(), &[reply, ReplyRow { keep: false, outcome: None }]);
        let finding = AuditFinding {
            key: Some("k".to_owned()),
            ..AuditFinding::of_fleet(AuditFindingSource::Fleet, FleetCode::Fork, Some("b"), "what")
        };
        let other = AuditFinding::of_fleet(AuditFindingSource::Fleet, FleetCode::ChainMissing, None, "what");
        arrive(&findings(), &[FindingRow::from(finding.clone()), FindingRow::from(other)]);
        assert_eq!(FindingRow::from(finding.clone()).finding().unwrap(), finding);
    }

    #[test]
    fn other_fields_are_refused() {
        let reply = ReplyRow { keep: true, outcome: None };
        assert!(structs(&units(), &[reply]).is_err());
        let replies = structs(&replies(), &[ReplyRow { keep: true, outcome: None }]).unwrap();
        assert!(values::<AuditUnit>(&replies).is_err());
    }
}
