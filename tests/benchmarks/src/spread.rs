//! The results of several rounds: the median, and how far the rounds were apart.

/// The lowest, the middle and the highest of some figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The lowest.
    pub low: f64,
    /// The middle one; the mean of the two in the middle where the number is even.
    pub median: f64,
    /// The highest.
    pub high: f64,
}

impl Spread {
    /// The spread of some figures; `None` when there are none.
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = figures.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len().saturating_sub(1) / 2;
        let (lower, upper) = (sorted.get(middle)?, sorted.get(sorted.len() / 2)?);
        Some(Self { low, median: f64::midpoint(*lower, *upper), high })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let median = |figures: &[f64]| Spread::of(figures.iter().copied()).map(|spread| spread.median);
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
        assert_eq!(median(&[9.0, 1.0, 2.0, 3.0]), Some(2.5));
    }
}
