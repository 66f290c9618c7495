//! Sums: medians, percentiles and means of ratios. An empty series has no figure, and gives NaN.

/// The value below which `percent` of the series lie, by the nearest rank.
#[must_use]
pub fn percentile(series: &[f64], percent: usize) -> f64 {
    let mut sorted = series.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    let rank = last.saturating_mul(percent).saturating_add(50).checked_div(100).unwrap_or(0);
    sorted.get(rank).copied().unwrap_or(f64::NAN)
}

/// The middle of the series.
#[must_use]
pub fn median(series: &[f64]) -> f64 {
    percentile(series, 50)
}

/// The mean under which a ratio and its inverse cancel out.
#[must_use]
pub fn geometric_mean(series: &[f64]) -> f64 {
    mean(series.iter().map(|value| value.ln())).exp()
}

/// The arithmetic mean.
pub fn mean(series: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) = series.into_iter().fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

/// One line of percentiles: `geometric mean, minimum, p10, median, p90, maximum`.
#[must_use]
pub fn line(series: &[f64]) -> String {
    let [min, p10, median, p90, max] = [0, 10, 50, 90, 100].map(|percent| percentile(series, percent));
    let mean = geometric_mean(series);
    format!("{mean:8.2} {min:8.2} {p10:8.2} {median:8.2} {p90:8.2} {max:8.2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_members_of_the_series() {
        let series = [5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!([0, 50, 100].map(|percent| percentile(&series, percent)), [1.0, 3.0, 5.0]);
    }

    #[test]
    fn an_empty_series_has_no_figure() {
        assert!(median(&[]).is_nan() && geometric_mean(&[]).is_nan());
    }
}
