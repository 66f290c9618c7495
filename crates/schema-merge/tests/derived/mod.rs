//! Rust types of every shape that serde and schemars know, with their schemas: what controller authors derive.
//!
//! The last few cannot be structural. This file asserts nothing.
#![allow(dead_code, missing_docs, reason = "the types are looked at through their schemas only")]

use std::collections::{BTreeMap, BTreeSet, HashMap};

use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde_json::Value;

/// Declares types with everything derived that they need.
macro_rules! types {
    ($($(#[$meta:meta])* $kind:ident $name:ident $body:tt)*) => {
        $(#[derive(Serialize, JsonSchema)] $(#[$meta])* $kind $name $body)*
    };
}

/// Names and schemas of some types.
macro_rules! schemas {
    ($($name:ty),* $(,)?) => { vec![$((stringify!($name), schema_for!($name).to_value())),*] };
}

types! {
    struct Plain { name: String, size: i32, ratio: f64, on: bool }
    struct Optional { name: Option<String>, size: Option<i64>, inner: Option<Inner> }
    struct Inner { x: i32, y: i32 }
    struct Nested { inner: Inner, list: Vec<Inner>, map: BTreeMap<String, Inner> }
    struct Unsigned { a: u8, b: u16, c: u32, d: u64, e: usize, f: Option<u32> }
    struct Floats { a: f32, b: f64, c: Option<f32> }
    struct Lists { a: Vec<String>, b: Vec<Vec<i32>>, c: Option<Vec<String>>, d: Vec<Option<String>> }
    struct Sets { a: BTreeSet<String>, b: BTreeSet<i32> }
    struct Maps { a: BTreeMap<String, String>, b: HashMap<String, Vec<i32>>, c: BTreeMap<String, Option<String>> }
    struct Arrays { a: [i32; 3], b: [String; 2] }
    struct Boxed { a: Box<Inner>, b: Option<Box<Inner>> }
    struct Anything { a: Value, b: Option<Value>, c: Vec<Value>, d: BTreeMap<String, Value> }
    struct Chars { a: char, b: Option<char> }
    struct Empty {}
    /// A documented type.
    struct Documented {
        /// The name.
        name: String,
        /// The number.
        ///
        /// At least one.
        count: u32,
    }
    struct Defaults {
        #[serde(default)]
        name: String,
        #[serde(default = "five")]
        count: i32,
        #[serde(default)]
        list: Vec<String>,
        #[serde(default)]
        map: BTreeMap<String, String>,
        #[serde(default)]
        option: Option<String>,
    }
    #[serde(default)]
    struct AllDefault { a: i32, b: String, c: Option<bool> }
    #[serde(rename_all = "camelCase")]
    struct Camel { first_name: String, last_name: Option<String> }
    struct Renamed { #[serde(rename = "type")] kind: String, #[serde(rename = "a-b.c")] odd: String }
    #[serde(deny_unknown_fields)]
    struct Closed { a: String, b: Option<i32> }
    struct Flattened { a: String, #[serde(flatten)] inner: Inner }
    #[serde(deny_unknown_fields)]
    struct ClosedNested { a: Vec<Closed>, b: Closed }
    struct FlattenedAny { a: String, #[serde(flatten)] rest: BTreeMap<String, Value> }
    struct Skipped { a: String, #[serde(skip)] b: i32, #[serde(skip_serializing_if = "Option::is_none")] c: Option<i32> }
    struct Bounded {
        #[schemars(range(min = 1, max = 10))]
        a: i32,
        #[schemars(length(min = 1, max = 63))]
        b: String,
        #[schemars(regex(pattern = r"^[a-z]+$"))]
        c: String,
        #[schemars(length(max = 5))]
        d: Vec<String>,
    }
    struct Exclusive { #[schemars(extend("exclusiveMinimum" = 0))] a: f64, #[schemars(extend("exclusiveMaximum" = 9, "maximum" = 8))] b: i32 }
    struct Exampled { #[schemars(example = &"x")] a: String, #[schemars(extend("examples" = [1, 2]))] b: i32 }
    struct Old { #[deprecated] a: String }
    struct Titled { #[schemars(title = "The name")] a: String }
    struct Extended { #[schemars(extend("x-kubernetes-list-type" = "set"))] a: Vec<String>, #[schemars(extend("x-kubernetes-int-or-string" = true))] #[schemars(with = "Untyped")] b: Value }
    struct Formats { #[schemars(extend("format" = "date-time"))] at: String, #[schemars(extend("format" = "ipv4"))] ip: String }
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    struct Reference { name: String, namespace: Option<String> }
    enum Unit { A, B, C }
    /// Documented.
    enum UnitDocumented {
        /// The first.
        A,
        /// The second.
        B,
    }
    #[serde(rename_all = "lowercase")]
    enum UnitLower { First, Second }
    struct OptionalEnums { a: Option<Unit>, b: Option<UnitDocumented>, c: Vec<Unit>, d: BTreeMap<String, Unit> }
    struct DefaultEnum { #[serde(default = "second")] a: UnitLower }
    enum External { Http { url: String, port: u16 }, Exec { command: Vec<String> }, Tcp(Inner) }
    enum ExternalNewtype { Name(String), Size(i64), List(Vec<String>) }
    /// Documented.
    enum ExternalDocumented {
        /// Over the net.
        Http { url: String },
        /// On the machine.
        Exec { command: String },
    }
    struct HasExternal { probe: External, probes: Vec<External>, maybe: Option<External> }
    #[serde(tag = "type")]
    enum Internal { Http { url: String }, Exec { command: String }, None }
    #[serde(tag = "type", rename_all = "camelCase")]
    enum InternalShared { Fast { name: String, speed: i32 }, Slow { name: String } }
    #[serde(tag = "kind")]
    enum InternalNewtype { A(Inner), B(Camel) }
    #[serde(tag = "t", content = "c")]
    enum Adjacent { Text { text: String }, Other { text: String }, Nothing }
    #[serde(tag = "t", content = "c")]
    enum AdjacentUnit { A, B }
    #[serde(untagged)]
    enum UntaggedStructs { A { a: String }, B { b: i32, c: Option<bool> } }
    #[serde(untagged)]
    enum IntOrString { Int(i32), String(String) }
    #[serde(untagged)]
    enum StringOrInt { String(String), Int(i64) }
    #[serde(untagged)]
    enum TwoStrings { Unit(Unit), Free(String) }
    struct HasIntOrString { port: IntOrString, maybe: Option<IntOrString>, many: Vec<StringOrInt>, map: BTreeMap<String, IntOrString> }
    struct HasInternal { a: Internal, b: Option<InternalShared>, c: Vec<Adjacent> }
    struct FlattenedInternal { name: String, #[serde(flatten)] what: Internal }
    struct FlattenedExternal { name: String, #[serde(flatten)] what: External }
    struct FlattenedUntagged { name: String, #[serde(flatten)] what: UntaggedStructs }
    struct FlattenedOption { name: String, #[serde(flatten)] inner: Option<Inner> }
    struct Twice { a: Inner, b: Inner, c: Option<Inner>, d: Vec<Inner> }
    struct Deep { a: Option<Box<Nested>>, b: Vec<BTreeMap<String, Vec<Optional>>> }
    struct Generic { a: Wrapper, b: Pair }
    struct Wrapper { value: Vec<Option<Unit>> }
    struct Pair { left: BTreeMap<String, f64>, right: Option<BTreeSet<String>> }
    struct Condition {
        #[serde(rename = "type")]
        kind: String,
        status: String,
        #[serde(rename = "observedGeneration")]
        observed_generation: Option<i64>,
        #[serde(rename = "lastTransitionTime")]
        last_transition_time: String,
        reason: String,
        message: String,
    }
    struct Conditions { #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))] conditions: Vec<Condition> }
    struct Selector { #[serde(rename = "matchLabels")] match_labels: Option<BTreeMap<String, String>>, #[serde(rename = "matchExpressions")] match_expressions: Option<Vec<Expression>> }
    struct Expression { key: String, operator: Operator, values: Option<Vec<String>> }
    enum Operator { In, NotIn, Exists, DoesNotExist }
    struct Policy { selector: Selector, rules: Vec<Rule>, #[serde(default)] paused: bool }
    struct Rule { name: String, when: Option<Internal>, then: External, limit: Option<IntOrString> }
    struct Constants { #[schemars(extend("const" = "v1"))] version: String }
    struct Numbers { a: i8, b: i16, c: i128, d: isize, e: std::num::NonZeroU32 }
    struct Paths { a: std::path::PathBuf, b: std::net::IpAddr, c: std::time::Duration }
    struct Results { a: Result<String, i32> }
    struct Ranges { a: std::ops::Range<i32> }
    struct Cows { a: std::borrow::Cow<'static, str> }
    struct Untyped {}

    struct Recursive { children: Vec<Recursive> }
    struct RecursiveOption { next: Option<Box<RecursiveOption>> }
    struct Tuples { a: (i32, String) }
    #[serde(untagged)]
    enum MixedScalars { A(bool), B(String) }
    enum MixedEnum { Unit, Data { a: String } }
    #[serde(untagged)]
    enum Colliding { A { same: String }, B { same: i32 } }
    struct FlattenedTyped { a: String, #[serde(flatten)] rest: BTreeMap<String, i32> }
    struct Units { a: () }
}

impl Default for AllDefault {
    fn default() -> Self {
        Self { a: 3, b: "b".to_owned(), c: None }
    }
}

fn five() -> i32 {
    5
}

fn second() -> UnitLower {
    UnitLower::Second
}

/// Types that can be structural.
pub(crate) fn structural() -> Vec<(&'static str, Value)> {
    schemas![
        Plain,
        Optional,
        Inner,
        Nested,
        Unsigned,
        Floats,
        Lists,
        Sets,
        Maps,
        Arrays,
        Boxed,
        Anything,
        Chars,
        Empty,
        Documented,
        Defaults,
        AllDefault,
        Camel,
        Renamed,
        Closed,
        Flattened,
        ClosedNested,
        FlattenedAny,
        Skipped,
        Bounded,
        Exclusive,
        Exampled,
        Old,
        Titled,
        Extended,
        Formats,
        Reference,
        Unit,
        UnitDocumented,
        UnitLower,
        OptionalEnums,
        DefaultEnum,
        External,
        ExternalNewtype,
        ExternalDocumented,
        HasExternal,
        Internal,
        InternalShared,
        InternalNewtype,
        Adjacent,
        AdjacentUnit,
        UntaggedStructs,
        IntOrString,
        StringOrInt,
        TwoStrings,
        HasIntOrString,
        HasInternal,
        FlattenedInternal,
        FlattenedExternal,
        FlattenedUntagged,
        FlattenedOption,
        Twice,
        Deep,
        Generic,
        Wrapper,
        Pair,
        Condition,
        Conditions,
        Selector,
        Expression,
        Operator,
        Policy,
        Rule,
        Constants,
        Numbers,
        Paths,
        Results,
        Ranges,
        Cows,
    ]
}

/// Types that cannot.
pub(crate) fn impossible() -> Vec<(&'static str, Value)> {
    schemas![Recursive, RecursiveOption, Tuples, MixedScalars, MixedEnum, Colliding, FlattenedTyped, Units]
}
