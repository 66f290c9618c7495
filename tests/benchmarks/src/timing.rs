//! Interleaved rounds: every contender runs for about the same time, one after the other, again and again.
//!
//! A disturbance of the machine that lasts longer than one turn disturbs all contenders alike. It knows no contender.

use std::time::{Duration, Instant};

use anyhow::Result;

/// Something that does the same work a number of times and says how long that took, in nanoseconds.
pub type Turn<'a> = &'a mut dyn FnMut(u32) -> Result<u64>;

/// The length and number of repetitions.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Rounds in which every contender has one turn.
    pub rounds: u32,
    /// About how long a turn lasts.
    pub turn: Duration,
}

/// Each contender's nanoseconds for one piece of work, in its least disturbed round. Where a round is shorter than
/// the pause between two garbage collections, this leaves the collector out, in favour of the one that has it.
///
/// # Errors
/// A contender failed.
pub fn interleaved(pace: Pace, contenders: &mut [Turn<'_>]) -> Result<Vec<f64>> {
    let mut counts = Vec::with_capacity(contenders.len());
    for contender in contenders.iter_mut() {
        counts.push(calibrated(pace, contender)?);
    }
    let mut times = vec![f64::INFINITY; contenders.len()];
    for _ in 0..pace.rounds {
        for ((contender, count), best) in contenders.iter_mut().zip(&counts).zip(&mut times) {
            *best = best.min(per_piece(contender(*count)?, *count));
        }
    }
    Ok(times)
}

/// Returns how many pieces of work fill a turn. Trying also warms caches, pools and the garbage collector's heap.
fn calibrated(pace: Pace, contender: &mut Turn<'_>) -> Result<u32> {
    let wanted = pace.turn.as_nanos() as f64;
    let mut count = 1;
    loop {
        let nanos = contender(count)? as f64;
        if nanos * 2.0 >= wanted || count > 1 << 20 {
            return Ok((f64::from(count) * wanted / nanos.max(1.0)).ceil().clamp(1.0, 1e7) as u32);
        }
        count = count.saturating_mul(4);
    }
}

fn per_piece(nanos: u64, count: u32) -> f64 {
    nanos as f64 / f64::from(count.max(1))
}

/// Nanoseconds that a piece of work takes when it is done `count` times.
///
/// # Errors
/// The work failed.
pub fn repeat<T>(count: u32, mut work: impl FnMut() -> Result<T>) -> Result<u64> {
    let started = Instant::now();
    for _ in 0..count {
        std::hint::black_box(work()?);
    }
    Ok(u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contenders_take_turns() {
        let order = std::cell::RefCell::new(Vec::new());
        let pace = Pace { rounds: 2, turn: Duration::from_nanos(20) };
        let turn = |name: &'static str, nanos: u64| {
            let order = &order;
            move |count: u32| {
                order.borrow_mut().push(name);
                Ok(nanos.saturating_mul(u64::from(count)))
            }
        };
        let (mut a, mut b) = (turn("a", 10), turn("b", 30));
        let figures = interleaved(pace, &mut [&mut a, &mut b]).unwrap();
        assert_eq!(figures, [10.0, 30.0]);
        let order = order.borrow();
        assert_eq!(order[order.len() - 4..], ["a", "b", "a", "b"]);
    }
}
