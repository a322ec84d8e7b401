//! End-to-end tests across crates; see the `tests` folder.
