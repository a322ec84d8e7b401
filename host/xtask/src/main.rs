//! `cargo xtask …`: set-up, generated files, lint, formal, benchmarks, claims and CI.

mod generate;
mod layout;
fn main() -> anyhow::Result<()> {
    generate::run(false)
}
