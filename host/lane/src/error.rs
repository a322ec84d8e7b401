//! Errors of the lane's tables.

/// Bytes that are not tables.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TablesError {
    /// They begin otherwise.
    #[error("not tables of a text lane: they begin with `PCTLANE1`")]
    Magic,
    /// Their length is another.
    #[error("tables of {said} bytes in {given} bytes: they are cut short, or something follows them")]
    Length {
        /// What they say.
        said: u32,
        /// What there is.
        given: usize,
    },
    /// They end within a part.
    #[error("the tables end at byte {at}, where {wants} more bytes are needed")]
    Short {
        /// Where they are read.
        at: usize,
        /// How many bytes are wanted.
        wants: usize,
    },
    /// A field has a value that no card can walk.
    #[error("in the part at byte {at}: `{field}` is out of range")]
    Field {
        /// The part.
        at: usize,
        /// The field.
        field: &'static str,
    },
    /// They are not in their one form.
    #[error("the tables are not in their one form: padding, unused entries or rows differ")]
    Form,
}
