//! Errors of reading a lane's tables.

/// Why bytes are not valid tables.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TablesError {
    #[error("not tables of a text lane: they begin with `PCTLANE2`")]
    Magic,
    /// The length differs from the length field.
    #[error("tables of {said} bytes in {given} bytes: they are cut short, or something follows them")]
    Length {
        /// The value of the length field.
        said: u32,
        /// The actual length.
        given: usize,
    },
    /// The bytes end inside a part.
    #[error("the tables end at byte {at}, where {wants} more bytes are needed")]
    Short {
        /// Offset at which the bytes end.
        at: usize,
        /// Number of bytes needed.
        wants: usize,
    },
    /// A field has a value that a card cannot use.
    #[error("in the part at byte {at}: `{field}` is out of range")]
    Field {
        /// Offset of the part.
        at: usize,
        field: &'static str,
    },
    /// The bytes are not in canonical form.
    #[error("the tables are not in their one form: padding, unused entries or rows differ")]
    Form,
}
