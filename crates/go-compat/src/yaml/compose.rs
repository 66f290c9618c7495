//! From the parser's events to values: documents, anchors, merge keys, and a bound on what aliases may grow to.

use std::collections::{BTreeMap, HashMap};
use std::panic::catch_unwind;
use std::rc::Rc;

use libyaml_safer::{Event, EventData, Parser, ScalarStyle};

use crate::value::{Array, Number, Object, Value};

use super::super::operand::{EXCESS, Fault};
use super::scalar::{self, Scalar};

/// Levels of nesting; deeper values are a risk to the stack of those who walk them.
const MOST_DEPTH: usize = 500;
/// Values of one text with all aliases written out.
const MOST_VALUES: usize = 2_000_000;

/// The first document of a text whose other documents are well-formed.
pub(super) fn first_document(text: &str) -> Result<Value, Fault> {
    // The parser panics on a few malformed texts (libyaml-safer 0.3.0: a tag that ends at a comma); nothing that it
    // worked on outlives it.
    let read = catch_unwind(|| composed(text));
    read.unwrap_or_else(|_| Err("yaml: the document is not readable".to_owned()))
}

/// How many of so many values may come from aliases: nearly all of them in a short text, a tenth in a long one.
fn allowed(values: usize) -> usize {
    const SHORT: usize = 400_000;
    const LONG: usize = 4_000_000;
    const RANGE: usize = 3_600_000;
    let beyond = values.clamp(SHORT, LONG).saturating_sub(SHORT);
    let percent = 99usize.saturating_sub(beyond.saturating_mul(89) / RANGE);
    values.saturating_mul(percent) / 100
}

/// A node, with what must be known of it as a key or as something to merge.
enum Node {
    Scalar(Scalar),
    Sequence(Vec<Node>),
    Mapping(Vec<(Node, Node)>),
    Alias(Rc<Node>),
    /// What an alias may stand for.
    Anchor(Rc<Node>),
}

/// What an anchor stands for, with the number of values in it and of their levels.
struct Anchored {
    node: Rc<Node>,
    size: usize,
    height: usize,
}

struct Composer<'a, 'b> {
    parser: Parser<&'a mut &'b [u8]>,
    anchors: HashMap<String, Anchored>,
    values: usize,
    /// Those of them that aliases stand for.
    aliased: usize,
    /// The deepest level so far of what is being read.
    deepest: usize,
    /// The line after that of the break which the text lacks at its end.
    unended: Option<u64>,
}

fn composed(text: &str) -> Result<Value, Fault> {
    // The reader takes the first byte of U+F000 to U+FFFF for that of a byte order mark, unless there is one before.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let marked = if text.as_bytes().first() == Some(&0xef) { Some(format!("\u{feff}{text}")) } else { None };
    let whole = marked.as_deref().unwrap_or(text);
    // The parser does not know where a block ends in a text that ends within a line (libyaml-safer 0.3.0).
    let is_ended = whole.rsplit('\n').next().is_none_or(|line| line.trim().is_empty());
    let ended = (!is_ended).then(|| format!("{whole}\n"));
    let unended = ended.as_deref().map(|text| u64::try_from(text.matches('\n').count()).unwrap_or(u64::MAX));
    let mut bytes = ended.as_deref().unwrap_or(whole).as_bytes();
    let mut parser = Parser::new();
    parser.set_input_string(&mut bytes);
    let mut composer =
        Composer { parser, anchors: HashMap::new(), values: 0, aliased: 0, deepest: 0, unended };
    let mut first = None;
    loop {
        let event = composer.next()?;
        match event.data {
            EventData::StreamEnd => break,
            EventData::DocumentStart { .. } => {
                let root = composer.next()?;
                let node = composer.node(root, 0)?;
                first.get_or_insert(node);
            }
            _ => {}
        }
    }
    let Some(node) = first else { return Ok(Value::Null) };
    value(&node, &mut Shared::new())
}

impl Composer<'_, '_> {
    fn next(&mut self) -> Result<Event, Fault> {
        self.parser.parse().map_err(|error| format!("yaml: {error}"))
    }

    fn node(&mut self, event: Event, depth: usize) -> Result<Node, Fault> {
        let (values, deepest) = (self.values, self.deepest);
        self.deepest = depth;
        self.grow(1, depth)?;
        let (anchor, node) = match event.data {
            EventData::Alias { anchor } => (None, self.alias(&anchor, depth)?),
            EventData::Scalar { anchor, tag, mut value, style, .. } => {
                let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                if is_block && self.unended == Some(event.end_mark.line) && value.ends_with('\n') {
                    value.pop();
                }
                let quoted = style != ScalarStyle::Plain;
                (anchor, Node::Scalar(scalar::resolve(&value, tag.as_deref(), quoted)))
            }
            EventData::SequenceStart { anchor, .. } => {
                self.forget(anchor.as_ref());
                (anchor, Node::Sequence(self.sequence(depth)?))
            }
            EventData::MappingStart { anchor, .. } => {
                self.forget(anchor.as_ref());
                (anchor, Node::Mapping(self.mapping(depth)?))
            }
            _ => return Err("yaml: expected a value".to_owned()),
        };
        let node = match anchor {
            None => node,
            Some(anchor) => {
                let (size, height) = (self.values.saturating_sub(values), self.deepest.saturating_sub(depth));
                let node = Rc::new(node);
                self.anchors.insert(anchor, Anchored { node: Rc::clone(&node), size, height });
                Node::Anchor(node)
            }
        };
        self.deepest = self.deepest.max(deepest);
        Ok(node)
    }

    /// An anchor stands for nothing until what it is at has ended: nothing contains itself.
    fn forget(&mut self, anchor: Option<&String>) {
        if let Some(anchor) = anchor {
            self.anchors.remove(anchor);
        }
    }

    fn alias(&mut self, anchor: &str, depth: usize) -> Result<Node, Fault> {
        let unknown = || format!("yaml: unknown anchor '{anchor}' referenced");
        let found = self.anchors.get(anchor).ok_or_else(unknown)?;
        let (node, size, height) = (Rc::clone(&found.node), found.size, found.height);
        self.aliased = self.aliased.saturating_add(size);
        let values = self.values.saturating_add(size);
        if self.aliased > 100 && values > 1_000 && self.aliased > allowed(values) {
            return Err("yaml: document contains excessive aliasing".to_owned());
        }
        self.grow(size, depth.saturating_add(height))?;
        Ok(Node::Alias(node))
    }

    fn sequence(&mut self, depth: usize) -> Result<Vec<Node>, Fault> {
        let mut items = Vec::new();
        loop {
            let event = self.next()?;
            if event.data == EventData::SequenceEnd {
                return Ok(items);
            }
            items.push(self.node(event, depth.saturating_add(1))?);
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<Vec<(Node, Node)>, Fault> {
        let (mut pairs, deeper) = (Vec::new(), depth.saturating_add(1));
        loop {
            let event = self.next()?;
            if event.data == EventData::MappingEnd {
                return Ok(pairs);
            }
            let key = self.node(event, deeper)?;
            let following = self.next()?;
            pairs.push((key, self.node(following, deeper)?));
        }
    }

    fn grow(&mut self, values: usize, depth: usize) -> Result<(), Fault> {
        self.values = self.values.saturating_add(values);
        self.deepest = self.deepest.max(depth);
        if depth > MOST_DEPTH || self.values > MOST_VALUES {
            return Err(EXCESS.to_owned());
        }
        Ok(())
    }
}

impl Node {
    /// The node itself, for those who need not know that it has an anchor.
    fn bare(&self) -> &Self {
        match self {
            Self::Anchor(node) => node.bare(),
            node => node,
        }
    }

    /// The node itself, for those who need not know that it is written elsewhere.
    fn target(&self) -> &Self {
        match self {
            Self::Alias(node) | Self::Anchor(node) => node.target(),
            node => node,
        }
    }
}

/// The values of nodes with an anchor, by where the node is, so that an alias needs no memory of its own.
type Shared = HashMap<usize, Value>;

fn value(node: &Node, shared: &mut Shared) -> Result<Value, Fault> {
    match node {
        Node::Alias(node) | Node::Anchor(node) => {
            let place = Rc::as_ptr(node).addr();
            if let Some(value) = shared.get(&place) {
                return Ok(value.clone());
            }
            let made = value(node, shared)?;
            shared.insert(place, made.clone());
            Ok(made)
        }
        Node::Sequence(items) => {
            let items = items.iter().map(|item| value(item, shared));
            Ok(items.collect::<Result<Array, _>>()?.into_value())
        }
        Node::Mapping(pairs) => {
            let mut nodes = BTreeMap::new();
            collect(pairs, &mut nodes)?;
            let fields = nodes.into_iter().map(|(key, node)| Ok((Value::from(key), value(node, shared)?)));
            Ok(fields.collect::<Result<Object, Fault>>()?.into_value())
        }
        Node::Scalar(scalar) => of_scalar(scalar),
    }
}

/// The fields of a mapping: those that are written out win, and of those the last; of merged ones the first.
fn collect<'n>(pairs: &'n [(Node, Node)], fields: &mut BTreeMap<String, &'n Node>) -> Result<(), Fault> {
    let (merges, own): (Vec<_>, Vec<_>) =
        pairs.iter().partition(|(key, _)| matches!(key.bare(), Node::Scalar(Scalar::Merge)));
    let mut mine = BTreeMap::new();
    for (key, node) in own {
        mine.insert(key_text(key)?, node);
    }
    for (name, node) in mine {
        fields.entry(name).or_insert(node);
    }
    for (_, node) in merges {
        match node.bare() {
            Node::Sequence(items) => items.iter().try_for_each(|item| merge(item, fields))?,
            _ => merge(node, fields)?,
        }
    }
    Ok(())
}

fn merge<'n>(node: &'n Node, fields: &mut BTreeMap<String, &'n Node>) -> Result<(), Fault> {
    match node.target() {
        Node::Mapping(pairs) => collect(pairs, fields),
        _ => Err("yaml: map merge requires map or sequence of maps as the value".to_owned()),
    }
}

fn key_text(key: &Node) -> Result<String, Fault> {
    Ok(match key.target() {
        Node::Scalar(Scalar::Text(text)) => text.clone(),
        Node::Scalar(Scalar::Bool(word)) => word.to_string(),
        Node::Scalar(Scalar::Int(whole)) => whole.to_string(),
        Node::Scalar(Scalar::Float(float)) => float_key(*float),
        Node::Scalar(Scalar::Merge) => "<<".to_owned(),
        _ => return Err("yaml: unsupported map key".to_owned()),
    })
}

/// Keys are written with the precision of 32 bits.
fn float_key(float: f64) -> String {
    let short = float as f32;
    match () {
        () if short.is_nan() => ".nan".to_owned(),
        () if short.is_infinite() => if short > 0.0 { ".inf" } else { "-.inf" }.to_owned(),
        () => scalar::general_short(short),
    }
}

fn of_scalar(scalar: &Scalar) -> Result<Value, Fault> {
    Ok(match scalar {
        Scalar::Null => Value::Null,
        Scalar::Bool(word) => Value::Bool(*word),
        Scalar::Int(whole) => Value::Number(Number::from(*whole)),
        Scalar::Float(float) => Value::Number(scalar::json_number(*float).ok_or("json: unsupported value")?),
        Scalar::Text(text) | Scalar::Timestamp(text) => Value::from(text.as_str()),
        Scalar::Merge => Value::from("<<"),
        Scalar::Wrong => return Err("yaml: a value is not what its tag says".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        first_document(text).unwrap().to_json_str()
    }

    #[test]
    fn a_block_may_end_with_the_text() {
        for (text, expected) in [
            ("b: |\n  x\n  y", r#"{"b":"x\ny"}"#),
            ("b: |+\n  x", r#"{"b":"x"}"#),
            ("b: |-\n  x", r#"{"b":"x"}"#),
            ("b: >\n  x\n  y", r#"{"b":"x y"}"#),
            ("- |\n  x", r#"["x"]"#),
            ("a: |\n  x\nb: 1", r#"{"a":"x\n","b":1}"#),
            ("a: |\n  x\n# y", r#"{"a":"x\n"}"#),
            ("a: |\n  x\n", r#"{"a":"x\n"}"#),
            ("a: |\n  x\n  ", r#"{"a":"x\n"}"#),
            ("a: 'x'", r#"{"a":"x"}"#),
        ] {
            assert_eq!(read(text), expected, "{text:?}");
        }
    }
}
