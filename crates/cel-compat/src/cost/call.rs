//! The costs of calls: Kubernetes' prices for its library and cel-go's for the rest.
//!
//! ```text
//! self.name.contains('ab')     name: at most 100 characters
//!
//!   self, .name                2    the operands
//!   contains                  10    a tenth of the string, 10, times a tenth of what is looked for, 1
//! ```
//!
//! Sources: `costCall` and `functionCost` of cel-go's `checker/cost.go`, `EstimateCallCost` of Kubernetes'
//! `apiserver/pkg/cel/library/cost.go`. Where they wrap around or take one size for another, so does this: the estimate decides
//! whether the API server accepts a rule, and it has to be the same.

use super::super::overload::Overload;
use super::super::syntax::{Call, Expr};
use super::super::types::Type;
use super::super::value::Value;
use super::size::{Entry, Size, scaled};
use super::{Estimator, LIST, Part};

/// Going over a string or bytes, per character.
const TRAVERSAL: f64 = 0.1;
/// A regular expression, per character.
const PATTERN: f64 = 0.25;
/// The longest pattern and the longest name of a named format.
const FORMAT_PATTERN: f64 = 128.0;
const FORMAT_NAME: u64 = 64;

/// The cost of a call without its operands, and the size of what it yields where that is known.
struct Price {
    cost: u64,
    size: Option<Size>,
}

/// A call with its operands. Sizes of operands are computed when the operands are.
struct Operands<'p, 'e> {
    function: &'p str,
    target: Option<&'p mut Part<'e>>,
    arguments: &'p mut [Part<'e>],
}

const fn price(cost: u64) -> Price {
    Price { cost, size: None }
}

impl Estimator<'_> {
    pub(super) fn call<'e>(&mut self, expr: &'e Expr, call: &'e Call, of: Type) -> Part<'e> {
        // Both operands may be evaluated, and joining them is free.
        if let ("_&&_" | "_||_", None) = (call.function.as_str(), &call.target) {
            let cost =
                call.arguments.iter().fold(0_u64, |sum, operand| sum.saturating_add(self.cost(operand).cost));
            return Part::new(cost, of);
        }
        // A call without its overloads is a defect of the checker: no limit admits it.
        let Some(resolved) = self.resolved.get(&expr.address()) else {
            return Part::new(u64::MAX, of);
        };
        let mut arguments: Vec<Part<'_>> = Vec::new();
        for argument in &call.arguments {
            let mut part = self.cost(argument);
            // To the estimate `dyn(x)` is `x` for one step more: it keeps the size that the schema gives `x`.
            if resolved.function == "dyn" {
                let cost = part.cost.saturating_add(1);
                let (size, entry) = (self.size(&mut part), self.entry(&part));
                return Part { size, entry, ..Part::new(cost, of) };
            }
            self.size(&mut part);
            arguments.push(part);
        }
        let mut target =
            call.target.as_deref().filter(|_| resolved.is_member).map(|target| self.cost(target));
        if let Some(target) = &mut target {
            self.size(target);
        }
        let operands = target.iter().chain(&arguments).fold(0_u64, |sum, part| sum.saturating_add(part.cost));
        // With an operand of the type dyn several overloads fit, and the dearest counts: `x + y` may be a sum, or two lists.
        let mut part = Part::new(0, of);
        let mut most = 0;
        for overload in &resolved.fitting {
            let given =
                Operands { function: &resolved.function, target: target.as_mut(), arguments: &mut arguments };
            let price = self.overload(given, overload, &mut part);
            most = price.max(most);
            if part.size.is_none() {
                part.size = self.size(&mut part);
            }
        }
        part.cost = match (resolved.function.as_str(), arguments.as_slice()) {
            // One of both is evaluated.
            ("_?_:_", [condition, then, otherwise]) => {
                condition.cost.saturating_add(then.cost.max(otherwise.cost))
            }
            _ => operands.saturating_add(most),
        };
        part
    }

    /// The cost of one overload; notes in `part` what is known about the value.
    fn overload(&self, mut given: Operands<'_, '_>, overload: &Overload, part: &mut Part<'_>) -> u64 {
        // The API server asks Kubernetes' estimator first, and cel-go's only about what that does not know.
        let own = self.library_price(&mut given, overload);
        let price = own.unwrap_or_else(|| self.language_price(&mut given, overload));
        if let Some(size) = price.size {
            part.size = Some(part.size.map_or(size, |before| before.union(size)));
        }
        self.parts(&given, overload, part);
        price.cost
    }

    /// The sizes of the parts of what an operator yields, and the path of an element.
    fn parts(&self, given: &Operands<'_, '_>, overload: &Overload, part: &mut Part<'_>) {
        let joined = |a: Option<Entry>, b: Option<Entry>| Some(a?.union(b?));
        match (given.function, &*given.arguments, overload.arguments.first()) {
            ("_?_:_", [_, a, b], _) => part.entry = joined(self.entry(a), self.entry(b)),
            ("_+_", [a, b], Some(Type::String | Type::Bytes | Type::List(_))) => {
                part.entry = joined(self.entry(a), self.entry(b)).or(part.entry);
            }
            ("_[_]", [list, ..], Some(of @ (Type::List(_) | Type::Map(..)))) => {
                part.size = self.entry(list).map(|entry| entry.value);
                let step = if matches!(of, Type::List(_)) { "@items" } else { "@values" };
                part.path = list.path.with(step);
            }
            _ => {}
        }
    }

    /// The price of a function of Kubernetes' library, or of an extension with prices of its own.
    fn library_price(&self, given: &mut Operands<'_, '_>, overload: &Overload) -> Option<Price> {
        let function = given.function;
        match (given.target.as_deref_mut(), &mut *given.arguments) {
            (Some(target), arguments) => self.method_price(function, target, arguments, overload),
            (None, arguments) => self.function_price(function, arguments),
        }
    }

    fn function_price(&self, function: &str, arguments: &mut [Part<'_>]) -> Option<Price> {
        let traversal =
            |part: &mut Part<'_>, times: f64| self.size_or_unknown(part).priced(times * TRAVERSAL);
        Some(match (function, arguments) {
            ("url", [text]) => {
                let size = self.size_or_unknown(text);
                Price { cost: size.priced(TRAVERSAL), size: Some(size) }
            }
            ("cidr" | "isIP" | "isCIDR" | "ip", [text, ..]) => price(traversal(text, 1.0)),
            ("quantity" | "isQuantity" | "semver" | "isSemver", [text, ..]) => price(traversal(text, 1.0)),
            ("ip.isCanonical", [text]) => price(traversal(text, 2.0)),
            ("_==_", [a, b]) => return self.equality(a, b),
            ("sets.contains" | "sets.intersects" | "sets.equivalent", [a, b]) => {
                let factor = if function == "sets.equivalent" { 2.0 } else { 1.0 };
                // Each element is compared with each of the other list.
                let pairs = self.size_or_unknown(a).times(self.size_or_unknown(b));
                price(pairs.priced(factor).saturating_add(1))
            }
            ("lists.range", [length]) => new_list(1.0, Size::exactly(constant(length).unwrap_or(u64::MAX))),
            _ => return None,
        })
    }

    /// Values of the library that are compared in a step, or by their text.
    fn equality(&self, a: &Part<'_>, b: &mut Part<'_>) -> Option<Price> {
        let Type::Opaque(of) = a.of else { return None };
        if a.of != b.of {
            return None;
        }
        Some(match of {
            "net.IP" | "net.CIDR" | "kubernetes.Quantity" | "kubernetes.Semver" => price(1),
            "kubernetes.NamedFormat" => price(scaled(FORMAT_NAME, TRAVERSAL)),
            "kubernetes.URL" => price(scaled(self.size(b).map_or(1, |size| size.max), TRAVERSAL)),
            _ => return None,
        })
    }

    fn method_price(
        &self,
        function: &str,
        target: &mut Part<'_>,
        arguments: &mut [Part<'_>],
        overload: &Overload,
    ) -> Option<Price> {
        let size = self.size_or_unknown(target);
        Some(match (function, arguments) {
            ("isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf", _) => self.search(target, size),
            ("lowerAscii" | "upperAscii" | "substring" | "trim", _) => {
                Price { cost: size.priced(TRAVERSAL), size: Some(size) }
            }
            ("replace", [old, new, ..]) => {
                let result = replaced(size, self.size_or_unknown(old), self.size_or_unknown(new));
                Price { cost: size.priced(2.0 * TRAVERSAL), size: Some(result) }
            }
            ("split", arguments) => {
                let most = arguments.get(1).and_then(signed).unwrap_or(size.max);
                Price { cost: size.priced(2.0 * TRAVERSAL), size: Some(Size { min: 0, max: most }) }
            }
            ("join", arguments) => {
                let separator = arguments.first_mut().map(|part| self.size_or_unknown(part));
                let result = self.joined_size(target, size, separator);
                Price { cost: result.priced(TRAVERSAL), size: Some(result) }
            }
            ("find" | "findAll", [pattern, ..]) => {
                let cost = self.matching(size, pattern);
                Price { cost, size: Some(Size { min: 0, max: size.max }) }
            }
            ("containsIP" | "containsCIDR", [other]) => {
                // Two addresses of 16 bytes cost 3.2, which is rounded up; masking a network costs 1.6 and 1 more.
                let own = if function == "containsIP" { 4 } else { 7 };
                let is_text = overload.arguments.get(1) == Some(&Type::String);
                let text = if is_text { self.size_or_unknown(other).priced(TRAVERSAL) } else { 0 };
                price(text.saturating_add(own))
            }
            ("validate", [text]) => {
                // The format is not known before, so its pattern is taken to be the longest that there is.
                let text = self.size_or_unknown(text).priced(TRAVERSAL);
                price(scaled(text, FORMAT_PATTERN * PATTERN))
            }
            (function, arguments) => return list_price(function, size, arguments, overload),
        })
    }

    /// One step per item, and the length of each that is a string; for a string, its length.
    fn search(&self, target: &Part<'_>, size: Size) -> Price {
        let item = match &target.of {
            Type::List(item) | Type::Optional(item) => item,
            _ => return price(size.priced(TRAVERSAL)),
        };
        let mut each = 1_u64;
        if matches!(**item, Type::String | Type::Bytes) {
            each = each.saturating_add(self.item_size(target).priced(TRAVERSAL));
        }
        price(size.max.saturating_mul(each))
    }

    /// The declared size of the items of a list.
    fn item_size(&self, list: &Part<'_>) -> Size {
        let declared = if list.path.is_none() { None } else { self.declared_size(&list.path.with("@items")) };
        declared.unwrap_or(Size::UNKNOWN)
    }

    fn joined_size(&self, list: &Part<'_>, size: Size, separator: Option<Size>) -> Size {
        let items = match &list.of {
            Type::List(_) | Type::Optional(_) => size.times(self.item_size(list)),
            _ => Size::exactly(0),
        };
        let between = Size { min: size.min.saturating_sub(1), max: size.max.saturating_sub(1) };
        separator.map_or(items, |separator| items.plus(separator.times(between)))
    }

    /// A regular expression applied to a string, which counts as one character longer so that no string is free.
    fn matching(&self, subject: Size, pattern: &mut Part<'_>) -> u64 {
        let subject = subject.plus(Size::exactly(1)).priced(TRAVERSAL);
        subject.saturating_mul(self.size_or_unknown(pattern).priced(PATTERN))
    }

    /// The price of a function of the language.
    fn language_price(&self, given: &mut Operands<'_, '_>, overload: &Overload) -> Price {
        let types = overload.arguments.as_slice();
        let target = given.target.as_deref_mut().map(|target| self.size_or_unknown(target));
        match (given.function, target, &mut *given.arguments, types) {
            ("format", Some(target), ..) => price(target.priced(TRAVERSAL)),
            ("bytes", _, [text], [Type::String]) => {
                let size = self.size_or_unknown(text);
                // A character takes up to four bytes; Go's product wraps around.
                let bytes = Size { min: size.min, max: size.max.wrapping_mul(4) };
                Price { cost: size.priced(TRAVERSAL), size: Some(bytes) }
            }
            ("string", _, [bytes], [Type::Bytes]) => {
                let size = self.size_or_unknown(bytes);
                let text = Size { min: size.min.checked_div(4).unwrap_or(0), max: size.max };
                Price { cost: size.priced(TRAVERSAL), size: Some(text) }
            }
            ("strings.quote", _, [text], _) => {
                let size = self.size_or_unknown(text);
                let quoted =
                    Size { min: size.min.wrapping_add(2), max: size.max.wrapping_mul(2).wrapping_add(2) };
                Price { cost: size.priced(TRAVERSAL), size: Some(quoted) }
            }
            ("startsWith" | "endsWith", _, [affix], _) => {
                price(self.size_or_unknown(affix).priced(TRAVERSAL))
            }
            ("@in", _, [_, list], [_, Type::List(_)]) => price(self.size_or_unknown(list).max),
            ("matches", Some(subject), [pattern], _) => price(self.matching(subject, pattern)),
            ("contains", Some(subject), [part], _) => {
                let part = self.size_or_unknown(part).priced(TRAVERSAL);
                price(subject.priced(TRAVERSAL).saturating_mul(part))
            }
            (operator, _, arguments, types) => self.operator_price(operator, arguments, types),
        }
    }

    fn operator_price(&self, operator: &str, arguments: &mut [Part<'_>], types: &[Type]) -> Price {
        match (operator, arguments, types) {
            ("_?_:_", [_, then, otherwise], _) => {
                let size = self.size_or_unknown(then).union(self.size_or_unknown(otherwise));
                Price { cost: 0, size: Some(size) }
            }
            ("_+_", [a, b], [of @ (Type::String | Type::Bytes | Type::List(_)), ..]) => {
                let size = self.size_or_unknown(a).plus(self.size_or_unknown(b));
                let cost = if matches!(of, Type::List(_)) { 1 } else { size.priced(TRAVERSAL) };
                Price { cost, size: Some(size) }
            }
            ("_==_" | "_!=_", [a, b], _)
            | ("_<_" | "_<=_" | "_>_" | "_>=_", [a, b], [Type::String | Type::Bytes, ..]) => {
                // Two values differ at the latest where the shorter one ends.
                let shorter = self.size_or_unknown(a).max.min(self.size_or_unknown(b).max);
                price(scaled(shorter, TRAVERSAL))
            }
            _ => price(1),
        }
    }
}

/// A list that a function makes: the cost of the call, of the list and of its items.
fn new_list(factor: f64, size: Size) -> Price {
    let cost = size.priced(factor).saturating_add(1).saturating_add(LIST);
    Price { cost, size: Some(size) }
}

/// Functions that make a list of a list.
fn list_price(function: &str, size: Size, arguments: &[Part<'_>], overload: &Overload) -> Option<Price> {
    Some(match (function, arguments) {
        ("slice", [start, end]) => {
            let (start, end) = (constant(start).unwrap_or(0), constant(end).unwrap_or(size.max));
            // An end before the start is an error when evaluated; Go's difference wraps around.
            new_list(1.0, Size::exactly(end.wrapping_sub(start)))
        }
        ("reverse", []) => new_list(1.0, size),
        ("flatten", []) => new_list(1.0, size),
        ("flatten", [depth]) => new_list(constant(depth).unwrap_or(u64::MAX) as f64, size),
        ("distinct", []) => new_list(2.0, size.times(size)),
        ("sort", []) => {
            let of = overload.arguments.first();
            let is_text =
                matches!(of, Some(Type::List(item)) if matches!(**item, Type::String | Type::Bytes));
            let (cost, size) = sorting(size, is_text);
            Price { cost, size: Some(size) }
        }
        _ => return None,
    })
}

/// Sorting a list of so many items: the cost, and the size that cel-go takes for that of the result.
pub(super) fn sorting(size: Size, of_text: bool) -> (u64, Size) {
    let factor = if of_text { 2.0 + TRAVERSAL } else { 2.0 };
    let Price { cost, .. } = new_list(factor, size.times(size));
    (cost, size.times(size))
}

/// The size of a text with all `old` replaced by `new`.
///
/// ```text
/// text 10, old 2, new 5    at most 5 replacements of 5 characters: 25
/// text 10, old 5, new 2    not longer than it was: 10
/// text 10, old 0, new 3    around each character: 11 replacements of 3 characters, and the text: 43
/// ```
fn replaced(text: Size, old: Size, new: Size) -> Size {
    let ratio = |text: u64, old: u64| (text as f64 / old as f64).ceil() as u64;
    let (most, longest) = match old.min {
        0 => (text.max.saturating_add(1), text.max),
        shortest if new.max <= shortest => (0, text.max),
        shortest => (ratio(text.max, shortest), 0),
    };
    let (fewest, kept) = match old.max {
        0 => (text.min.saturating_add(1), text.min),
        longest if longest <= new.min => (0, text.min),
        longest => (ratio(text.min, longest), 0),
    };
    let count = Size { min: fewest, max: most };
    count.times(new).plus(Size { min: kept, max: longest })
}

/// The value of a literal; 0 for a negative one.
fn constant(part: &Part<'_>) -> Option<u64> {
    match part.literal {
        Some(Value::Int(number)) => Some(u64::try_from(*number).unwrap_or(0)),
        _ => None,
    }
}

/// The value of a literal, as Go converts it: a negative one becomes a large one.
fn signed(part: &Part<'_>) -> Option<u64> {
    match part.literal {
        Some(Value::Int(number)) => Some(number.cast_unsigned()),
        _ => None,
    }
}
