//! The duck types: each collection that serde maps to a list, of scalars and of structs, and each attribute that
//! makes the JSON form differ from the fields.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};

use duck_types::DuckType;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::{Member, Random};

/// An element with a default, an option and a float.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    name: String,
    #[serde(default)]
    weight: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pause: Option<bool>,
    limit: Option<i32>,
}

/// An element that sets can hold; its default may be left out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Port {
    #[serde(default)]
    port: i32,
    #[serde(default)]
    name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Named {
    #[serde(alias = "oldName", default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(alias = "n", default)]
    number: i32,
}

/// An element that does not serialise to what it was read from: the name in lower case, the rate with more digits, and
/// the time without fractions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rounded {
    #[serde(deserialize_with = "lower")]
    name: String,
    rate: f32,
    #[serde(default, serialize_with = "whole")]
    seconds: f64,
}

fn lower<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(String::deserialize(from)?.to_lowercase())
}

fn whole<S: Serializer>(seconds: &f64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(seconds.trunc())
}

fn rounded(random: &mut Random) -> Rounded {
    let rate = [0.5, 0.1, 0.3][random.below(3)];
    Rounded { name: random.word(), rate, seconds: f64::from(random.small()) }
}

fn step(random: &mut Random) -> Step {
    Step {
        name: random.word(),
        weight: random.float(),
        pause: random.option(|random| random.once_in(2)),
        limit: random.option(Random::small),
    }
}

fn port(random: &mut Random) -> Port {
    Port { port: random.small(), name: random.word() }
}

fn named(random: &mut Random) -> Named {
    Named { name: random.option(Random::word), number: random.small() }
}

fn pair<T>(value: fn(&mut Random) -> T) -> impl Fn(&mut Random) -> (String, T) {
    move |random| (random.word(), value(random))
}

/// A list of elements with a key, read into a map, as custom types do for conditions.
mod by_name {
    use super::{Deserialize, Deserializer, Serializer, Step};

    pub(super) fn serialize<'a, M, S: Serializer>(map: &'a M, to: S) -> Result<S::Ok, S::Error>
    where
        &'a M: IntoIterator<Item = (&'a String, &'a Step)>,
    {
        to.collect_seq(map.into_iter().map(|(_, step)| step))
    }

    pub(super) fn deserialize<'de, M, D: Deserializer<'de>>(from: D) -> Result<M, D::Error>
    where
        M: FromIterator<(String, Step)>,
    {
        let list = Vec::<Step>::deserialize(from)?;
        Ok(list.into_iter().map(|step| (step.name.clone(), step)).collect())
    }
}

/// `BinaryHeap` has no `PartialEq`, which an edit needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Heap(BinaryHeap<i32>);

impl PartialEq for Heap {
    fn eq(&self, other: &Self) -> bool {
        self.0.clone().into_sorted_vec() == other.0.clone().into_sorted_vec()
    }
}

fn steps_by_name(random: &mut Random) -> BTreeMap<String, Step> {
    random.list(step).into_iter().map(|step| (step.name.clone(), step)).collect()
}

macro_rules! family {
    ($( $(#[$attribute:meta])* $name:ident { $(#[$field:meta])* $type:ty } = $generate:expr; )+) => {
        $(
            #[derive(Debug, PartialEq, Serialize, Deserialize, DuckType)]
            $(#[$attribute])*
            pub struct $name { $(#[$field])* value: $type, #[serde(default)] also: i32 }

            impl Member for $name {
                const ALIASES: &'static [(&'static str, &'static str)] =
                    &[("name", "oldName"), ("number", "n")];

                fn generate(random: &mut Random) -> Self {
                    let generate: fn(&mut Random) -> $type = $generate;
                    Self { value: generate(random), also: random.small() }
                }
            }
        )+
    };
}

family! {
    #[duck(path = "/spec/duck")]
    Strings { Vec<String> } = |r| r.list(Random::word);
    #[duck(path = "/status/duck")]
    StringSet { BTreeSet<String> } = |r| r.list(Random::word).into_iter().collect();
    #[duck(path = "/spec/deep/du~1ck")]
    StringHashSet { HashSet<String> } = |r| r.list(Random::word).into_iter().collect();
    #[duck(path = "/spec/duck")]
    StringDeque { VecDeque<String> } = |r| r.list(Random::word).into();
    #[duck(path = "/spec/duck")]
    StringLinkedList { LinkedList<String> } = |r| r.list(Random::word).into_iter().collect();
    #[duck(path = "/spec/duck")]
    BoxedSlice { Box<[String]> } = |r| r.list(Random::word).into();
    #[duck(path = "/spec/duck")]
    CowSlice { Cow<'static, [String]> } = |r| Cow::Owned(r.list(Random::word));
    #[duck(path = "/spec/duck")]
    HeapOfNumbers { Heap } = |r| Heap(r.list(Random::small).into());
    #[duck(path = "/spec/duck")]
    HashByName { #[serde(with = "by_name")] HashMap<String, Step> } = |r| steps_by_name(r).into_iter().collect();
    #[duck(path = "/spec/duck")]
    Tuple { (String, i32, Option<bool>) } = |r| (r.word(), r.small(), r.option(|r| r.once_in(2)));
    #[duck(path = "/spec/duck")]
    Array { [Port; 2] } = |r| [port(r), port(r)];
    #[duck(path = "/spec/duck")]
    Floats { Vec<f64> } = |r| r.list(Random::float);
    #[duck(path = "/spec/duck")]
    FloatDeque { VecDeque<(f64, f64)> } = |r| r.list(|r| (r.float(), r.float())).into();
    #[duck(path = "/spec/duck")]
    Numbers { BTreeSet<i64> } = |r| r.list(|r| r.next().cast_signed()).into_iter().collect();
    #[duck(path = "/status/duck")]
    Steps { Vec<Step> } = |r| r.list(step);
    #[duck(path = "/status/duck", list_map("/value", "name"))]
    KeyedSteps { Vec<Step> } = |r| steps_by_name(r).into_values().rev().collect();
    #[duck(path = "/spec/duck")]
    StepsByName { #[serde(with = "by_name")] BTreeMap<String, Step> } = steps_by_name;
    #[duck(path = "/spec/duck", list_map("/value", "name"))]
    KeyedStepsByName { #[serde(with = "by_name")] BTreeMap<String, Step> } = steps_by_name;
    #[duck(path = "/spec/duck")]
    Ports { BTreeSet<Port> } = |r| r.list(port).into_iter().collect();
    #[duck(path = "/spec/duck")]
    PortHashSet { HashSet<Port> } = |r| r.list(port).into_iter().collect();
    #[duck(path = "/spec/duck")]
    Nested { Vec<BTreeSet<Port>> } = |r| r.list(|r| r.list(port).into_iter().collect());
    #[duck(path = "/spec/duck")]
    NestedSets { BTreeSet<Vec<String>> } = |r| r.list(|r| r.list(Random::word)).into_iter().collect();
    #[duck(path = "/spec/duck")]
    TupleSet { BTreeSet<(i32, i32)> } = |r| r.list(|r| (r.small(), r.small())).into_iter().collect();
    #[duck(path = "/spec/duck")]
    PairsOfPorts { HashSet<(Port, Option<Port>)> } =
        |r| r.list(|r| (port(r), r.option(port))).into_iter().collect();
    #[duck(path = "/spec/duck")]
    RoundedList { Vec<Rounded> } = |r| r.list(rounded);
    #[duck(path = "/spec/duck")]
    NumberKeys { BTreeMap<i32, Port> } = |r| r.list(|r| (r.small() - 1, port(r))).into_iter().collect();
    #[duck(path = "/spec/duck")]
    Map { BTreeMap<String, Step> } = |r| r.list(pair(step)).into_iter().collect();
    #[duck(path = "/spec/duck")]
    HashMapOfSets { HashMap<String, HashSet<Port>> } =
        |r| r.list(pair(|r| r.list(port).into_iter().collect())).into_iter().collect();
    #[duck(path = "/spec/duck")]
    MaybeList { Option<Vec<Port>> } = |r| r.option(|r| r.list(port));
    #[duck(path = "/spec/duck")]
    ListOfMaybe { Vec<Option<Port>> } = |r| r.list(|r| r.option(port));
    #[duck(path = "/spec/duck")]
    Untyped { Value } = |r| r.json(3);
    #[duck(path = "/spec/duck")]
    UntypedMap { BTreeMap<String, Value> } = |r| r.list(pair(|r| r.json(2))).into_iter().collect();
    #[duck(path = "/spec/duck")]
    UntypedList { Vec<Value> } = |r| r.list(|r| r.json(2));
    #[duck(path = "/spec/duck")]
    Aliased { Named } = named;
    #[duck(path = "/spec/duck")]
    AliasedList { Vec<Named> } = |r| r.list(named);
    #[duck(path = "/spec/duck")]
    AliasedSet { BTreeSet<Named> } = |r| r.list(named).into_iter().collect();
    #[duck(path = "/spec/duck")]
    Flattened { #[serde(flatten)] Named } = named;
    #[duck(path = "/spec/duck")]
    Choice { Tagged } = tagged;
    #[duck(path = "/spec/duck")]
    Choices { Vec<Tagged> } = |r| r.list(tagged);
    #[duck(path = "/spec/duck")]
    OneOrMany { Untagged } = |r| if r.once_in(2) { Untagged::One(r.word()) } else { Untagged::Many(r.list(Random::word)) };
    #[duck(path = "/spec/duck")]
    Trees { Vec<Tree> } = |r| r.list(|r| tree(r, 2));
    #[duck(path = "/spec/duck", list_map("/value", "label"), list_map("/value/*/children", "label"))]
    KeyedTrees { Vec<Tree> } = |r| r.list(|r| tree(r, 2));
    #[duck(path = "/spec/duck")]
    AdjacentSet { BTreeSet<Adjacent> } = |r| r.list(adjacent).into_iter().collect();
    #[duck(path = "/spec/duck")]
    Places { Vec<HostOrPort> } = |r| r.list(place);
    #[duck(path = "/spec/duck")]
    Quantities { BTreeSet<Quantity> } = |r| r.list(quantity).into_iter().collect();
    #[duck(path = "/spec/duck")]
    QuantityByName { HashMap<String, Quantity> } = |r| r.list(pair(quantity)).into_iter().collect();
    #[duck(path = "/spec/duck")]
    ScalarOrList { #[serde(deserialize_with = "one_or_many")] Vec<i32> } = |r| r.list(Random::small);
    #[duck(path = "/spec/duck")]
    Descending { #[serde(deserialize_with = "descending")] Vec<Port> } = |r| sorted(r.list(port));
    #[duck(path = "/spec/duck")]
    FlattenedMap { #[serde(flatten)] BTreeMap<String, Value> } = |r| r.list(pair(|r| r.json(2))).into_iter().collect();
    #[duck(path = "/spec/duck")]
    MaybeNumbers { Option<Vec<Option<i64>>> } =
        |r| r.option(|r| r.list(|r| r.option(|r| r.next().cast_signed())));
    #[duck(path = "/spec/duck")]
    MapsWithNulls { Vec<BTreeMap<String, Option<i32>>> } =
        |r| r.list(|r| r.list(pair(|r| r.option(Random::small))).into_iter().collect());
    #[duck(path = "/spec/duck")]
    ByWeekday { BTreeMap<Weekday, LinkedList<Port>> } =
        |r| r.list(|r| (weekday(r), r.list(port).into_iter().collect())).into_iter().collect();
    #[duck(path = "/spec/duck")]
    Switches { Vec<Switch> } = |r| r.list(|r| Switch { on: true, label: r.word(), delay: r.option(Random::float) });
    #[duck(path = "/spec/duck")]
    Internal { Vec<Inner> } = |r| r.list(|r| {
        if r.once_in(2) { Inner::Retry { times: r.small() } } else { Inner::Wait { seconds: r.float() } }
    });
}

/// Externally tagged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Tagged {
    Nothing,
    Name(String),
    Both { port: Port, names: Vec<String> },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Untagged {
    One(String),
    Many(Vec<String>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Inner {
    Retry { times: i32 },
    Wait { seconds: f64 },
}

fn tagged(random: &mut Random) -> Tagged {
    match random.below(3) {
        0 => Tagged::Nothing,
        1 => Tagged::Name(random.word()),
        _ => Tagged::Both { port: port(random), names: random.list(Random::word) },
    }
}

/// A list of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    label: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    children: Vec<Tree>,
    #[serde(default)]
    weight: Option<i32>,
}

fn tree(random: &mut Random, depth: usize) -> Tree {
    let children = if depth == 0 { Vec::new() } else { random.list(|random| tree(random, depth - 1)) };
    Tree { label: random.word(), children, weight: random.option(Random::small) }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "t", content = "c", rename_all = "kebab-case")]
pub enum Adjacent {
    NoContent,
    OneNumber(i32),
    TwoFields { a: i32, b: Option<String> },
}

fn adjacent(random: &mut Random) -> Adjacent {
    match random.below(3) {
        0 => Adjacent::NoContent,
        1 => Adjacent::OneNumber(random.small()),
        _ => Adjacent::TwoFields { a: random.small(), b: random.option(Random::word) },
    }
}

/// Variants of which one has the fields of another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum HostOrPort {
    Both { host: String, port: i32 },
    Host { host: String },
    Port(i64),
    Several(Vec<i32>),
}

fn place(random: &mut Random) -> HostOrPort {
    match random.below(4) {
        0 => HostOrPort::Both { host: random.word(), port: random.small() },
        1 => HostOrPort::Host { host: random.word() },
        2 => HostOrPort::Port(random.next().cast_signed()),
        _ => HostOrPort::Several(random.list(Random::small)),
    }
}

/// Thousandths, which have several texts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Quantity(i64);

impl From<String> for Quantity {
    fn from(text: String) -> Self {
        Self(match text.strip_suffix('m') {
            Some(thousandths) => thousandths.parse().unwrap_or(0),
            None => text.parse::<i64>().map_or(0, |whole| whole * 1000),
        })
    }
}

impl From<Quantity> for String {
    fn from(quantity: Quantity) -> Self {
        format!("{}m", quantity.0)
    }
}

fn quantity(random: &mut Random) -> Quantity {
    Quantity(i64::from(random.small()) * 500)
}

fn one_or_many<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<i32>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(i32),
        Many(Vec<i32>),
    }

    Ok(match OneOrMany::deserialize(from)? {
        OneOrMany::One(one) => vec![one],
        OneOrMany::Many(many) => many,
    })
}

fn descending<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Port>, D::Error> {
    Vec::deserialize(from).map(sorted)
}

fn sorted(mut ports: Vec<Port>) -> Vec<Port> {
    ports.sort_by(|one, other| other.cmp(one));
    ports
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Weekday {
    Monday,
    Tuesday,
}

fn weekday(random: &mut Random) -> Weekday {
    if random.once_in(2) { Weekday::Monday } else { Weekday::Tuesday }
}

/// An element that is on where nothing else is said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Switch {
    #[serde(rename = "isOn")]
    on: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay: Option<f64>,
}

impl Default for Switch {
    fn default() -> Self {
        Self { on: true, label: String::new(), delay: None }
    }
}

/// The duck itself is a list.
#[derive(Debug, PartialEq, Serialize, Deserialize, DuckType)]
#[serde(transparent)]
#[duck(path = "/status/duck")]
pub struct RootSet(BTreeSet<Named>);

impl Member for RootSet {
    const ALIASES: &'static [(&'static str, &'static str)] = &[("name", "oldName"), ("number", "n")];

    fn generate(random: &mut Random) -> Self {
        Self(random.list(named).into_iter().collect())
    }
}

/// Parts of spec and status.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize, DuckType)]
#[duck(paths("/spec/sink", "/spec/ports", "/status/sinkUri"))]
pub struct Spanning {
    #[serde(default)]
    spec: SpanningSpec,
    #[serde(default)]
    status: SpanningStatus,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpanningSpec {
    sink: Option<Port>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    ports: BTreeSet<Port>,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpanningStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sink_uri: Option<String>,
}

impl Member for Spanning {
    const ALIASES: &'static [(&'static str, &'static str)] = &[];

    fn generate(random: &mut Random) -> Self {
        Self {
            spec: SpanningSpec { sink: random.option(port), ports: random.list(port).into_iter().collect() },
            status: SpanningStatus { sink_uri: random.option(Random::word) },
        }
    }
}

/// Calls a macro with all types of the family.
macro_rules! members {
    ($callback:ident) => {
        $callback! {
            Strings StringSet StringHashSet StringDeque StringLinkedList BoxedSlice CowSlice HeapOfNumbers
            HashByName Tuple Array Floats FloatDeque
            Numbers Steps KeyedSteps StepsByName KeyedStepsByName Ports PortHashSet Nested NestedSets Map
            TupleSet PairsOfPorts RoundedList NumberKeys
            HashMapOfSets MaybeList ListOfMaybe Untyped UntypedMap UntypedList Aliased AliasedList AliasedSet
            Flattened Choice Choices OneOrMany Internal Spanning
            Trees KeyedTrees AdjacentSet Places Quantities QuantityByName ScalarOrList Descending FlattenedMap
            MaybeNumbers MapsWithNulls ByWeekday Switches RootSet
        }
    };
}
pub(crate) use members;
