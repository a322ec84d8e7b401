//! Bodies of the fuzz targets. Each reads hostile bytes, asserts what must hold of them, and says whether they were
//! accepted.

pub use portcullis_test_parsers::*;
