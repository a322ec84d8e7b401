//! Evidence: what a card logs and signs, how it is bundled, and how somebody who trusts neither operator nor card checks it.

pub mod tree;
