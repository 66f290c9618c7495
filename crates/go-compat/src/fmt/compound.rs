//! Arguments of types other than numbers and strings (`fmt/print.go`): JSON as Go's decoder has it, and Go's other
//! constants.

use super::{Arg, Spec, bad_verb, float, integer, print as print_arg, string};

/// An argument of a type that is neither `int64`, `float64`, `*big.Int` nor `string`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Compound {
    /// Go's `nil`.
    Nil,
    /// Go's `bool`.
    Bool(bool),
    /// Go's `int`.
    Int(i64),
    /// Go's `uint8`.
    Byte(u8),
    /// Go's `complex128`.
    Complex(f64, f64),
    /// Go's `json.Number`, a string that is a number.
    Number(String),
    /// Go's `[]interface {}`.
    List(Vec<Arg>),
    /// Go's `map[string]interface {}`, in the order of its keys.
    Map(Vec<(String, Arg)>),
}

const LIST: &str = "[]interface {}";
const MAP: &str = "map[string]interface {}";

impl Compound {
    pub(super) const fn go_type(&self) -> &'static str {
        match self {
            Self::Nil => "<nil>",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Byte(_) => "uint8",
            Self::Complex(..) => "complex128",
            Self::Number(_) => "json.Number",
            Self::List(_) => LIST,
            Self::Map(_) => MAP,
        }
    }
}

/// Prints an argument; false if the verb does not take one.
pub(super) fn print(arg: &Compound, verb: char, spec: Spec, out: &mut String) -> bool {
    match arg {
        // Only errors are printed under `%w`, whatever is in them.
        Compound::List(_) | Compound::Map(_) if verb == 'w' => return false,
        Compound::Nil if verb == 'v' => string::plain("<nil>", spec.without_precision(), out),
        Compound::Nil => {
            out.push_str("%!");
            out.push(verb);
            out.push_str("(<nil>)");
        }
        Compound::Bool(bool) if matches!(verb, 'v' | 't') => {
            spec.pad(if *bool { "true" } else { "false" }, out);
        }
        Compound::Bool(_) => return false,
        Compound::Byte(byte) if verb == 'v' && spec.go_syntax => {
            let spec = Spec { sharp: true, ..spec };
            return integer::print(i64::from(*byte), 'x', spec, out);
        }
        Compound::Int(int) => return integer::print(*int, verb, spec, out),
        Compound::Byte(byte) => return integer::print(i64::from(*byte), verb, spec, out),
        Compound::Complex(real, imaginary) => return complex(*real, *imaginary, verb, spec, out),
        Compound::Number(number) => return string::print(number, verb, spec, out),
        Compound::List(items) => list(items, verb, spec, out),
        Compound::Map(pairs) => map(pairs, verb, spec, out),
    }
    true
}

/// `(1+2i)`
fn complex(real: f64, imaginary: f64, verb: char, spec: Spec, out: &mut String) -> bool {
    if !matches!(verb, 'v' | 'b' | 'g' | 'G' | 'x' | 'X' | 'f' | 'F' | 'e' | 'E') {
        return false;
    }
    out.push('(');
    float::print(real, verb, spec, out);
    float::print(imaginary, verb, Spec { plus: true, ..spec }, out);
    out.push_str("i)");
    true
}

fn list(items: &[Arg], verb: char, spec: Spec, out: &mut String) {
    let (open, between, close) =
        if spec.go_syntax { ("[]interface {}{", ", ", "}") } else { ("[", " ", "]") };
    out.push_str(open);
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            out.push_str(between);
        }
        element(item, verb, spec, out);
    }
    out.push_str(close);
}

fn map(pairs: &[(String, Arg)], verb: char, spec: Spec, out: &mut String) {
    let (open, between, close) =
        if spec.go_syntax { ("map[string]interface {}{", ", ", "}") } else { ("map[", " ", "]") };
    out.push_str(open);
    for (position, (key, value)) in pairs.iter().enumerate() {
        if position > 0 {
            out.push_str(between);
        }
        if !string::print(key, verb, spec, out) {
            bad_verb(&Arg::String(key.clone()), verb, spec, out);
        }
        out.push(':');
        element(value, verb, spec, out);
    }
    out.push_str(close);
}

/// Within something else, `nil` is printed under any verb, and without padding.
fn element(arg: &Arg, verb: char, spec: Spec, out: &mut String) {
    match arg {
        Arg::Other(Compound::Nil) if spec.go_syntax => out.push_str("interface {}(nil)"),
        Arg::Other(Compound::Nil) => out.push_str("<nil>"),
        other => print_arg(other, verb, spec, out),
    }
}
