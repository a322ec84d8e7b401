//! Reports for people: text for a terminal, one HTML page for whoever files it.

mod html;
mod text;

pub use html::html;
pub use text::plain;
