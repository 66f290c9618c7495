//! The bytes on the heap of this process.

use std::alloc::System;
use std::time::Duration;

use cap::Cap;

#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

/// The allocated bytes.
#[must_use]
pub fn allocated() -> f64 {
    HEAP.allocated() as f64
}

/// The allocated bytes once they have stood still for a quarter of a second: closed connections free their buffers
/// later.
pub async fn settled() -> f64 {
    let (mut last, mut still) = (0, 0_u32);
    let mut ticks = tokio::time::interval(Duration::from_millis(50));
    while still < 5 {
        ticks.tick().await;
        let now = HEAP.allocated();
        still = if now == last { still.saturating_add(1) } else { 0 };
        last = now;
    }
    last as f64
}
