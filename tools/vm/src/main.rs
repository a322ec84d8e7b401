//! `cargo xtask vm`: tests the driver in a virtual machine.

mod initramfs;
mod machines;
mod noiommu;
mod packages;

use anyhow::Result;
use clap::Parser;
use portcullis_tools::tally::CheckTally;
use portcullis_tools::tool;

/// Test the driver in a virtual machine: a real kernel's VFIO and IOMMU.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version, max_term_width = 100)]
enum VmToolCommand {
    /// Test the driver in a virtual machine: a real kernel's VFIO and IOMMU.
    Vm {
        /// Instead, the card in a machine without an IOMMU: outside CI, as it builds a kernel module.
        #[arg(long)]
        without_iommu: bool,
    },
}

fn main() -> Result<()> {
    let VmToolCommand::Vm { without_iommu } = VmToolCommand::parse();
    std::env::set_current_dir(tool::root()?)?;
    let mut tally = CheckTally::default();
    if without_iommu {
        machines::without_iommu(&mut tally)?;
    } else {
        machines::run(&mut tally)?;
    }
    tally.finish()
}
