//! Method forwarding for cards that wrap another card.

/// Inside `impl Card for Wrapper`: forwards each named method to a field of the wrapper.
///
/// ```text
/// impl<C: CardTransport> CardTransport for Wrapper<C> {
///     forward_card!(card: describe, read32, write32, allocate, release, dma_read, wait, quantum, patience, clocks);
///     fn dma_write(&mut self, buffer: &DmaBuffer, offset: usize, from: &[u8]) -> Result<(), CardError> { /* … */ }
/// }
/// ```
#[macro_export]
macro_rules! forward_card {
    ($field:tt: $($method:ident),+ $(,)?) => { $($crate::forward_card!(@ $method $field);)+ };
    (@ describe $f:tt) => { fn describe(&self) -> String { self.$f.describe() } };
    (@ read32 $f:tt) => {
        fn read32(&mut self, address: u32) -> Result<u32, $crate::CardError> { self.$f.read32(address) }
    };
    (@ write32 $f:tt) => {
        fn write32(&mut self, address: u32, value: u32) -> Result<(), $crate::CardError> { self.$f.write32(address, value) }
    };
    (@ allocate $f:tt) => {
        fn allocate(&mut self, bytes: usize) -> Result<$crate::DmaBuffer, $crate::CardError> { self.$f.allocate(bytes) }
    };
    (@ release $f:tt) => {
        fn release(&mut self, buffer: $crate::DmaBuffer) -> Result<(), $crate::CardError> { self.$f.release(buffer) }
    };
    (@ dma_read $f:tt) => {
        fn dma_read(&self, buffer: &$crate::DmaBuffer, offset: usize, into: &mut [u8]) -> Result<(), $crate::CardError> {
            self.$f.dma_read(buffer, offset, into)
        }
    };
    (@ dma_write $f:tt) => {
        fn dma_write(&mut self, buffer: &$crate::DmaBuffer, offset: usize, from: &[u8]) -> Result<(), $crate::CardError> {
            self.$f.dma_write(buffer, offset, from)
        }
    };
    (@ wait $f:tt) => {
        fn wait(&mut self, watch: Option<&$crate::WatchedByte<'_>>) -> Result<(), $crate::CardError> { self.$f.wait(watch) }
    };
    (@ quantum $f:tt) => { fn quantum(&self) -> &'static str { self.$f.quantum() } };
    (@ patience $f:tt) => { fn patience(&self) -> u32 { self.$f.patience() } };
    (@ clocks $f:tt) => { fn clocks(&self) -> Option<u64> { self.$f.clocks() } };
}
