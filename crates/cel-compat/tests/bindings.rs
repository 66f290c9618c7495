//! A value that the caller cannot supply ends the evaluation: no operator absorbs that, and no answer is given without it.

#![allow(clippy::unwrap_used, reason = "a test says no by panicking")]

use cel_compat::{Bindings, Budget, Environment, EvalError, Evaluation, Type, Value};

/// `object` cannot be read, `other` is an error of the language, and every other name is `true`.
struct Unreadable;

impl Bindings for Unreadable {
    fn value(&self, name: &str) -> Result<Value, EvalError> {
        match name {
            "object" | "variables.params" => Err(EvalError::Unreadable("nested too deep".to_owned())),
            "other" => Err(EvalError::Failed("no such value".to_owned())),
            _ => Ok(Value::Bool(true)),
        }
    }
}

fn evaluate(text: &str) -> Result<Value, EvalError> {
    let mut environment = Environment::default()
        .with("object", Type::Dyn)
        .with("other", Type::Dyn)
        .with("known", Type::Bool)
        .with_variable("params", Type::Dyn);
    let own = environment.compile("object.spec").unwrap();
    environment.define("own", own);
    let expression = environment.compile(text).unwrap();
    Evaluation::new(&environment, &Unreadable, &Budget::default()).evaluate(&expression)
}

#[test]
fn nothing_absorbs_a_value_that_cannot_be_supplied() {
    for text in [
        "object",
        "object == null",
        "object.a || known",
        "object.a.b || true",
        "object.a && false",
        "(object.a && false) || known",
        "[1, 2].exists(x, x == 2 || object.a)",
        "[1, 2].exists(x, object.a == x) || known",
        "[1, 2].all(x, x == object.a) || known",
        "[object].exists(x, true)",
        "object.?a.orValue(known)",
        "optional.of(object).orValue(known)",
        "optional.none().or(optional.of(object)).hasValue()",
        "has(object.a) || known",
        "object in [1]",
        "known ? object : known",
        "variables.params || known",
        "variables.own == 1 || known",
        "variables.own == 1 || variables.own == 1 || known",
        "{'a': object}.a == 1 || known",
        "dyn(object) == 1 || known",
    ] {
        assert_eq!(evaluate(text), Err(EvalError::Unreadable("nested too deep".to_owned())), "{text}");
    }
}

#[test]
fn what_is_not_asked_for_need_not_be_readable() {
    for text in ["known || object.a", "known ? known : object", "!(false && object.a)", "[].all(x, object.a)"]
    {
        assert_eq!(evaluate(text), Ok(Value::Bool(true)), "{text}");
    }
}

#[test]
fn an_error_of_the_language_is_absorbed_as_any_other() {
    assert_eq!(evaluate("other.a || known"), Ok(Value::Bool(true)));
    assert_eq!(evaluate("other.a"), Err(EvalError::Failed("no such value".to_owned())));
}
