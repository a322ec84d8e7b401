//! The bridge to `cpp/`.

/// State of the model, from C++.
#[cxx::bridge(namespace = "portcullis")]
pub(crate) mod bridge {
    /// Outputs of the top after the last clock.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Seen {
        /// Classes found since the start, as a little-endian bit set.
        classes: [u8; 16],
        /// Whether the bytes since the start are whole UTF-8 characters.
        utf8: bool,
        /// An item is in progress.
        busy: bool,
        /// The tables are complete.
        complete: bool,
        /// The tables were refused.
        bad: bool,
    }

    unsafe extern "C++" {
        include!("portcullis-text-bench/cpp/text_bench.h");

        type TextBench;

        /// The model after its reset.
        fn new_text_bench() -> UniquePtr<TextBench>;

        fn lock(self: Pin<&mut TextBench>, locked: bool);
        fn clear(self: Pin<&mut TextBench>);
        /// `idle_of_8`: in how many of 8 clocks, on average, no byte is offered, at random.
        fn load(self: Pin<&mut TextBench>, bytes: &[u8], idle_of_8: u8, seed: u64) -> Seen;
        fn start(self: Pin<&mut TextBench>, fresh: bool, slot: u16);
        fn read(self: Pin<&mut TextBench>, bytes: &[u8], idle_of_8: u8, seed: u64);
        fn end(self: Pin<&mut TextBench>);
        fn drain(self: Pin<&mut TextBench>) -> u32;
        fn save(self: Pin<&mut TextBench>, slot: u16);
        fn saved(self: Pin<&mut TextBench>, slot: u16) -> Vec<u8>;
        fn state(self: &TextBench) -> Vec<u8>;
        fn seen(self: &TextBench) -> Seen;
        fn clocks(self: &TextBench) -> u64;
        /// Text of the first failed assertions; empty if none failed.
        fn failure(self: &TextBench) -> String;
    }
}
