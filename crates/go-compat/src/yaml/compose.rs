//! From libyaml's events to a tree: documents, anchors, and a bound on what aliases may grow to.

use std::collections::HashMap;
use std::panic::catch_unwind;
use std::rc::Rc;

use libyaml_safer::{Event, EventData, Parser, ScalarStyle};

use super::{ComposeOptions, Error, Version};

/// Values of one string with all aliases written out.
const MOST_VALUES: usize = 2_000_000;

/// Returns true if a character ends a line.
#[must_use]
pub const fn is_break(character: char) -> bool {
    matches!(character, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Composes all documents of a string.
///
/// # Errors
/// The string is not YAML, or larger than it may be.
pub fn documents(text: &str, options: &ComposeOptions) -> Result<Vec<Node>, Error> {
    // The parser panics where a tag ends at a comma (`[!!str, a]`, libyaml-safer 0.3.0); nothing that it worked on
    // outlives it.
    let composed = catch_unwind(|| composed(text, options));
    composed.unwrap_or_else(|_| Err(unplaced("a tag must be followed by a space")))
}

/// A node of a document.
#[derive(Debug)]
#[non_exhaustive]
pub struct Node {
    /// The line it starts at, from 1.
    pub line: u64,
    /// The node itself.
    pub kind: Kind,
}

/// The kinds of nodes.
#[derive(Debug)]
#[non_exhaustive]
pub enum Kind {
    /// A word or a string.
    Scalar(Scalar),
    /// A list.
    Sequence(Vec<Node>),
    /// Keys and values in their order; keys may occur twice.
    Mapping(Vec<(Node, Node)>),
    /// A node that is written elsewhere.
    Alias(Rc<Node>),
    /// A node that aliases may stand for.
    Anchor(Rc<Node>),
}

/// A scalar before its meaning is known.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scalar {
    /// The string, without quotes and escapes.
    pub text: String,
    /// The tag, in full.
    pub tag: Option<String>,
    /// Written in quotes or as a block.
    pub is_quoted: bool,
}

/// The value that an anchor stands for, with the number of values in it and of their levels.
struct Anchored {
    node: Rc<Node>,
    size: usize,
    height: usize,
}

/// A collection that is not closed yet.
struct Open {
    line: u64,
    anchor: Option<String>,
    items: Items,
    /// The composer's counters before it.
    values: usize,
    deepest: usize,
}

enum Items {
    Sequence(Vec<Node>),
    /// Pairs, and the key whose value comes next.
    Mapping(Vec<(Node, Node)>, Option<Node>),
}

/// A string that ends within a line, and was given a break at its end.
struct Unended<'a> {
    text: &'a str,
    /// The line after that break.
    line: u64,
}

struct Composer<'a, 'b, 'o> {
    options: &'o ComposeOptions,
    parser: Parser<&'a mut &'b [u8]>,
    anchors: HashMap<String, Anchored>,
    values: usize,
    /// Those of them that aliases stand for.
    aliased: usize,
    /// The deepest level so far of what is being read.
    deepest: usize,
    unended: Option<Unended<'o>>,
}

fn composed(text: &str, options: &ComposeOptions) -> Result<Vec<Node>, Error> {
    // The reader takes the first byte of U+F000 to U+FFFF for that of a byte order mark, unless there is one before.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let marked = if text.as_bytes().first() == Some(&0xef) { Some(format!("\u{feff}{text}")) } else { None };
    let whole = marked.as_deref().unwrap_or(text);
    // The parser does not know where a block ends in a string that ends within a line (libyaml-safer 0.3.0).
    let is_ended = whole.is_empty() || whole.ends_with(is_break);
    let ended = (!is_ended).then(|| format!("{whole}\n"));
    let unended = ended.as_deref().map(|ended| Unended {
        text: whole,
        line: u64::try_from(ended.matches('\n').count()).unwrap_or(u64::MAX),
    });
    let mut bytes = ended.as_deref().unwrap_or(whole).as_bytes();
    let mut parser = Parser::new();
    parser.set_input_string(&mut bytes);
    let mut composer =
        Composer { options, parser, anchors: HashMap::new(), values: 0, aliased: 0, deepest: 0, unended };
    let mut documents = Vec::new();
    loop {
        let event = composer.next()?;
        match event.data {
            EventData::StreamEnd => return Ok(documents),
            EventData::DocumentStart { .. } => {
                // Version 3 forgets no anchor at the end of a document.
                if options.version == Version::V2 {
                    composer.anchors.clear();
                }
                documents.push(composer.root()?);
            }
            _ => {}
        }
    }
}

/// Returns how many of so many values may come from aliases: nearly all of them in a short text, a tenth in a long one.
fn allowed(values: usize) -> usize {
    const SHORT: usize = 400_000;
    const LONG: usize = 4_000_000;
    const RANGE: usize = 3_600_000;
    let beyond = values.clamp(SHORT, LONG).saturating_sub(SHORT);
    let percent = 99usize.saturating_sub(beyond.saturating_mul(89) / RANGE);
    values.saturating_mul(percent) / 100
}

impl Composer<'_, '_, '_> {
    fn next(&mut self) -> Result<Event, Error> {
        self.parser.parse().map_err(|error| syntax(&error))
    }

    /// The node that the next events make. Collections that are not closed yet are kept on a stack of their own: a
    /// document that nests deeply takes no more of the thread's than another.
    fn root(&mut self) -> Result<Node, Error> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            let event = self.next()?;
            let line = event.start_mark.line.saturating_add(1);
            let closed = match event.data {
                EventData::SequenceStart { anchor, .. } => {
                    open.push(self.open(anchor, Items::Sequence(Vec::new()), open.len(), line)?);
                    continue;
                }
                EventData::MappingStart { anchor, .. } => {
                    open.push(self.open(anchor, Items::Mapping(Vec::new(), None), open.len(), line)?);
                    continue;
                }
                EventData::SequenceEnd | EventData::MappingEnd => {
                    let last = open.pop().ok_or_else(|| unexpected(line))?;
                    self.close(last, open.len())
                }
                _ => self.leaf(event, open.len(), line)?,
            };
            match open.last_mut() {
                Some(collection) => collection.items.push(closed),
                None => return Ok(closed),
            }
        }
    }

    /// Begins a collection.
    fn open(&mut self, anchor: Option<String>, items: Items, depth: usize, line: u64) -> Result<Open, Error> {
        let (values, deepest) = (self.values, self.deepest);
        self.deepest = depth;
        self.grow(1, depth, line)?;
        self.forget(anchor.as_ref());
        Ok(Open { line, anchor, items, values, deepest })
    }

    fn close(&mut self, open: Open, depth: usize) -> Node {
        let kind = match open.items {
            Items::Sequence(items) => Kind::Sequence(items),
            Items::Mapping(pairs, _) => Kind::Mapping(pairs),
        };
        let node = self.anchored(open.anchor, Node { line: open.line, kind }, open.values, depth);
        self.deepest = self.deepest.max(open.deepest);
        node
    }

    /// A scalar or an alias.
    fn leaf(&mut self, event: Event, depth: usize, line: u64) -> Result<Node, Error> {
        let (values, deepest) = (self.values, self.deepest);
        self.deepest = depth;
        self.grow(1, depth, line)?;
        let (anchor, kind) = match event.data {
            EventData::Alias { anchor } => (None, self.alias(&anchor, depth, line)?),
            EventData::Scalar { anchor, tag, mut value, style, .. } => {
                let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                if is_block
                    && let Some(unended) = &self.unended
                    && unended.line == event.end_mark.line
                    && unended.gave(&value, event.start_mark.line)
                {
                    value.pop();
                }
                let is_quoted = style != ScalarStyle::Plain;
                (anchor, Kind::Scalar(Scalar { text: value, tag, is_quoted }))
            }
            _ => return Err(unexpected(line)),
        };
        let node = self.anchored(anchor, Node { line, kind }, values, depth);
        self.deepest = self.deepest.max(deepest);
        Ok(node)
    }

    /// Remembers a node with an anchor. `values` is how many there were before it.
    fn anchored(&mut self, anchor: Option<String>, node: Node, values: usize, depth: usize) -> Node {
        let Some(anchor) = anchor else { return node };
        let (size, height) = (self.values.saturating_sub(values), self.deepest.saturating_sub(depth));
        let (line, node) = (node.line, Rc::new(node));
        self.anchors.insert(anchor, Anchored { node: Rc::clone(&node), size, height });
        Node { line, kind: Kind::Anchor(node) }
    }

    /// An anchor stands for nothing until what it is at has ended: nothing contains itself.
    fn forget(&mut self, anchor: Option<&String>) {
        if let Some(anchor) = anchor {
            self.anchors.remove(anchor);
        }
    }

    fn alias(&mut self, anchor: &str, depth: usize, line: u64) -> Result<Kind, Error> {
        let unknown = || Error::UnknownAnchor { line, anchor: anchor.to_owned() };
        let found = self.anchors.get(anchor).ok_or_else(unknown)?;
        let (node, size, height) = (Rc::clone(&found.node), found.size, found.height);
        self.aliased = self.aliased.saturating_add(size);
        let values = self.values.saturating_add(size);
        let is_checked = self.options.version == Version::V3 && self.aliased > 100 && values > 1_000;
        if is_checked && self.aliased > allowed(values) {
            return Err(Error::ExcessiveAliasing);
        }
        self.grow(size, depth.saturating_add(height), line)?;
        Ok(Kind::Alias(node))
    }

    fn grow(&mut self, values: usize, depth: usize, line: u64) -> Result<(), Error> {
        self.values = self.values.saturating_add(values);
        self.deepest = self.deepest.max(depth);
        let is_too_large = depth > self.options.max_depth || self.values > MOST_VALUES;
        if is_too_large { Err(Error::TooLarge { line }) } else { Ok(()) }
    }
}

impl Unended<'_> {
    /// Returns true if a block scalar, which begins at this line and is the end of the string, has a break that the string lacks.
    ///
    /// The last line may have blanks only. Those beyond the block's indentation are content: `a: |\n  x\n    ` is `x\n  `. Others
    /// are an empty line, of which `|+` keeps the break, while `|` keeps that of the line before.
    fn gave(&self, value: &str, line: u64) -> bool {
        let Some(before) = value.strip_suffix('\n') else { return false };
        let last = self.text.rsplit('\n').next().unwrap_or_default();
        let is_content = last.contains(|c| c != ' ')
            || self.indentation(value, line).is_none_or(|indent| blanks(last) > indent);
        is_content || before.is_empty() || before.ends_with('\n')
    }

    /// The blanks before each line of a block scalar: those of its first line that has more, without the ones in the value.
    fn indentation(&self, value: &str, line: u64) -> Option<usize> {
        let is_written = |line: &&str| line.contains(|c| c != ' ');
        let head = usize::try_from(line).ok()?;
        let written = self.text.split('\n').skip(head.saturating_add(1)).find(is_written)?;
        blanks(written).checked_sub(blanks(value.split('\n').find(is_written)?))
    }
}

fn blanks(line: &str) -> usize {
    line.len().saturating_sub(line.trim_start_matches(' ').len())
}

impl Items {
    fn push(&mut self, node: Node) {
        match self {
            Self::Sequence(items) => items.push(node),
            Self::Mapping(pairs, key) => match key.take() {
                Some(key) => pairs.push((key, node)),
                None => *key = Some(node),
            },
        }
    }
}

/// Describes what is wrong and where; where the construct begins that it is in, only if that is another line.
fn syntax(error: &libyaml_safer::Error) -> Error {
    let Some(at) = error.problem_mark() else { return unplaced(error.to_string()) };
    let context = error.context().map(|context| format!(" {context}")).unwrap_or_default();
    let begins = error.context_mark().filter(|begins| begins.line != at.line && !context.is_empty());
    let begins = begins.map(|begins| format!(" that begins at line {}", begins.line.saturating_add(1)));
    let message = format!("{}{context}{}", error.problem(), begins.unwrap_or_default());
    Error::Syntax { line: at.line.saturating_add(1), column: at.column.saturating_add(1), message }
}

fn unplaced(message: impl Into<String>) -> Error {
    Error::Syntax { line: 0, column: 0, message: message.into() }
}

fn unexpected(line: u64) -> Error {
    Error::Syntax { line, column: 0, message: "expected a value".to_owned() }
}

impl Node {
    /// Returns the node behind its anchor.
    #[must_use]
    pub fn bare(&self) -> &Self {
        match &self.kind {
            Kind::Anchor(node) => node.bare(),
            _ => self,
        }
    }

    /// Returns the node behind its anchor, or the one that an alias stands for.
    #[must_use]
    pub fn target(&self) -> &Self {
        match &self.kind {
            Kind::Alias(node) | Kind::Anchor(node) => node.target(),
            _ => self,
        }
    }

    /// Returns true for the key `<<`, whose value is merged into the mapping: without quotes, or with its tag.
    #[must_use]
    pub fn is_merge_key(&self) -> bool {
        let Kind::Scalar(scalar) = &self.bare().kind else { return false };
        let can_be = match scalar.tag.as_deref() {
            None | Some("" | "!") => !scalar.is_quoted,
            Some(tag) => tag == "tag:yaml.org,2002:merge",
        };
        scalar.text == "<<" && can_be
    }

    /// Returns the mappings that are merged where this node is the value of a merge key; the first that has a field wins,
    /// and a field that is written out wins over all. `None` unless it is a mapping, an alias of one, or a list of these.
    #[must_use]
    pub fn merged_mappings(&self) -> Option<Vec<&[(Self, Self)]>> {
        match &self.bare().kind {
            Kind::Sequence(items) => items.iter().map(Self::pairs).collect(),
            _ => Some(vec![self.pairs()?]),
        }
    }

    fn pairs(&self) -> Option<&[(Self, Self)]> {
        match &self.target().kind {
            Kind::Mapping(pairs) => Some(pairs),
            _ => None,
        }
    }
}
