//! Bodies of the fuzz targets. Each parses hostile bytes, asserts properties of the result, and returns whether the
//! bytes were accepted.

pub use portcullis_test_parsers::*;
