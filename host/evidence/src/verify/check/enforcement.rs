//! Checks whether the streams of the session could be kept from their readers.

use crate::verify::code::Code;
use crate::verify::findings::VerifyFindings;
use crate::verify::report::{StreamModeCounts, VerifyOptions};

/// Reports streams in which nothing was prevented, unless the options accept them.
pub(crate) fn check(modes: &StreamModeCounts, options: VerifyOptions) -> VerifyFindings {
    let without = modes.not_enforced();
    VerifyFindings::unless(without == 0 || options.allow_not_enforced, Code::NotEnforced, || {
        let all = without.saturating_add(modes.enforced());
        format!("{without} of {all} streams were only recorded or observed: refused text was not kept from a reader")
    })
}
