//! Opens policies and cards for commands.

use crate::failure::CommandFailure;
use anyhow::Context;
use portcullis_card::transport::model::ModelCard;
use portcullis_card::{CardChoice, CardKind, CardTransport};
use portcullis_core::state::AgentProfile;
use portcullis_gate::GatePolicy;
use portcullis_gate::anchor::{AnchorSet, AnchorStore};
use portcullis_mapping::TextMapper;
use portcullis_policy::{ImagePolicySet, PolicyPackageError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Which card.
#[derive(clap::Args, Clone)]
#[command(next_help_heading = "Card options")]
pub(crate) struct CardArgs {
    /// Card: `sim` (the Verilated RTL, in process), `model` (the card in Rust), `vfio-user:PATH` (a PCI device behind
    /// the socket of `portcullis card serve`), `vfio:BDF` (a PCI card behind an IOMMU) or `vfio-noiommu:BDF` (one
    /// without).
    #[arg(long, default_value_t = default_card())]
    card: CardChoice,
    #[command(flatten)]
    access: CardAccessArgs,
}

/// Which cards, for a command that can have several.
#[derive(clap::Args, Clone)]
#[command(next_help_heading = "Card options")]
pub(crate) struct CardsArgs {
    /// Card: `sim` (the Verilated RTL, in process), `model` (the card in Rust), `vfio-user:PATH` (a PCI device behind
    /// the socket of `portcullis card serve`), `vfio:BDF` (a PCI card behind an IOMMU) or `vfio-noiommu:BDF` (one
    /// without). Give it several times for several cards.
    #[arg(long = "card", value_name = "CARD")]
    pub(crate) cards: Vec<CardChoice>,
    #[command(flatten)]
    access: CardAccessArgs,
}

#[cfg(feature = "services")]
impl CardsArgs {
    /// This card, with the settings of the command line.
    pub(crate) fn of(&self, card: CardChoice) -> CardArgs {
        CardArgs { card, access: self.access.clone() }
    }
}

/// How a card is opened.
#[derive(clap::Args, Clone)]
#[command(next_help_heading = "Card options")]
struct CardAccessArgs {
    /// Lanes of the card: `model` has 1, 2, 4 or 8, `sim` 1 or 4 (built with `PORTCULLIS_LANES=8`: 1 or 8; without the
    /// feature `lanes`: 1). Others have their own.
    #[arg(long, value_name = "LANES")]
    lanes: Option<u8>,
    /// Drive a card that no IOMMU holds: it reaches all memory of this machine, and so does whoever made its image.
    #[arg(long)]
    allow_noiommu: bool,
    #[command(flatten)]
    #[cfg(feature = "sim")]
    sim: SimArgs,
}

/// How the simulated card behaves.
#[derive(clap::Args, Clone)]
#[command(next_help_heading = "Card options")]
#[cfg(feature = "sim")]
pub(crate) struct SimArgs {
    /// Simulated card: clocks from a read request to its data, 0 to 1000.
    #[arg(long, value_name = "CLOCKS", default_value_t = 100)]
    latency: u32,
    /// Simulated card: stalls of the bus, `none`, `every-fourth` or `random:SEED`.
    #[arg(long, value_name = "PATTERN", default_value = "none", value_parser = stall)]
    stall: portcullis_sim::BusStall,
    /// Simulated card: write an FST trace of every clock (builds with the feature `trace`).
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

#[cfg(feature = "sim")]
impl SimArgs {
    pub(crate) fn config(&self, lanes: u8) -> portcullis_sim::SimConfig {
        portcullis_sim::SimConfig {
            lanes: lanes.into(),
            read_latency: self.latency,
            stall: self.stall,
            trace: self.trace.clone(),
            ..portcullis_sim::SimConfig::default()
        }
    }
}

pub(crate) fn default_card() -> CardChoice {
    if cfg!(feature = "sim") { CardChoice::Sim } else { CardChoice::Model }
}

#[cfg(feature = "sim")]
fn stall(text: &str) -> Result<portcullis_sim::BusStall, String> {
    use portcullis_sim::BusStall;
    match text {
        "none" => Ok(BusStall::None),
        "every-fourth" => Ok(BusStall::EveryFourth),
        _ => text
            .strip_prefix("random:")
            .and_then(|seed| seed.parse().ok())
            .map(BusStall::Random)
            .ok_or_else(|| "expected `none`, `every-fourth` or `random:SEED`".into()),
    }
}

impl CardArgs {
    pub(crate) fn name(&self) -> &'static str {
        self.card.kind().name()
    }

    pub(crate) fn open(&self) -> Result<Box<dyn CardTransport>, CommandFailure> {
        let CardAccessArgs { lanes: asked, allow_noiommu, .. } = &self.access;
        let lanes = asked.unwrap_or(1);
        match self.card.kind() {
            #[cfg(feature = "sim")]
            CardKind::Sim => {
                let card = portcullis_card::transport::sim::SimCard::new(self.access.sim.config(lanes))
                    .context("the simulated card")?;
                return Ok(Box::new(card));
            }
            CardKind::Model => {
                let card = ModelCard::with_lanes(lanes);
                let card = card.with_context(|| format!("no model card of {lanes} lanes: it has 1, 2, 4 or 8"))?;
                return Ok(Box::new(card));
            }
            _ if asked.is_some() => {
                let why = "it has the lanes that it was built with; leave `--lanes` out";
                return Err(anyhow::anyhow!("card `{}`: {why}", self.card).into());
            }
            _ => {}
        }
        if self.card.kind() == CardKind::VfioNoIommu && !allow_noiommu {
            let why = "without an IOMMU the card reaches all memory of this machine; say `--allow-noiommu` if that is what you want";
            return Err(anyhow::anyhow!("card `{}`: {why}", self.card).into());
        }
        Ok(self.card.open().map_err(anyhow::Error::from)?)
    }
}

/// Which policy.
#[derive(clap::Args, Clone)]
pub(crate) struct PolicyArgs {
    /// Folder of the policy package, or of a composition of packages (`portcullis policy compose`).
    #[arg(long, value_name = "DIR")]
    pub(crate) policy: PathBuf,
    #[command(flatten)]
    pub(crate) member: MemberArg,
}

/// The option that selects an image for cards with a text lane.
#[derive(clap::Args, Clone, Copy, Default)]
pub(crate) struct TextLaneArg {
    /// Use the text lane: the card reads every text and finds the classes of the policy itself. The image, and so its
    /// digest, is another one than without the lane.
    #[arg(long)]
    pub(crate) text_lane: bool,
}

impl TextLaneArg {
    /// Loads and compiles the package or the composition in a folder, for cards with or without a text lane.
    pub(crate) fn load(self, dir: &Path) -> Result<ImagePolicySet, PolicyPackageError> {
        let policies = ImagePolicySet::load(dir)?;
        if self.text_lane { policies.with_text_lane() } else { Ok(policies) }
    }
}

/// Which member of a composition.
#[derive(clap::Args, Clone)]
pub(crate) struct MemberArg {
    /// Member of the composition whose policy judges; a package alone has none.
    #[arg(long, value_name = "NAME")]
    pub(crate) member: Option<String>,
}

impl PolicyArgs {
    /// Loads and compiles the policy, for cards without a text lane.
    pub(crate) fn open(&self) -> Result<Arc<GatePolicy>, CommandFailure> {
        self.open_for(TextLaneArg::default())
    }

    /// Loads and compiles the policy.
    pub(crate) fn open_for(&self, text_lane: TextLaneArg) -> Result<Arc<GatePolicy>, CommandFailure> {
        policy(&self.policy, &self.member, text_lane)
    }
}

/// Loads and compiles the package in a folder, or one member of a composition.
pub(crate) fn policy(
    dir: &Path,
    member: &MemberArg,
    text_lane: TextLaneArg,
) -> Result<Arc<GatePolicy>, CommandFailure> {
    let policy = text_lane.load(dir)?.into_policy(member.member.as_deref())?;
    let portcullis_policy::ImagePolicy { package, compiled, .. } = policy;
    let policy = GatePolicy::new(package, compiled).with_context(|| format!("policy package `{}`", dir.display()))?;
    Ok(Arc::new(policy))
}

/// Reads an agent's profile; without a file, an empty one.
pub(crate) fn profile(file: Option<&Path>) -> anyhow::Result<AgentProfile> {
    let Some(file) = file else { return Ok(AgentProfile::default()) };
    Ok(portcullis_settings::read(file)?)
}

pub(crate) fn anchors(files: &[PathBuf], mapper: &TextMapper) -> Result<AnchorSet, CommandFailure> {
    let stores =
        files.iter().map(|f| AnchorStore::open(f)).collect::<Result<Vec<_>, _>>().map_err(anyhow::Error::from)?;
    Ok(AnchorSet::new(stores, mapper))
}
