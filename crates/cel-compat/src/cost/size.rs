//! Sizes: how many characters, bytes, items or entries a value has, at least and at most.

use crate::value::Value;

/// The size of a value, between two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) min: u64,
    pub(super) max: u64,
}

/// The sizes of the parts of a list or a map: of indices or keys, and of items or values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) is_list: bool,
    pub(super) key: Size,
    pub(super) value: Size,
}

impl Size {
    pub(super) const UNKNOWN: Self = Self { min: 0, max: u64::MAX };

    pub(super) const fn exactly(size: u64) -> Self {
        Self { min: size, max: size }
    }

    /// The size of a literal; that of a number is 1.
    pub(super) fn of_literal(value: &Value) -> Self {
        let size = match value {
            Value::String(text) => text.chars().count(),
            Value::Bytes(bytes) => bytes.len(),
            _ => 1,
        };
        Self::exactly(u64::try_from(size).unwrap_or(u64::MAX))
    }

    pub(super) const fn plus(self, other: Self) -> Self {
        Self { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(super) const fn times(self, other: Self) -> Self {
        Self { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// The cost of going over the larger bound at so much per unit.
    pub(super) fn priced(self, factor: f64) -> u64 {
        scaled(self.max, factor)
    }
}

impl Entry {
    pub(super) fn union(self, other: Self) -> Self {
        Self { is_list: self.is_list, key: self.key.union(other.key), value: self.value.union(other.value) }
    }
}

/// A number times a factor, rounded up; the largest number for what does not fit.
pub(super) fn scaled(number: u64, factor: f64) -> u64 {
    // Floats round as Go's do; the cast saturates.
    let product = (number as f64 * factor).ceil();
    if product >= 18_446_744_073_709_551_616.0 { u64::MAX } else { product as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_rounded_up_and_do_not_overflow() {
        assert_eq!(scaled(0, 0.1), 0);
        assert_eq!(scaled(1, 0.1), 1);
        assert_eq!(scaled(11, 0.1), 2);
        assert_eq!(scaled(u64::MAX, 0.1), 1_844_674_407_370_955_264);
        assert_eq!(scaled(u64::MAX, 2.0), u64::MAX);
    }
}
