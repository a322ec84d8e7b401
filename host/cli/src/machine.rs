//! `portcullis card list|bind|unbind|doctor`: cards in this machine.

use crate::failure::{CommandFailure, ERROR, SUCCESS};
use portcullis_card::CardKind;
use portcullis_card::diagnostics::doctor::CardDoctor;
use portcullis_card::machine::pci::{Bdf, PciFunction, Sysfs, VFIO_PCI};
use portcullis_report::terminal::TerminalTone;
use portcullis_verify::console::stdout_terminal;

/// Whether a function has the ids of a card, or is bound to VFIO, since a card can be built with other ids.
fn may_be_card(function: &PciFunction) -> bool {
    function.driver.as_deref() == Some(VFIO_PCI) || function.has_card_ids()
}

/// Lists the kinds of card, then the PCI functions of this machine that may be cards.
pub(crate) fn list(all: bool, json: bool) -> Result<u8, CommandFailure> {
    let functions = Sysfs::default().functions().map_err(anyhow::Error::from)?;
    let functions: Vec<&PciFunction> = functions.iter().filter(|f| all || may_be_card(f)).collect();
    if json {
        let kinds: Vec<&str> = CardKind::ALL.iter().map(|kind| kind.usage()).collect();
        let functions: Vec<_> = functions.iter().map(|f| {
            serde_json::json!({ "bdf": f.bdf.to_string(), "vendor": f.vendor, "device": f.device, "driver": f.driver, "group": f.group, "noiommu": f.noiommu })
        }).collect();
        outln!("{}", serde_json::json!({ "kinds": kinds, "functions": functions }));
        return Ok(SUCCESS);
    }
    for kind in CardKind::ALL {
        outln!("{}", kind.usage());
    }
    for f in functions {
        let driver = f.driver.as_deref().unwrap_or("no driver");
        let group = match (f.group, f.noiommu) {
            (Some(group), false) => format!("IOMMU group {group}"),
            (Some(group), true) => format!("no-IOMMU group {group}"),
            (None, _) => "no group".into(),
        };
        outln!("{} {:04x}:{:04x} {driver}, {group}", f.bdf, f.vendor, f.device);
    }
    Ok(SUCCESS)
}

pub(crate) fn bind(bdf: Bdf, force: bool) -> Result<u8, CommandFailure> {
    Sysfs::default().bind(bdf, force).map_err(anyhow::Error::from)?;
    outln!("{bdf} has {VFIO_PCI}");
    Ok(SUCCESS)
}

pub(crate) fn unbind(bdf: Bdf) -> Result<u8, CommandFailure> {
    let sysfs = Sysfs::default();
    sysfs.unbind(bdf).map_err(anyhow::Error::from)?;
    let driver = sysfs.function(bdf).map_err(anyhow::Error::from)?.driver;
    outln!("{bdf} has {}", driver.as_deref().unwrap_or("no driver"));
    Ok(SUCCESS)
}

/// Reports missing requirements. The exit code is 1 if there are any.
pub(crate) fn doctor(bdf: Bdf, json: bool) -> Result<u8, CommandFailure> {
    let findings = CardDoctor::default().examine(bdf);
    let terminal = stdout_terminal();
    for finding in &findings {
        if json {
            outln!("{}", serde_json::json!({ "what": finding.what, "found": finding.found, "remedy": finding.remedy }));
            continue;
        }
        let (tone, mark) =
            if finding.remedy.is_some() { (TerminalTone::Bad, "MISSING") } else { (TerminalTone::Good, "ok     ") };
        let line = format!("{} {}: {}", terminal.paint(tone, mark), finding.what, finding.found);
        outln!("{}", terminal.wrap(8, &line));
        if let Some(remedy) = &finding.remedy {
            outln!("{}", terminal.wrap(8, &format!("        {remedy}")));
        }
    }
    Ok(if findings.iter().any(|f| f.remedy.is_some()) { ERROR } else { SUCCESS })
}
