//! Host functions that are answered in batches, with and without `async`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::arithmetic_side_effects,
    reason = "a test says no by panicking"
)]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use proptest::prelude::*;
use rego_compat::{
    AsyncExternals, Budget, EvalError, EvalProgress, ExternalAnswer, ExternalCall, Externals, Limit, Module,
    Program, RegoVersion, Restrictions, Value, compile,
};

fn program(body: &str) -> Program {
    let text = format!("package t\nimport future.keywords\n{body}");
    let module = Module::parse("t.rego", &text, RegoVersion::V0).unwrap();
    let restrictions = Restrictions::default().with_external_functions(["lookup", "digest"]);
    compile(&[module], "data.t.p", &restrictions).unwrap()
}

fn json(text: &str) -> Value {
    Value::from_json_str(text).unwrap()
}

fn input() -> Value {
    json(r#"{"images": ["a", "b", "c", "b"], "one": "a"}"#)
}

/// Runs to the end; also what was asked, batch by batch.
fn run(
    program: &Program,
    budget: &Budget,
    answer: impl Fn(&ExternalCall) -> ExternalAnswer,
) -> (Result<Option<Value>, EvalError>, Vec<Vec<String>>) {
    let mut batches = Vec::new();
    let mut progress = program.start(&input(), &Value::new_object(), budget);
    loop {
        match progress {
            Err(error) => return (Err(error), batches),
            Ok(EvalProgress::Done(value)) => return (Ok(value), batches),
            Ok(EvalProgress::Waiting(suspended)) => {
                let names = suspended.requests().iter().map(|r| format!("{}({})", r.function, r.argument));
                batches.push(names.collect());
                let answers = suspended.requests().iter().map(&answer).collect();
                progress = suspended.resume(answers);
            }
        }
    }
}

/// `x-ok` for `x`; undefined for "c".
fn suffixed(request: &ExternalCall) -> ExternalAnswer {
    let text = request.argument.as_string().map(|text| text.to_string()).unwrap_or_default();
    Ok(Some(Value::from(format!("{text}-ok"))).filter(|_| text != "c"))
}

#[test]
fn a_loop_makes_one_batch_in_which_each_call_is_once() {
    let program = program("p[y] { y := lookup(input.images[_]) }");
    let (answer, batches) = run(&program, &Budget::default(), suffixed);
    let expected: std::collections::BTreeSet<Value> = [Value::from("a-ok"), Value::from("b-ok")].into();
    assert_eq!(answer, Ok(Some(expected.into())));
    assert_eq!(batches, [[r#"lookup("a")"#, r#"lookup("b")"#, r#"lookup("c")"#]]);
}

#[test]
fn rules_functions_and_comprehensions_share_a_batch() {
    let program = program(
        "p[1] { count([y | y := lookup(input.images[_])]) == 3 }\np[2] { f(input.one) }\np[3] { digest(1) }\nf(x) { lookup(x) }",
    );
    let (answer, batches) = run(&program, &Budget::default(), suffixed);
    assert!(matches!(answer, Ok(Some(Value::Set(_)))));
    assert_eq!(batches.iter().map(Vec::len).collect::<Vec<_>>(), [4]);
}

#[test]
fn a_call_with_an_answer_as_its_argument_comes_in_the_next_batch() {
    let program = program("p = z { y := lookup(input.one); z := digest(y) }");
    let (answer, batches) = run(&program, &Budget::default(), suffixed);
    assert_eq!(answer, Ok(Some("a-ok-ok".into())));
    assert_eq!(batches, [[r#"lookup("a")"#], [r#"digest("a-ok")"#]]);
}

#[test]
fn nothing_is_concluded_before_the_answers() {
    for body in [
        "p { not lookup(input.one); digest(2) == 3 }",
        "p = 1 { lookup(input.one) == \"x\" } else = 2 { digest(2) == 3 }",
        "default p = 1\np = 2 { lookup(input.one); digest(2) == 3 }",
        "p { every x in input.images { lookup(x) }; digest(2) == 3 }",
    ] {
        let (_, batches) = run(&program(body), &Budget::default(), suffixed);
        assert!(!batches.first().unwrap().contains(&"digest(2)".to_owned()), "{body}: {batches:?}");
    }
}

#[test]
fn a_call_that_failed_fails_the_evaluation_that_comes_to_it() {
    let refused = |_: &ExternalCall| -> ExternalAnswer { Err("refused".to_owned()) };
    let (answer, _) = run(&program("p { lookup(input.one) }"), &Budget::default(), refused);
    let failed = |message: &str| {
        Err(EvalError::External { function: "lookup".to_owned(), message: message.to_owned() })
    };
    assert_eq!(answer, failed("refused"));
    let EvalProgress::Waiting(waiting) =
        program("p { lookup(input.one) }").start(&input(), &Value::Null, &Budget::default()).unwrap()
    else {
        panic!("it waits");
    };
    assert!(
        matches!(waiting.resume(Vec::new()), Err(EvalError::External { message, .. }) if message.contains("no answer"))
    );
    // The second image is asked for with the first, and never needed.
    let one_is_enough = program("p { lookup(input.images[_]) == \"a-ok\" }");
    let (answer, _) = run(&one_is_enough, &Budget::default(), |request| {
        if request.argument == "a".into() { suffixed(request) } else { Err("down".to_owned()) }
    });
    assert_eq!(answer, Ok(Some(true.into())));
}

#[test]
fn the_budget_is_that_of_all_runs_together() {
    let chain = program("p = d { a := lookup(input.one); b := lookup(a); c := lookup(b); d := lookup(c) }");
    let (answer, batches) = run(&chain, &Budget::default(), suffixed);
    assert_eq!((answer.is_ok(), batches.len()), (true, 4));
    let (answer, _) = run(&chain, &Budget::default().with_batches(3), suffixed);
    assert_eq!(answer, Err(EvalError::Budget(Limit::Batches)));
    let busy = program(
        "p = d { count([1 | numbers.range(1, 1000)[_]]) > 0; a := lookup(input.one); d := lookup(a) }",
    );
    let least = |rounds: u64| {
        let steps = rounds * 1_500;
        run(&busy, &Budget::default().with_instructions(steps), suffixed).0
    };
    assert_eq!(least(1), Err(EvalError::Budget(Limit::Instructions)));
    assert_eq!(least(100), Ok(Some("a-ok-ok".into())));
}

/// Answers all at once, after having been polled some times.
struct Slow {
    polls: usize,
    batches: Mutex<Vec<usize>>,
}

impl AsyncExternals for Slow {
    fn call_batch(&self, requests: &[ExternalCall]) -> impl Future<Output = Vec<ExternalAnswer>> + Send {
        self.batches.lock().unwrap().push(requests.len());
        let (mut left, answers) = (self.polls, requests.iter().map(suffixed).collect::<Vec<_>>());
        std::future::poll_fn(move |_| {
            left = left.saturating_sub(1);
            if left == 0 { Poll::Ready(answers.clone()) } else { Poll::Pending }
        })
    }
}

fn poll<F: Future>(future: &mut Pin<&mut F>) -> Poll<F::Output> {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_future_may_be_dropped_wherever_it_waits() {
    let program = program("p = z { y := lookup(input.one); z := digest(y) }");
    let (input, data, budget) = (input(), Value::new_object(), Budget::default());
    for dropped_after in 0..8 {
        let host = Slow { polls: 3, batches: Mutex::default() };
        let mut future = pin!(program.evaluate_async(&input, &data, &budget, &host));
        let ended = (0..dropped_after).find_map(|_| match poll(&mut future) {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => None,
        });
        let polls_needed = 5;
        assert_eq!(ended.is_some(), dropped_after >= polls_needed, "{dropped_after}");
        if let Some(answer) = ended {
            assert_eq!(answer, Ok(Some("a-ok-ok".into())));
        }
    }
    // Whatever was dropped, the next one is asked everything and answers.
    let host = Slow { polls: 1, batches: Mutex::default() };
    let mut future = pin!(program.evaluate_async(&input, &data, &budget, &host));
    assert_eq!(poll(&mut future), Poll::Ready(Ok(Some("a-ok-ok".into()))));
    assert_eq!(*host.batches.lock().unwrap(), [1, 1]);
}

#[test]
fn the_future_may_go_from_thread_to_thread() {
    fn is_send<T: Send>(_: &T) {}
    let host = Slow { polls: 1, batches: Mutex::default() };
    let (program, input, data, budget) =
        (program("p { lookup(1) }"), input(), Value::new_object(), Budget::default());
    is_send(&program.evaluate_async(&input, &data, &budget, &host));
}

/// Answers from a table, at once, and counts what it was asked.
struct Table {
    answers: BTreeMap<Value, ExternalAnswer>,
    asked: RefCell<Vec<ExternalCall>>,
}

impl Table {
    fn answer(&self, request: &ExternalCall) -> ExternalAnswer {
        self.answers.get(&request.argument).cloned().unwrap_or(Ok(None))
    }
}

impl Externals for Table {
    fn call(&self, function: &str, argument: &Value) -> Result<Option<Value>, EvalError> {
        let answer = self.answers.get(argument).cloned().unwrap_or(Ok(None));
        self.asked.borrow_mut().push(request(function, argument));
        answer.map_err(|message| EvalError::External { function: function.to_owned(), message })
    }
}

fn request(function: &str, argument: &Value) -> ExternalCall {
    // Requests are made by evaluations only, so this one is asked for.
    let text = format!("p = {function}({argument})");
    match program(&text).start(&Value::Null, &Value::Null, &Budget::default()).unwrap() {
        EvalProgress::Waiting(suspended) => suspended.requests().first().unwrap().clone(),
        EvalProgress::Done(_) => panic!("{text} asks"),
    }
}

const BODIES: [&str; 12] = [
    "p[y] { y := lookup(input.images[_]) }",
    "p = y { y := lookup(input.one) }",
    "p = y { y := lookup(input.images[_]) }",
    "p { not lookup(input.one) }",
    "p { x := input.images[_]; not lookup(x) }",
    "p = 1 { lookup(input.one) == \"a\" } else = 2 { lookup(\"b\") == \"b\" } else = 3",
    "default p = 7\np = y { y := digest(lookup(input.images[_])) }",
    "p[x] = y { x := input.images[_]; y := lookup(x) }",
    "p { every x in input.images { lookup(x) != \"b\" } }",
    "p = [y | y := f(input.images[_])]\nf(x) = y { y := lookup(x) }\nf(x) = y { y := digest(x) }",
    "p = y { walk(input, [_, x]); y := lookup(x) }",
    "p = count({y | some x in input.images; y := lookup(x) with input as 1}) { lookup(\"c\") }",
];

fn answers() -> impl Strategy<Value = BTreeMap<Value, ExternalAnswer>> {
    let value = prop_oneof![
        Just(Ok(None)),
        Just(Ok(Some(Value::from(false)))),
        Just(Ok(Some(Value::from("a")))),
        Just(Ok(Some(Value::from("b")))),
        Just(Err("down".to_owned())),
    ];
    let key = prop_oneof![Just("a"), Just("b"), Just("c")].prop_map(Value::from);
    prop::collection::btree_map(key, value, 0..4)
}

proptest! {
    /// If the host answers at once or in batches, the policy's answer is the same, and the host is asked at least
    /// what it would have been asked.
    #[test]
    fn batches_change_nothing(body in 0..BODIES.len(), answers in answers()) {
        let program = program(BODIES[body]);
        let host = Table { answers, asked: RefCell::default() };
        let at_once = program.evaluate_with(&input(), &Value::new_object(), &Budget::default(), &host);
        let asked = RefCell::new(Vec::new());
        let (in_batches, _) = run(&program, &Budget::default(), |request| {
            asked.borrow_mut().push(request.clone());
            host.answer(request)
        });
        prop_assert_eq!(&in_batches, &at_once, "{}", BODIES[body]);
        for request in host.asked.borrow().iter() {
            prop_assert!(asked.borrow().contains(request));
        }
        let mut distinct = asked.borrow().clone();
        distinct.sort();
        distinct.dedup();
        prop_assert_eq!(distinct.len(), asked.borrow().len(), "nothing is asked twice");
    }
}
