//! The bridge to `cpp/`.

/// State of the model, from C++.
#[cxx::bridge(namespace = "portcullis")]
pub(crate) mod bridge {
    /// Outputs of the top module after the last clock.
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
        /// A memory has changed since the load.
        changed: bool,
    }

    /// An entry of a lane.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct LaneEntry {
        /// Address of the window.
        address: u64,
        /// Size of the window in beats of 64 bytes; below 4,096.
        beats: u16,
        /// The slot has no window.
        outside: bool,
        commitment: [u8; 32],
        slot: u16,
    }

    /// The answer of a lane to an entry.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct LaneAnswer {
        /// Whether an answer came.
        came: bool,
        agrees: bool,
        /// The cause, as a number of `text_pkg::cause_e`.
        cause: u8,
        /// The text is a tool call.
        call: bool,
        /// Of the text.
        length: u32,
        classes: [u8; 16],
        established: [u8; 16],
        /// The stream's scan state after the entry.
        state: Vec<u8>,
    }

    /// Tables in the memory.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct LaneTables {
        address: u64,
        bytes: u32,
        /// SHA-256 of the bytes.
        digest: [u8; 32],
    }

    /// How the bus behaves.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Bus {
        /// Clocks from a request to its first beat: a random number from `least_latency` to `most_latency`.
        least_latency: u32,
        most_latency: u32,
        /// In how many of every 8 clocks, on average, the bus accepts no request and returns no beat.
        stall_of_8: u8,
        seed: u64,
    }

    /// A fault of a beat.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum BusFault {
        /// The beat has an error response.
        Error,
        /// The beat's flag "last" is wrong.
        Place,
        /// The beat has the id of another request.
        Stranger,
        /// This beat and all later beats never come.
        Silence,
    }

    unsafe extern "C++" {
        include!("portcullis-text-bench/cpp/text_bench.h");
        include!("portcullis-text-bench/cpp/lane_bench.h");

        type LaneBench;

        /// The model after its reset.
        fn new_lane_bench() -> UniquePtr<LaneBench>;

        fn reset(self: Pin<&mut LaneBench>);
        /// Loads tables; returns the result as a number of `text_pkg::load_result_e`, or 4 if no answer came.
        fn load(self: Pin<&mut LaneBench>, tables: &LaneTables) -> u8;
        fn set_bus(self: Pin<&mut LaneBench>, bus: Bus);
        /// `beats` is the number of the faulty beat, counted from now; the next beat is 1.
        fn fault_at(self: Pin<&mut LaneBench>, fault: BusFault, beats: u32);
        fn write(self: Pin<&mut LaneBench>, address: u64, bytes: &[u8]);
        fn renew(self: Pin<&mut LaneBench>, slot: u16, bound: u32) -> u32;
        fn enter(self: Pin<&mut LaneBench>, entry: &LaneEntry) -> u32;
        fn answer(self: Pin<&mut LaneBench>) -> LaneAnswer;
        fn settle(self: Pin<&mut LaneBench>, admit: bool);
        fn idle(self: Pin<&mut LaneBench>, clocks: u32);
        fn reads(self: Pin<&mut LaneBench>) -> Vec<u64>;
        fn fault_met(self: &LaneBench) -> bool;
        fn broken(self: &LaneBench) -> bool;
        fn complete(self: &LaneBench) -> bool;
        fn idle_now(self: &LaneBench) -> bool;
        fn clocks(self: &LaneBench) -> u64;
        /// Text of the first failed assertions; empty if none failed.
        fn failure(self: &LaneBench) -> String;

        type TextBench;

        /// The model after its reset.
        fn new_text_bench() -> UniquePtr<TextBench>;

        fn lock(self: Pin<&mut TextBench>, locked: bool);
        fn clear(self: Pin<&mut TextBench>);
        /// `idle_of_8`: in how many of 8 clocks, on average, the bench offers no byte.
        fn upset(self: Pin<&mut TextBench>, part: &str, memory: &str, word: u32, bit: u32) -> bool;
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
