//! The distributions of delays, and the random numbers to sample them.

use std::str::FromStr;

/// The distribution of a delay, in seconds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Distribution {
    /// Always this time.
    Constant(f64),
    /// Exponential, without memory, such as the time in a queue.
    Exponential {
        /// The mean.
        mean: f64,
    },
    /// A product of many causes: compilation, processing.
    LogNormal {
        /// The median.
        median: f64,
        /// The standard deviation of the logarithm.
        sigma: f64,
    },
    /// Equally likely within bounds: a reconnect at the end of a time limit.
    Uniform {
        /// The least.
        from: f64,
        /// The greatest.
        to: f64,
    },
    /// One of several, with these weights.
    Mixture(Vec<(f64, Distribution)>),
    /// Measured samples, each equally likely.
    Empirical(Vec<f64>),
}

impl Distribution {
    pub(super) fn sample(&self, random: &mut Random) -> f64 {
        match self {
            Self::Constant(value) => *value,
            Self::Exponential { mean } => -mean * random.uniform().ln(),
            Self::LogNormal { median, sigma } => median * (sigma * random.normal()).exp(),
            Self::Uniform { from, to } => from + (to - from) * random.uniform(),
            Self::Mixture(parts) => {
                let total: f64 = parts.iter().map(|(weight, _)| weight).sum();
                let mut at = random.uniform() * total;
                for (weight, distribution) in parts {
                    at -= weight;
                    if at <= 0.0 {
                        return distribution.sample(random);
                    }
                }
                parts.last().map_or(0.0, |(_, distribution)| distribution.sample(random))
            }
            Self::Empirical(samples) => random.choose(samples),
        }
    }
}

/// A distribution that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a distribution: write constant:S, exp:MEAN, lognormal:MEDIAN,SIGMA or uniform:FROM,TO, or several as 0.98*DISTRIBUTION+0.02*DISTRIBUTION"
)]
pub struct ParseDistributionError(String);

impl FromStr for Distribution {
    type Err = ParseDistributionError;

    /// Reads `exp:0.5`, `lognormal:0.5,0.8`, `uniform:5,30`, `constant:1`, or a mixture such as
    /// `0.98*exp:0.3+0.02*uniform:5,30`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseDistributionError(text.to_owned());
        if !text.contains('*') {
            return simple(text).ok_or_else(error);
        }
        let part = |part: &str| {
            let (weight, distribution) = part.split_once('*')?;
            Some((number(weight)?, simple(distribution)?))
        };
        text.split('+').map(part).collect::<Option<Vec<_>>>().map(Self::Mixture).ok_or_else(error)
    }
}

fn simple(text: &str) -> Option<Distribution> {
    let (name, numbers) = text.trim().split_once(':')?;
    let numbers = numbers.split(',').map(number).collect::<Option<Vec<f64>>>()?;
    match (name, numbers.as_slice()) {
        ("constant", [value]) => Some(Distribution::Constant(*value)),
        ("exp", [mean]) => Some(Distribution::Exponential { mean: *mean }),
        ("lognormal", [median, sigma]) => Some(Distribution::LogNormal { median: *median, sigma: *sigma }),
        ("uniform", [from, to]) if from <= to => Some(Distribution::Uniform { from: *from, to: *to }),
        _ => None,
    }
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// SplitMix64 (Steele, Lea and Flood, 2014): small, and the same on every machine.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Between 0 and 1, never 0.
    pub(super) fn uniform(&mut self) -> f64 {
        let high = u32::try_from(self.next() >> 32).unwrap_or(u32::MAX);
        (f64::from(high) + 1.0) / (f64::from(u32::MAX) + 1.0)
    }

    /// Mean 0 and standard deviation 1, by the method of Box and Muller.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    fn choose(&mut self, samples: &[f64]) -> f64 {
        let count = u64::try_from(samples.len()).unwrap_or(u64::MAX);
        let index = self.next().checked_rem(count).unwrap_or_default();
        usize::try_from(index).ok().and_then(|index| samples.get(index)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_are_read() {
        assert_eq!("exp:0.5".parse(), Ok(Distribution::Exponential { mean: 0.5 }));
        assert_eq!("lognormal:0.5,0.8".parse(), Ok(Distribution::LogNormal { median: 0.5, sigma: 0.8 }));
        let mixture: Distribution = "0.98*exp:0.3+0.02*uniform:5,30".parse().unwrap();
        let parts = vec![
            (0.98, Distribution::Exponential { mean: 0.3 }),
            (0.02, Distribution::Uniform { from: 5.0, to: 30.0 }),
        ];
        assert_eq!(mixture, Distribution::Mixture(parts));
        for text in ["", "exp", "exp:", "exp:-1", "exp:NaN", "uniform:3,1", "0.5*exp:1+exp:1", "normal:1"] {
            assert_eq!(text.parse::<Distribution>(), Err(ParseDistributionError(text.to_owned())));
        }
    }
}
