//! The bridge to `cpp/`.

/// State of the model, from C++.
#[cxx::bridge(namespace = "portcullis")]
pub(crate) mod bridge {
    /// Outputs of the top module after the last clock.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Outputs {
        core_busy: bool,
        /// device_key is busy.
        derive_busy: bool,
        /// The seeds of device_key are valid.
        derive_valid: bool,
        ready: bool,
        /// PK.root is valid.
        root_valid: bool,
        word_valid: bool,
    }

    unsafe extern "C++" {
        include!("portcullis-signer-bench/cpp/signer_bench.h");

        type SignerBench;

        /// The model with this many rounds per clock, after its reset; null if it does not exist.
        fn new_signer_bench(rounds: u32) -> UniquePtr<SignerBench>;

        /// Resets everything for one clock.
        fn reset(self: Pin<&mut SignerBench>);
        /// Runs `clocks` clocks without a command; the receiver accepts the words of a signature.
        fn run(self: Pin<&mut SignerBench>, clocks: u64);
        /// Hashes whole blocks. Each block starts in the clock of the previous block's result. Returns the number of
        /// clocks from the first start to the last result, both included.
        fn hash(self: Pin<&mut SignerBench>, state: &mut [u8], blocks: &[u8]) -> u64;

        /// The commands below return the number of clocks from the command to the result, both included; 0 if no result
        /// came in time. `signer_bench.h` gives the numbers for `stall`.
        fn derive(
            self: Pin<&mut SignerBench>,
            secret: &[u8],
            design_id: &[u8],
            stall: u8,
            random_seed: u64,
            seeds: &mut [u8],
        ) -> u64;
        /// Empty `seeds` mean that the seeds of device_key are used.
        fn keygen(self: Pin<&mut SignerBench>, seeds: &[u8], root: &mut [u8]) -> u64;
        /// `signer_bench.h` gives the numbers for `stall`. Returns 0 if the signer returns too many words.
        fn sign(self: Pin<&mut SignerBench>, message: &[u8], stall: u8, random_seed: u64, signature: &mut [u8]) -> u64;
        /// Gives a command for one clock: 0 derive, 1 keygen, 2 sign. The inputs keep the values of the last call.
        fn command(self: Pin<&mut SignerBench>, command: u8);

        fn outputs(self: &SignerBench) -> Outputs;
        /// Text of the first failed assertions; empty if none failed.
        fn failure(self: &SignerBench) -> String;
    }
}
