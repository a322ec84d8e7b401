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

    /// An entry of a lane.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct LaneEntry {
        /// Of the window.
        address: u64,
        /// Of the window, 64 bytes each; below 4,096.
        beats: u16,
        /// The slot has no window.
        outside: bool,
        commitment: [u8; 32],
        slot: u16,
        fresh: bool,
    }

    /// What a lane answers.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct LaneAnswer {
        /// It came at all.
        came: bool,
        agrees: bool,
        /// `text_pkg::cause_e`.
        cause: u8,
        /// Of the text.
        length: u32,
        classes: [u8; 16],
        established: [u8; 16],
        /// Of the stream, behind the entry.
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
        /// Clocks from a request to its first beat, at random between these.
        least_latency: u32,
        most_latency: u32,
        /// How many of 8 clocks the bus takes no request and gives no beat.
        stall_of_8: u8,
        seed: u64,
    }

    /// What a beat has wrong.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum BusFault {
        /// An error response.
        Error,
        /// It is called the last one and is not, or the other way round.
        Place,
        /// It answers another id.
        Stranger,
        /// It and all later ones never come.
        Silence,
    }

    unsafe extern "C++" {
        include!("portcullis-text-bench/cpp/text_bench.h");
        include!("portcullis-text-bench/cpp/lane_bench.h");

        type LaneBench;

        /// The model after its reset.
        fn new_lane_bench() -> UniquePtr<LaneBench>;

        fn reset(self: Pin<&mut LaneBench>);
        /// `text_pkg::load_result_e`; 4 when no answer came.
        fn load(self: Pin<&mut LaneBench>, tables: &LaneTables) -> u8;
        fn set_bus(self: Pin<&mut LaneBench>, bus: Bus);
        /// `beats`: which of the next beats; the first is 1.
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
        /// Text of the first failed assertions; empty when none failed.
        fn failure(self: &LaneBench) -> String;

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
