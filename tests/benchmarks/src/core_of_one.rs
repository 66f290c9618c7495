//! One core for this process and every program it starts, so that neither side wins by a second one.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Moves this thread, and what it starts from now on, to the last core it may use, and says which one that is. The
/// first cores of a machine serve more interrupts.
///
/// # Errors
/// When the operating system refuses.
pub fn settle() -> std::io::Result<usize> {
    let allowed = sched_getaffinity(None)?;
    let core = (0..CpuSet::MAX_CPU).rev().find(|core| allowed.is_set(*core)).unwrap_or_default();
    let mut one = CpuSet::new();
    one.set(core);
    sched_setaffinity(None, &one)?;
    Ok(core)
}
