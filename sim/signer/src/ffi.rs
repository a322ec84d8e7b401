//! The bridge to `cpp/`.

/// State of the model, from C++.
#[cxx::bridge(namespace = "portcullis")]
pub(crate) mod bridge {
    /// Outputs of the top, settled after the last clock.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Outputs {
        core_busy: bool,
        /// device_key works.
        derive_busy: bool,
        /// device_key's seeds are ready.
        derive_valid: bool,
        ready: bool,
        /// PK.root is ready.
        root_valid: bool,
        word_valid: bool,
    }

    unsafe extern "C++" {
        include!("portcullis-signer-bench/cpp/signer_bench.h");

        type SignerBench;

        /// The model with this many rounds per clock, after its reset; null when there is none.
        fn new_signer_bench(rounds: u32) -> UniquePtr<SignerBench>;

        /// Resets everything for one clock.
        fn reset(self: Pin<&mut SignerBench>);
        /// Drives no command for `clocks`; the signature's words are taken.
        fn run(self: Pin<&mut SignerBench>, clocks: u64);
        /// Compresses whole blocks one after the other, each started in the clock of the answer before; clocks from
        /// the first start to the last answer inclusive.
        fn hash(self: Pin<&mut SignerBench>, state: &mut [u8], blocks: &[u8]) -> u64;

        /// The commands below give the clocks from the command to the result inclusive; 0: none within the bound.
        /// `stall` is numbered in `signer_bench.h`.
        fn derive(
            self: Pin<&mut SignerBench>,
            secret: &[u8],
            design_id: &[u8],
            stall: u8,
            random_seed: u64,
            seeds: &mut [u8],
        ) -> u64;
        /// Without seeds, the ones of device_key are used.
        fn keygen(self: Pin<&mut SignerBench>, seeds: &[u8], root: &mut [u8]) -> u64;
        /// `stall` is numbered in `signer_bench.h`. More words than asked for give 0.
        fn sign(self: Pin<&mut SignerBench>, message: &[u8], stall: u8, random_seed: u64, signature: &mut [u8]) -> u64;
        /// Gives a command for one clock: 0 derive, 1 keygen, 2 sign. The inputs are those of the last call.
        fn command(self: Pin<&mut SignerBench>, command: u8);

        fn outputs(self: &SignerBench) -> Outputs;
        /// Text of the first failed assertions; empty when none failed.
        fn failure(self: &SignerBench) -> String;
    }
}
