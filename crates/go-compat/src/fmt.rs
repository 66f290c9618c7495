//! `fmt.Sprintf`, to the byte.
//!
//! An argument that is missing or does not fit its verb is reported in the result, as Go does: formatting never fails.
//! This file reads the format string (Go's `pp.doPrintf`); the files next to it print one kind of argument each.

use num_bigint::BigInt;

mod compound;
mod float;
mod integer;
mod string;

pub use compound::Compound;

/// The largest width, precision or argument number that Go accepts from a format string or an argument.
const TOO_LARGE: i64 = 1_000_000;

/// An argument: a value of one of Go's types.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Arg {
    /// Go's `int64`.
    Int(i64),
    /// Go's `*big.Int`.
    Big(BigInt),
    /// Go's `float64`.
    Float(f64),
    /// Go's `string`.
    String(String),
    /// Any other type.
    Other(Compound),
}

impl Arg {
    fn go_type(&self) -> &'static str {
        match self {
            Self::Int(_) => "int64",
            Self::Big(_) => "*big.Int",
            Self::Float(_) => "float64",
            Self::String(_) => "string",
            Self::Other(compound) => compound.go_type(),
        }
    }

    /// The argument as a `*` width or precision.
    fn as_size(&self) -> Option<i64> {
        let size = match self {
            Self::Int(int) | Self::Other(Compound::Int(int)) => *int,
            Self::Other(Compound::Byte(byte)) => i64::from(*byte),
            _ => return None,
        };
        (-TOO_LARGE..=TOO_LARGE).contains(&size).then_some(size)
    }
}

/// The flags, width and precision of one directive.
#[derive(Clone, Copy, Debug, Default)]
struct Spec {
    sharp: bool,
    zero: bool,
    plus: bool,
    minus: bool,
    space: bool,
    /// `%#v`, where `#` means Go syntax and nothing else.
    go_syntax: bool,
    /// `%+v`, where `+` does not ask for a sign, except of a `*big.Int`.
    plus_v: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

impl Spec {
    fn pad(&self, body: &str, out: &mut String) {
        let missing = self.width.unwrap_or(0).saturating_sub(body.chars().count());
        if self.minus {
            out.push_str(body);
            self.padding(missing, out);
        } else {
            self.padding(missing, out);
            out.push_str(body);
        }
    }

    /// Zeros are allowed to the left only.
    fn padding(&self, count: usize, out: &mut String) {
        let filler = if self.zero && !self.minus { '0' } else { ' ' };
        out.extend(std::iter::repeat_n(filler, count));
    }

    fn without_precision(self) -> Self {
        Self { precision: None, ..self }
    }

    fn without_zero(self) -> Self {
        Self { zero: false, ..self }
    }
}

/// Prints an argument as `%v` does.
pub fn append(arg: &Arg, out: &mut String) {
    print(arg, 'v', Spec::default(), out);
}

/// Formats `args` by `format`; `None` where the result has more than `most` bytes. It grows beyond them by at most
/// one directive before that is noticed.
#[must_use]
pub fn sprintf(format: &str, args: &[Arg], most: usize) -> Option<String> {
    let mut printer = Printer {
        out: String::with_capacity(format.len()),
        rest: format,
        args,
        next: 0,
        reordered: false,
        good_index: true,
    };
    while printer.directive() {
        if printer.out.len() > most {
            return None;
        }
    }
    printer.extra();
    (printer.out.len() <= most).then_some(printer.out)
}

/// Go's `pp`: the state of one call.
struct Printer<'a> {
    out: String,
    rest: &'a str,
    args: &'a [Arg],
    next: usize,
    /// An explicit argument index was seen, so that leftover arguments are not reported.
    reordered: bool,
    /// The explicit argument indexes of the current directive are usable.
    good_index: bool,
}

impl Printer<'_> {
    /// Copies the text before the next directive and prints the directive; false at the end of the format.
    fn directive(&mut self) -> bool {
        self.good_index = true;
        let Some((literal, rest)) = self.rest.split_once('%') else {
            self.out.push_str(self.rest);
            return false;
        };
        self.out.push_str(literal);
        self.rest = rest;
        let spec = self.spec();
        let Some(verb) = self.rest.chars().next() else {
            self.out.push_str("%!(NOVERB)");
            return false;
        };
        self.skip(verb.len_utf8());
        self.verb(verb, spec);
        true
    }

    fn verb(&mut self, verb: char, mut spec: Spec) {
        if verb == '%' {
            self.out.push('%');
        } else if !self.good_index {
            self.complain(verb, "BADINDEX");
        } else if let Some(arg) = self.args.get(self.next) {
            if matches!(verb, 'v' | 'w') {
                (spec.go_syntax, spec.plus_v) = (spec.sharp, spec.plus);
                (spec.sharp, spec.plus) = (false, false);
            }
            print(arg, verb, spec, &mut self.out);
            self.next = self.next.saturating_add(1);
        } else {
            self.complain(verb, "MISSING");
        }
    }

    fn complain(&mut self, verb: char, what: &str) {
        self.out.push_str("%!");
        self.out.push(verb);
        self.out.push('(');
        self.out.push_str(what);
        self.out.push(')');
    }

    /// Flags, argument index, width and precision, in Go's order and with Go's complaints.
    fn spec(&mut self) -> Spec {
        let mut spec = self.flags();
        let mut indexed = self.index();
        if self.take('*') {
            self.star_width(&mut spec);
            indexed = false;
        } else {
            spec.width = self.number();
            self.good_index &= !(indexed && spec.width.is_some());
        }
        if self.rest.len() > 1 && self.take('.') {
            self.good_index &= !indexed;
            indexed = self.index();
            if self.take('*') {
                self.star_precision(&mut spec);
                indexed = false;
            } else {
                spec.precision = Some(self.number().unwrap_or(0));
            }
        }
        if !indexed {
            self.index();
        }
        spec
    }

    fn flags(&mut self) -> Spec {
        let mut spec = Spec::default();
        loop {
            let flag = match self.rest.as_bytes().first() {
                Some(b'#') => &mut spec.sharp,
                Some(b'0') => &mut spec.zero,
                Some(b'+') => &mut spec.plus,
                Some(b'-') => &mut spec.minus,
                Some(b' ') => &mut spec.space,
                _ => return spec,
            };
            *flag = true;
            self.skip(1);
        }
    }

    fn star_width(&mut self, spec: &mut Spec) {
        let Some(width) = self.star() else {
            self.out.push_str("%!(BADWIDTH)");
            return;
        };
        if width < 0 {
            spec.minus = true;
            spec.zero = false;
        }
        spec.width = usize::try_from(width.unsigned_abs()).ok();
    }

    fn star_precision(&mut self, spec: &mut Spec) {
        spec.precision = self.star().and_then(|precision| usize::try_from(precision).ok());
        if spec.precision.is_none() {
            self.out.push_str("%!(BADPREC)");
        }
    }

    /// The next argument as a size; it is used up even if it is none.
    fn star(&mut self) -> Option<i64> {
        let arg = self.args.get(self.next)?;
        self.next = self.next.saturating_add(1);
        arg.as_size()
    }

    /// An explicit argument index such as `[3]`; true if its number could be read, in range or not.
    fn index(&mut self) -> bool {
        if !self.rest.starts_with('[') {
            return false;
        }
        self.reordered = true;
        let (number, length) = bracketed(self.rest);
        self.skip(length);
        match number.and_then(|n| n.checked_sub(1)) {
            Some(index) if index < self.args.len() => self.next = index,
            _ => self.good_index = false,
        }
        number.is_some()
    }

    /// A decimal number. One that is too large swallows the rest of the format, as in Go.
    fn number(&mut self) -> Option<usize> {
        let (number, length) = leading_number(self.rest);
        self.skip(length);
        number
    }

    fn take(&mut self, wanted: char) -> bool {
        let rest = self.rest.strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or("");
    }

    /// Reports arguments that no directive used.
    fn extra(&mut self) {
        let Some(left @ [_, ..]) = self.args.get(self.next..) else {
            return;
        };
        if self.reordered {
            return;
        }
        self.out.push_str("%!(EXTRA ");
        for (position, arg) in left.iter().enumerate() {
            if position > 0 {
                self.out.push_str(", ");
            }
            self.out.push_str(arg.go_type());
            if *arg != Arg::Other(Compound::Nil) {
                self.out.push('=');
                print(arg, 'v', Spec::default(), &mut self.out);
            }
        }
        self.out.push(')');
    }
}

/// The number in brackets at the start of `format`, and the bytes to skip.
fn bracketed(format: &str) -> (Option<usize>, usize) {
    if format.len() < 3 {
        return (None, 1);
    }
    let Some(close) = format.find(']') else {
        return (None, 1);
    };
    let inside = format.get(1..close).unwrap_or("");
    let (number, length) = leading_number(inside);
    let whole = number.filter(|_| length == inside.len() && inside.bytes().all(|b| b.is_ascii_digit()));
    (whole, close.saturating_add(1))
}

/// The decimal number at the start of `text` and the bytes it takes: all of them if it is too large.
fn leading_number(text: &str) -> (Option<usize>, usize) {
    let mut number: Option<i64> = None;
    for (position, byte) in text.bytes().enumerate() {
        if !byte.is_ascii_digit() {
            return (number.and_then(|n| usize::try_from(n).ok()), position);
        }
        let before = number.unwrap_or(0);
        if before > TOO_LARGE {
            return (None, text.len());
        }
        let digit = i64::from(byte.saturating_sub(b'0'));
        number = Some(before.saturating_mul(10).saturating_add(digit));
    }
    (number.and_then(|n| usize::try_from(n).ok()), text.len())
}

fn print(arg: &Arg, verb: char, spec: Spec, out: &mut String) {
    if verb == 'T' {
        return string::plain(arg.go_type(), spec, out);
    }
    let printed = match arg {
        Arg::Int(int) => integer::print(*int, verb, spec, out),
        Arg::Float(float) => float::print(*float, verb, spec, out),
        Arg::String(string) => string::print(string, verb, spec, out),
        Arg::Other(compound) => compound::print(compound, verb, spec, out),
        Arg::Big(big) => {
            integer::print_big(big, verb, spec, out);
            true
        }
    };
    if !printed {
        bad_verb(arg, verb, spec, out);
    }
}

/// `%!d(string=hi)`: the argument follows under the flags of the directive.
fn bad_verb(arg: &Arg, verb: char, spec: Spec, out: &mut String) {
    out.push_str("%!");
    out.push(verb);
    out.push('(');
    out.push_str(arg.go_type());
    out.push('=');
    print(arg, 'v', spec, out);
    out.push(')');
}

#[cfg(test)]
mod tests;
