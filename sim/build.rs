//! Compiles the C++ side against the Verilated model of `portcullis-verilated`.

use std::env;
use std::error::Error;

const FILES: [&str; 6] = [
    "cpp/host_memory.cpp",
    "cpp/bus_memory.cpp",
    "cpp/bus_rules.cpp",
    "cpp/card_model.cpp",
    "cpp/card_sim.cpp",
    "cpp/swept_bank.cpp",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=cpp");
    println!("cargo::rerun-if-changed=src/ffi.rs");
    // If only clippy runs, there is no model to compile against.
    if env::var("DEP_PORTCULLIS_VERILATED_COMPILED")? == "no" {
        return Ok(());
    }
    let include = env::var("DEP_PORTCULLIS_VERILATED_INCLUDE")?;
    let defines = env::var("DEP_PORTCULLIS_VERILATED_DEFINES")?;
    let mut build = cxx_build::bridge("src/ffi.rs");
    build.files(FILES).include("cpp").std("c++17").opt_level(3);
    for path in env::split_paths(&include) {
        // Suppresses warnings in Verilator's own headers.
        build.flag("-isystem").flag(path);
    }
    for define in defines.split(';') {
        if let Some((name, value)) = define.split_once('=') {
            build.define(name, value);
        }
    }
    build.define("VL_IGNORE_UNKNOWN_ARCH", None);
    build.try_compile("portcullis_sim")?;
    Ok(())
}
