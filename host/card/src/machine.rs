//! The machine that a card sits in: its PCI functions, their drivers, their register windows.

pub mod bar;
pub mod pci;
