//! The types of arguments and results.

/// A type, in OPA's words.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spec {
    Any,
    Null,
    Bool,
    Number,
    String,
    Array(&'static Spec),
    Tuple(&'static [Spec]),
    Set(&'static Spec),
    Object(&'static Spec, &'static Spec),
    /// An object with the types of some keys, and the types of the other keys and their values.
    Declared(&'static [(&'static str, Spec)], &'static (Spec, Spec)),
    Or(&'static [Spec]),
}

pub(super) const ANY: Spec = Spec::Any;
pub(super) const NULL: Spec = Spec::Null;
pub(super) const BOOL: Spec = Spec::Bool;
pub(super) const NUM: Spec = Spec::Number;
pub(super) const STR: Spec = Spec::String;
pub(super) const LIST: Spec = Spec::Array(&ANY);
pub(super) const SET: Spec = Spec::Set(&ANY);
pub(super) const OBJ: Spec = Spec::Object(&ANY, &ANY);
pub(super) const SEQUENCE: Spec = Spec::Or(&[LIST, SET]);
pub(super) const STRINGS: Spec = Spec::Or(&[STRS, Spec::Set(&STR)]);
pub(super) const STRING_OR_STRINGS: Spec = Spec::Or(&[STR, STRS, Spec::Set(&STR)]);
pub(super) const NUMBERS: Spec = Spec::Or(&[Spec::Array(&NUM), Spec::Set(&NUM)]);
pub(super) const TIMESTAMP: Spec = Spec::Or(&[NUM, Spec::Tuple(&[NUM, STR])]);
pub(super) const RECORD: Spec = Spec::Object(&STR, &ANY);
pub(super) const NUM_OR_SET: Spec = Spec::Or(&[NUM, SET]);
pub(super) const STR_OR_OBJ: Spec = Spec::Or(&[STR, OBJ]);
pub(super) const COLLECTION: Spec = Spec::Or(&[LIST, OBJ, SET]);
pub(super) const PATHS: Spec =
    Spec::Or(&[Spec::Array(&Spec::Or(&[STR, LIST])), Spec::Set(&Spec::Or(&[STR, LIST]))]);
pub(super) const CIDRS: Spec = Spec::Or(&[
    STR,
    Spec::Array(&Spec::Or(&[STR, LIST])),
    Spec::Object(&STR, &Spec::Or(&[STR, LIST])),
    Spec::Set(&Spec::Or(&[STR, LIST])),
]);
pub(super) const GRAPH: Spec = Spec::Object(&ANY, &SEQUENCE);
/// An operation of `json.patch`.
pub(super) const PATCH: Spec = Spec::Declared(&[("op", STR), ("path", ANY)], &(ANY, ANY));
pub(super) const MARSHAL_OPTIONS: Spec =
    Spec::Declared(&[("indent", STR), ("prefix", STR), ("pretty", BOOL)], &(STR, ANY));
pub(super) const RECORDS: Spec = Spec::Array(&RECORD);
pub(super) const STRS: Spec = Spec::Array(&STR);
pub(super) const SETS: Spec = Spec::Set(&SET);
