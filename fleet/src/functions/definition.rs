//! What the functions are, so that another process of a cluster can build the same ones.

use crate::trust::TrustFolder;
use crate::units::{AuditTask, ReplayTask, VerifyTask};
use datafusion::arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarFunctionImplementation, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use portcullis_evidence::verify::judge::ChainJudge;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A scalar function of the audit, with everything that its results depend on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Definition {
    TreeRoot,
    TreeSize,
    ColumnsHold,
    DecodeTicket,
    DecodeCheckpoint,
    DecodeNote,
    CheckpointSigned(TrustFolder),
    VerifyBundle(VerifyTask),
    ReplayBundle(ReplayTask),
}

impl Definition {
    /// The functions that every query can use.
    pub(crate) const PLAIN: [Self; 6] = [
        Self::TreeRoot,
        Self::TreeSize,
        Self::ColumnsHold,
        Self::DecodeTicket,
        Self::DecodeCheckpoint,
        Self::DecodeNote,
    ];

    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::TreeRoot => "tree_root",
            Self::TreeSize => "tree_size",
            Self::ColumnsHold => "columns_hold",
            Self::DecodeTicket => "decode_ticket",
            Self::DecodeCheckpoint => "decode_checkpoint",
            Self::DecodeNote => "decode_note",
            Self::CheckpointSigned(_) => "checkpoint_signed",
            Self::VerifyBundle(_) => VerifyTask::NAME,
            Self::ReplayBundle(_) => ReplayTask::NAME,
        }
    }
}

impl From<VerifyTask> for Definition {
    fn from(task: VerifyTask) -> Self {
        Self::VerifyBundle(task)
    }
}

impl From<ReplayTask> for Definition {
    fn from(task: ReplayTask) -> Self {
        Self::ReplayBundle(task)
    }
}

/// An aggregate of the audit, with everything that its results depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Aggregate {
    Tree,
    JudgeCards(ChainJudge),
    JudgeTickets,
}

impl Aggregate {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::JudgeCards(_) => "judge_cards",
            Self::JudgeTickets => "judge_tickets",
        }
    }
}

/// A scalar function of this program.
pub(crate) struct AuditFunction {
    definition: Definition,
    signature: Signature,
    returns: DataType,
    run: ScalarFunctionImplementation,
}

impl AuditFunction {
    /// The function with this definition, from its types and its body.
    pub(crate) fn of(
        definition: Definition,
        inputs: Vec<DataType>,
        returns: DataType,
        volatility: Volatility,
        run: impl Fn(&[ColumnarValue]) -> Result<ColumnarValue> + Send + Sync + 'static,
    ) -> ScalarUDF {
        let signature = Signature::exact(inputs, volatility);
        ScalarUDF::from(Self { definition, signature, returns, run: Arc::new(run) })
    }

    #[cfg(feature = "cluster")]
    pub(crate) const fn definition(&self) -> &Definition {
        &self.definition
    }
}

impl fmt::Debug for AuditFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function").field("name", &self.definition.name()).finish_non_exhaustive()
    }
}

// Functions with equal definitions do the same.
impl PartialEq for AuditFunction {
    fn eq(&self, other: &Self) -> bool {
        self.definition == other.definition
    }
}

impl Eq for AuditFunction {}

impl Hash for AuditFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.definition.hash(state);
    }
}

impl ScalarUDFImpl for AuditFunction {
    fn name(&self) -> &str {
        self.definition.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.returns.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        (self.run)(&args.args)
    }
}
