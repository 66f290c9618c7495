//! Questions to the API server: generated schemas and rules, and rules by hand. This file asserts nothing.
#![allow(dead_code, reason = "each test uses its own part of this file")]

#[path = "../typed/mod.rs"]
mod typed;

use serde_json::{Value, json};

use crate::generate::{self, Random};
use crate::verdict::Verdict::{self, Accepted, Refused};
use crate::verdict::{crd, ours, resource};

/// A schema without rules, and whether its resource has a status; nothing when the schema came with rules.
pub(crate) fn schema(r: &mut Random) -> Option<(Value, bool)> {
    let schema = if r.chance(15) { generate::heap(r, 2) } else { generate::mistaken(r) };
    let has_rules = schema.to_string().contains("x-kubernetes-validations");
    (!has_rules).then(|| (schema, r.chance(20)))
}

/// Rules about the schema [`ruled`](crate::verdict::ruled).
pub(crate) const RULES: [(&str, Verdict); 75] = [
    // Syntax.
    ("true", Accepted),
    ("self.size <", Refused),
    ("self.size = 3", Refused),
    ("self.size > 3 and true", Refused),
    ("'unterminated", Refused),
    ("(self.size > 3", Refused),
    ("self.size > 3)", Refused),
    ("self..size > 3", Refused),
    ("1 +", Refused),
    ("", Refused),
    ("  ", Refused),
    ("self.size > 3 // a note", Accepted),
    ("self.size > 0x1F", Accepted),
    ("self.name == r'\\d'", Accepted),
    ("self.name == '\\q'", Refused),
    // Fields.
    ("self.size > 3", Accepted),
    ("self.sise > 3", Refused),
    ("self.inner.deep == 'x'", Accepted),
    ("self.inner.wrong == 'x'", Refused),
    ("has(self.size)", Accepted),
    ("has(self.wrong)", Refused),
    ("self.list.all(x, x.startsWith('a'))", Accepted),
    ("self.things.all(t, t.id == 'x')", Accepted),
    ("self.things.all(t, t.wrong == 'x')", Refused),
    ("self.labels.all(k, k.startsWith('a'))", Accepted),
    ("self.labels['a'] == 'x'", Accepted),
    ("self.odd__dash__name == 'x'", Accepted),
    ("self.__namespace__ == 'x'", Accepted),
    // A reserved word means the property of that name.
    ("self.namespace == 'x'", Accepted),
    ("self.namespace == 3", Refused),
    ("has(self.namespace)", Accepted),
    ("self.?namespace.orValue('') == 'x'", Accepted),
    // Its cost is estimated without the property's bound.
    ("self.namespace.contains(self.namespace)", Refused),
    ("self.while == 'x'", Refused),
    ("has(self.while)", Refused),
    // The server's version of cel-go knows names in backticks, and refuses them.
    ("self.`name` == 'x'", Refused),
    ("self.`odd-name` == 'x'", Refused),
    ("has(self.`name`)", Refused),
    ("Object{name: 'x'} == self", Refused),
    ("Object.inner{?deep: 'x',}.deep == 'x'", Refused),
    ("self.open.anything == 'x'", Refused),
    ("self.port == 80 || self.port == 'http'", Accepted),
    ("self.metadata.name == 'x'", Refused),
    // Scope.
    ("nothing > 3", Refused),
    ("variables.x", Refused),
    ("self.size > size", Refused),
    ("oldSelf.size == self.size", Accepted),
    ("object.spec.size > 3", Refused),
    ("request.name == 'x'", Refused),
    ("self.list.all(x, y == 'a')", Refused),
    ("self.list.exists(x, x == self.name)", Accepted),
    ("[1, 2].all(i, i < self.size)", Accepted),
    // A condition.
    ("self.size", Refused),
    ("self.name", Refused),
    ("'text'", Refused),
    ("1", Refused),
    ("size(self.list)", Refused),
    ("self.flag", Accepted),
    ("!self.flag", Accepted),
    ("self.flag ? self.size > 1 : self.size > 2", Accepted),
    ("self.flag ? 1 : 2", Refused),
    ("self.size + 1", Refused),
    // Types and functions.
    ("self.size == 'x'", Refused),
    ("self.name > 3", Refused),
    ("self.name.nonsense()", Refused),
    ("nonsense(self.name)", Refused),
    ("self.name.startsWith(3)", Refused),
    ("self.name.matches('[')", Refused),
    ("quantity(self.name).isGreaterThan(quantity('1Gi'))", Accepted),
    ("isURL(self.name) && url(self.name).getHost() == 'x'", Accepted),
    ("self.list.sum() > 1", Refused),
    ("self.numbers.sum() > 1", Accepted),
    ("self.?name.orValue('x') == 'x'", Accepted),
    ("optional.none().hasValue()", Accepted),
    ("format.dns1123Label().validate(self.name).hasValue()", Accepted),
];

/// A rule that is more often good than what is made up for fuzzing.
pub(crate) fn rule(r: &mut Random) -> String {
    let field = *r.pick(&["self.a", "self.b.c", "self.name", "self.x__dash__y", "'x'"]);
    match r.below(6) {
        0 => format!("{field} == {}", generate::text::expression(r, 1)),
        1 => format!("!({}) || {field} != 'x'", generate::text::expression(r, 1)),
        2 => format!("self.list.all(x, x != {})", generate::text::expression(r, 1)),
        3 => format!("[{field}].exists(a, a == {})", generate::text::expression(r, 0)),
        _ => generate::text::expression(r, 3),
    }
}

/// A resource with a list so long that the rule of its items is barely too expensive.
pub(crate) fn costly(r: &mut Random) -> Value {
    let mut schema = typed::schema(r);
    let expression = typed::expression(r, typed::Kind::Bool, 3, &mut Vec::new());
    schema["x-kubernetes-validations"] = json!([{"rule": expression, "message": "no"}]);
    repeated(&schema, barely_too_many(&schema))
}

/// A resource with a rule for each item of a list of so many items.
fn repeated(schema: &Value, items: u64) -> Value {
    resource(json!({"type": "array", "maxItems": items, "items": schema}))
}

/// The fewest items for which the rule of a schema is too expensive: there the error shows the factor with six decimals,
/// so that its text compares the estimates themselves. One item, when the rule is refused for something else.
fn barely_too_many(schema: &Value) -> u64 {
    let is_over =
        |items: u64| ours(&crd(&repeated(schema, items), false)).iter().any(|text| text.contains("budget"));
    if !ours(&crd(&repeated(schema, 1), false)).is_empty() {
        return 1;
    }
    // A rule that costs nothing is never too expensive.
    let Some(mut over) = (0..24).map(|power| 1 << power).find(|items| is_over(*items)) else { return 1 };
    let mut under = 0;
    while over - under > 1 {
        let middle = under + (over - under) / 2;
        if is_over(middle) { over = middle } else { under = middle }
    }
    over
}
