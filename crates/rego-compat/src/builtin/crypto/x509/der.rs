//! Reads DER, as strictly as Go's `cryptobyte` does: lengths in their shortest form, tags of one byte.

use num_bigint::BigInt;

use crate::builtin::operand::CallError;

pub(super) const BOOLEAN: u8 = 0x01;
pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OBJECT_IDENTIFIER: u8 = 0x06;
pub(super) const UTC_TIME: u8 = 0x17;
pub(super) const GENERALIZED_TIME: u8 = 0x18;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;

/// Returns the tag of a field with this number.
pub(super) const fn field(number: u8) -> u8 {
    0x80 | number
}

/// Returns the tag of a [`field`] with elements inside.
pub(super) const fn wrapped(number: u8) -> u8 {
    0xa0 | number
}

/// Elements one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'d>(pub(super) &'d [u8]);

/// An element: its tag, what is in it, and all of its bytes.
pub(super) struct Element<'d> {
    pub(super) tag: u8,
    pub(super) content: &'d [u8],
    pub(super) raw: &'d [u8],
}

/// A string of bits, the last byte filled up with zeros.
#[derive(Clone, Copy)]
pub(super) struct Bits<'d> {
    bytes: &'d [u8],
    padding: u8,
}

impl<'d> Reader<'d> {
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn any(&mut self) -> Result<Element<'d>, CallError> {
        let (length, header) = self.header().ok_or(CallError::Failed)?;
        let total = length.checked_add(header).ok_or(CallError::Failed)?;
        let (raw, rest) = self.0.split_at_checked(total).ok_or(CallError::Failed)?;
        self.0 = rest;
        let tag = raw.first().copied().ok_or(CallError::Failed)?;
        Ok(Element { tag, content: raw.get(header..).unwrap_or_default(), raw })
    }

    /// Returns the lengths of the next element's content, and of what is before it.
    fn header(&self) -> Option<(usize, usize)> {
        let (tag, first) = (self.0.first()?, *self.0.get(1)?);
        if tag & 0x1f == 0x1f {
            return None;
        }
        if first < 0x80 {
            return Some((usize::from(first), 2));
        }
        let count = usize::from(first & 0x7f);
        let bytes = self.0.get(2..count.checked_add(2)?)?;
        let length = bytes.iter().fold(0usize, |length, byte| (length << 8) | usize::from(*byte));
        let shortest = (1..=4).contains(&count) && length >= 128 && bytes.first() != Some(&0);
        shortest.then_some((length, count.checked_add(2)?))
    }

    pub(super) fn element(&mut self, tag: u8) -> Result<Element<'d>, CallError> {
        let element = self.any()?;
        if element.tag == tag { Ok(element) } else { Err(CallError::Failed) }
    }

    pub(super) fn read(&mut self, tag: u8) -> Result<Self, CallError> {
        Ok(Self(self.element(tag)?.content))
    }

    pub(super) fn peeks(&self, tag: u8) -> bool {
        self.0.first() == Some(&tag)
    }

    pub(super) fn optional(&mut self, tag: u8) -> Result<Option<Self>, CallError> {
        if self.peeks(tag) { self.read(tag).map(Some) } else { Ok(None) }
    }

    /// Goes into an element that wraps one of another tag; whether it did. Go's `encoding/asn1` passes over one that
    /// wraps anything else, and does not compare the lengths of both.
    pub(super) fn enters(&mut self, tag: u8, inside: u8) -> Result<bool, CallError> {
        let Some(first) = self.0.first().filter(|first| **first & 0x1f != 0x1f) else { return Ok(false) };
        let (length, header) = self.header().ok_or(CallError::Failed)?;
        if *first != tag {
            return Ok(false);
        }
        let content = Self(self.0.get(header..).unwrap_or_default());
        let long_tag = content.0.first().is_some_and(|first| first & 0x1f == 0x1f);
        if length == 0 || (content.header().is_none() && !long_tag) {
            return Err(CallError::Failed);
        }
        let enters = content.peeks(inside);
        if enters {
            *self = content;
        }
        Ok(enters)
    }

    pub(super) fn boolean(&mut self) -> Result<bool, CallError> {
        match self.read(BOOLEAN)?.0 {
            [0] => Ok(false),
            [0xff] => Ok(true),
            _ => Err(CallError::Failed),
        }
    }

    pub(super) fn integer(&mut self) -> Result<BigInt, CallError> {
        self.integer_of(INTEGER)
    }

    pub(super) fn integer_of(&mut self, tag: u8) -> Result<BigInt, CallError> {
        let bytes = self.read(tag)?.0;
        match bytes {
            [] => Err(CallError::Failed),
            [0, second, ..] if *second < 0x80 => Err(CallError::Failed),
            [0xff, second, ..] if *second >= 0x80 => Err(CallError::Failed),
            bytes => Ok(BigInt::from_signed_bytes_be(bytes)),
        }
    }

    pub(super) fn small(&mut self, tag: u8) -> Result<i64, CallError> {
        i64::try_from(self.integer_of(tag)?).map_err(|_| CallError::Failed)
    }

    pub(super) fn bits(&mut self) -> Result<Bits<'d>, CallError> {
        let content = self.read(BIT_STRING)?.0;
        let (padding, bytes) = content.split_first().ok_or(CallError::Failed)?;
        let filled = bytes.last().is_none_or(|last| last.trailing_zeros() >= u32::from(*padding));
        if *padding > 7 || (bytes.is_empty() && *padding != 0) || !filled {
            return Err(CallError::Failed);
        }
        Ok(Bits { bytes, padding: *padding })
    }

    pub(super) fn identifier(&mut self) -> Result<Vec<u32>, CallError> {
        identifier(self.read(OBJECT_IDENTIFIER)?.0).ok_or(CallError::Failed)
    }
}

/// Returns the numbers of an object identifier, each of at most 31 bits.
pub(super) fn identifier(bytes: &[u8]) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    let (mut number, mut begun) = (0u32, false);
    for byte in bytes {
        if (!begun && *byte == 0x80) || number >= 1 << 24 {
            return None;
        }
        number = (number << 7) | u32::from(byte & 0x7f);
        begun = byte & 0x80 != 0;
        if begun {
            continue;
        }
        if numbers.is_empty() {
            let first = (number / 40).min(2);
            numbers.extend([first, number.saturating_sub(first.saturating_mul(40))]);
        } else {
            numbers.push(number);
        }
        number = 0;
    }
    (!begun && !numbers.is_empty()).then_some(numbers)
}

impl Bits<'_> {
    /// Returns the bytes with the padding moved to the front.
    pub(super) fn right_aligned(&self) -> Vec<u8> {
        let (mut carry, shift) = (0u8, u32::from(self.padding));
        let mut out = Vec::with_capacity(self.bytes.len());
        for byte in self.bytes {
            out.push(byte.checked_shr(shift).unwrap_or(0) | carry);
            carry = if shift == 0 { 0 } else { byte.wrapping_shl(8u32.saturating_sub(shift)) };
        }
        out
    }

    /// Returns true if a bit is set, counted from the front.
    pub(super) fn at(&self, index: usize) -> bool {
        let byte = self.bytes.get(index / 8).copied().unwrap_or(0);
        byte & 0x80u8.wrapping_shr((index % 8) as u32) != 0
    }
}
