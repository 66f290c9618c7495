//! Expressions of a wanted kind.

use super::{Author, Kind, Scope};

/// References to single values that may be there.
const SCALARS: &[&str] = &[
    "input.review.object.metadata.name",
    "input.review.object.metadata.namespace",
    "input.review.object.metadata.labels.a",
    "input.review.object.metadata.labels[\"app\"]",
    "input.review.object.spec.replicas",
    "input.review.object.spec.hostNetwork",
    "input.review.operation",
    "input.review.nothing",
    "input.parameters.max",
    "input.parameters.ratio",
    "input.parameters.absent.deeper",
    "input.parameters.allowed.b.key",
    "input.review.object.spec.containers[0].image",
];

/// References to collections that may be there.
pub(super) const COLLECTIONS: &[&str] = &[
    "input.review.object.spec.containers",
    "input.review.object.metadata.labels",
    "input.review.object.spec.initContainers",
    "input.parameters.labels",
    "input.parameters.repos",
    "input.parameters.allowed",
    "input.review.object.spec.containers[_].ports",
    "input.parameters.absent",
];

const FIELDS: &[&str] = &["name", "image", "ports", "resources", "securityContext", "key", "containerPort"];
const TEXTS: &[&str] = &["a", "x/", "app", "", "web", "latest", "100m", "é\\n"];
const FORMATS: &[&str] = &[
    "%v",
    "%v %v",
    "<%v>: %s",
    "%d",
    "%s/%d",
    "%q",
    "%5d|%-5s|",
    "%.2f",
    "%x",
    "%%",
    "%v %v %v",
    "%t",
    "%[2]v %[1]v",
];
const PATTERNS: &[&str] = &["^[a-z]+$", "^x/", "[0-9]+m?$", "a|b", "(?i)APP", "^$"];

impl Author {
    /// A value that is written out.
    pub(super) fn literal(&mut self, kind: Kind) -> String {
        let text = self.random.pick(TEXTS);
        let number = self.random.pick(&["0", "1", "2", "-3", "1.5", "10"]);
        match kind {
            Kind::Any | Kind::Text => format!("\"{text}\""),
            Kind::Number => number.to_owned(),
            Kind::Bool => self.random.pick(&["true", "false"]).to_owned(),
            Kind::Array => self.random.pick(&["[]", "[1, \"a\"]", "[null, {\"a\": 1}]"]).to_owned(),
            Kind::Set => self.random.pick(&["set()", "{\"a\", \"b\"}", "{1, 2}"]).to_owned(),
            Kind::Object => self.random.pick(&["{}", "{\"a\": 1}", "{\"a\": {\"b\": []}}"]).to_owned(),
        }
    }

    /// An expression of a kind, from what is in scope.
    pub(super) fn expression(&mut self, kind: Kind, scope: &Scope, depth: usize) -> String {
        let fitting: Vec<&str> = scope
            .iter()
            .filter(|(_, known)| kind == Kind::Any || *known == kind || *known == Kind::Any)
            .map(|(name, _)| name.as_str())
            .collect();
        if !fitting.is_empty() && self.random.once_in(2) {
            return self.random.pick(&fitting).to_owned();
        }
        if depth == 0 {
            return self.leaf(kind);
        }
        if let Some(call) = self.call_of_own(kind, scope, depth) {
            return call;
        }
        let depth = depth.saturating_sub(1);
        match kind {
            Kind::Any => self.any(scope, depth),
            Kind::Text => self.text(scope, depth),
            Kind::Number => self.number(scope, depth),
            Kind::Bool => self.truth(scope, depth),
            Kind::Array => self.array(scope, depth),
            Kind::Set => self.set(scope, depth),
            Kind::Object => self.object(scope, depth),
        }
    }

    fn leaf(&mut self, kind: Kind) -> String {
        let reference = match kind {
            Kind::Array | Kind::Object => self.random.pick(COLLECTIONS),
            Kind::Set => return self.literal(kind),
            _ => self.random.pick(SCALARS),
        };
        if reference.contains("[_]") || self.random.once_in(3) {
            self.literal(kind)
        } else {
            reference.to_owned()
        }
    }

    /// A call of a function, or a reference to a rule, of the module itself.
    fn call_of_own(&mut self, kind: Kind, scope: &Scope, depth: usize) -> Option<String> {
        if !self.random.once_in(4) {
            return None;
        }
        let rules: Vec<String> =
            self.rules.iter().filter(|(_, known)| *known == kind).map(|(name, _)| name.clone()).collect();
        if self.random.once_in(2) {
            return rules.get(self.random.below(rules.len())).cloned();
        }
        let functions: Vec<_> =
            self.functions.iter().filter(|function| function.kind == kind).cloned().collect();
        let function = functions.get(self.random.below(functions.len()))?;
        Some(self.call(&function.name, function.arity, scope, depth))
    }

    pub(super) fn call(&mut self, name: &str, arity: usize, scope: &Scope, depth: usize) -> String {
        let depth = depth.saturating_sub(1);
        let arguments: Vec<String> = (0..arity).map(|_| self.expression(Kind::Any, scope, depth)).collect();
        format!("{name}({})", arguments.join(", "))
    }

    fn any(&mut self, scope: &Scope, depth: usize) -> String {
        let field = self.random.pick(FIELDS);
        match self.random.below(5) {
            0 => {
                let object = self.expression(Kind::Object, scope, depth);
                let default = self.expression(Kind::Any, scope, 0);
                format!("object.get({object}, \"{field}\", {default})")
            }
            1 => self.expression(Kind::Text, scope, depth),
            2 => self.expression(Kind::Number, scope, depth),
            3 => match scope.iter().find(|(_, kind)| *kind == Kind::Any) {
                Some((name, _)) => format!("{name}.{field}"),
                None => self.random.pick(SCALARS).to_owned(),
            },
            _ => self.random.pick(SCALARS).to_owned(),
        }
    }

    fn text(&mut self, scope: &Scope, depth: usize) -> String {
        let inner = self.expression(Kind::Text, scope, depth);
        match self.random.below(10) {
            0..=3 => {
                let format = self.random.pick(FORMATS);
                let count = self.random.below(3).saturating_add(1);
                let values: Vec<String> = (0..count)
                    .map(|_| {
                        let kind = self.random.pick(&super::KINDS);
                        self.expression(kind, scope, depth)
                    })
                    .collect();
                format!("sprintf(\"{format}\", [{}])", values.join(", "))
            }
            4 => format!("lower({inner})"),
            5 => format!("concat(\", \", [{inner}, \"z\"])"),
            6 => format!("replace({inner}, \"a\", \"b\")"),
            7 => format!("trim_suffix({inner}, \"m\")"),
            8 => format!("substring({inner}, 0, {})", self.random.pick(&["1", "2", "-1"])),
            _ => {
                let any = self.expression(Kind::Any, scope, depth);
                self.random.pick(&["type_name", "json.marshal"]).to_owned() + &format!("({any})")
            }
        }
    }

    fn number(&mut self, scope: &Scope, depth: usize) -> String {
        let kind = self.random.pick(&[Kind::Array, Kind::Set, Kind::Object, Kind::Text]);
        match self.random.below(6) {
            0 | 1 => format!("count({})", self.expression(kind, scope, depth)),
            2 => format!("to_number({})", self.expression(Kind::Text, scope, depth)),
            3 => {
                let (left, right) = self.pair(Kind::Number, scope, depth);
                let operator = self.random.pick(&["+", "-", "*", "/"]);
                format!("({left} {operator} {right})")
            }
            4 => format!("abs({})", self.expression(Kind::Number, scope, depth)),
            _ => self.leaf(Kind::Number),
        }
    }

    fn pair(&mut self, kind: Kind, scope: &Scope, depth: usize) -> (String, String) {
        (self.expression(kind, scope, depth), self.expression(kind, scope, depth))
    }

    /// A call that answers true or false.
    fn truth(&mut self, scope: &Scope, depth: usize) -> String {
        let any = self.expression(Kind::Any, scope, depth);
        let (left, right) = self.pair(Kind::Text, scope, depth);
        match self.random.below(8) {
            0 => format!("is_string({any})"),
            1 => format!("is_null({any})"),
            2 => format!("contains({left}, {right})"),
            3 => format!("endswith({left}, {right})"),
            4 => format!("regex.match(\"{}\", {left})", self.random.pick(PATTERNS)),
            5 if self.v0 => format!("re_match(\"{}\", {left})", self.random.pick(PATTERNS)),
            6 if self.v0 => {
                let flags = self.expression(Kind::Bool, scope, 0);
                let name = self.random.pick(&["any", "all"]);
                format!("{name}([{flags}, {}])", self.literal(Kind::Bool))
            }
            _ => format!("startswith({left}, {right})"),
        }
    }

    fn array(&mut self, scope: &Scope, depth: usize) -> String {
        match self.random.below(5) {
            0 => self.comprehension('[', ']', scope, depth),
            1 => format!("split({}, \"/\")", self.expression(Kind::Text, scope, depth)),
            2 => {
                let (left, right) = self.pair(Kind::Array, scope, depth);
                format!("array.concat({left}, {right})")
            }
            3 => format!("sort({})", self.expression(Kind::Set, scope, depth)),
            _ => {
                let (left, right) = self.pair(Kind::Any, scope, depth);
                format!("[{left}, {right}]")
            }
        }
    }

    fn set(&mut self, scope: &Scope, depth: usize) -> String {
        match self.random.below(4) {
            0 | 1 => self.comprehension('{', '}', scope, depth),
            2 => {
                let left = self.comprehension('{', '}', scope, depth);
                let right = self.comprehension('{', '}', scope, depth);
                let operator = self.random.pick(&["-", "&", "|"]);
                format!("({left} {operator} {right})")
            }
            _ => {
                let (left, right) = self.pair(Kind::Any, scope, depth);
                format!("{{{left}, {right}}}")
            }
        }
    }

    fn comprehension(&mut self, open: char, close: char, scope: &Scope, depth: usize) -> String {
        let name = self.fresh("e");
        let source = self.random.pick(COLLECTIONS);
        let mut inner = scope.clone();
        inner.push((name.clone(), Kind::Any));
        let condition = if self.random.once_in(2) {
            format!("; {}", self.condition(&inner, depth))
        } else {
            String::new()
        };
        let element = self.expression(Kind::Any, &inner, depth);
        format!("{open}{element} | {name} := {source}[_]{condition}{close}")
    }

    fn object(&mut self, scope: &Scope, depth: usize) -> String {
        match self.random.below(4) {
            0 => {
                let (key, value) = (self.fresh("k"), self.fresh("e"));
                let source = self.random.pick(COLLECTIONS);
                format!("{{{key}: {value} | {value} := {source}[{key}]}}")
            }
            1 => {
                let (left, right) = self.pair(Kind::Object, scope, depth);
                format!("object.union({left}, {right})")
            }
            _ => {
                let (left, right) = self.pair(Kind::Any, scope, depth);
                format!("{{\"a\": {left}, \"b\": {right}}}")
            }
        }
    }
}
