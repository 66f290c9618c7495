//! Tests of `machine`: no script of answers makes it send more requests than its bound, and each rule by itself.

#![expect(clippy::arithmetic_side_effects, reason = "an overflow fails the test, as it should")]

use kube::core::{ApiResource, GroupVersionKind};
use proptest::prelude::*;

use super::*;
use crate::config::RateLimit;
use crate::fixture::{gvk, raw};

// === impl Machine: for the tests of the crate ===

impl Machine {
    /// Everything that decides about the future but times and delays.
    pub(crate) fn picture(&self) -> String {
        let phase = match &self.phase {
            Phase::Wait { then, .. } => format!("wait {}", describe(then)),
            phase => describe(phase),
        };
        let Self { reported, complete, listed, doubtful, retrying, .. } = self;
        format!("{phase} {reported} {complete} {listed} {doubtful} {}", retrying.is_fresh())
    }
}

fn describe(phase: &Phase) -> String {
    match phase {
        Phase::Discover { .. } => "discover".to_owned(),
        Phase::List(Listing { page, expired, .. }) => format!("list {page:?} {expired}"),
        Phase::Connect { version, .. } => format!("connect {version}"),
        Phase::Follow(Following { version, .. }) => format!("follow {version}"),
        Phase::Wait { .. } => "wait".to_owned(),
    }
}

fn machine(config: Config) -> Machine {
    let decoder = Decoder::new(gvk("A"), &config, None);
    Machine::new(Arc::new(config), decoder, None, Selection::default())
}

fn config() -> Config {
    Config { jitter_seed: Some(1), ..Config::default() }
}

fn served() -> Served {
    Served::new(
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("example.com", "v1", "A"), "as"),
        true,
    )
}

/// An answer of a server that may do anything.
#[derive(Debug, Clone, Copy)]
enum Answer {
    Good,
    NotServed,
    Forbidden,
    Expired,
    Unavailable,
    /// A page with a token for the next; a watch event.
    More,
    /// An event without resourceVersion.
    Unversioned,
    /// An object, or an event, that cannot be read.
    Garbage,
    Bookmark,
    /// The watch ends.
    End,
    /// A hint or a recovery comes while the watch waits.
    Hint,
    Recovery,
    /// It is told to list again.
    Over,
    /// The watch lives for this many milliseconds before the next answer.
    Later(u64),
}

fn any_answer() -> impl Strategy<Value = Answer> {
    use Answer::{
        Bookmark, End, Expired, Forbidden, Garbage, Good, Hint, Later, More, NotServed, Over, Recovery,
        Unavailable, Unversioned,
    };
    prop_oneof![
        8 => Just(Good),
        2 => prop::sample::select(vec![NotServed, Forbidden, Expired, Unavailable]),
        4 => prop::sample::select(vec![More, Unversioned, Garbage, Bookmark, End, Hint, Recovery, Over]),
        1 => (0_u64..20_000).prop_map(Later),
    ]
}

fn failure(answer: Answer) -> Option<SourceError> {
    match answer {
        Answer::NotServed => Some(SourceError::NotServed),
        Answer::Forbidden => Some(SourceError::Forbidden("no".to_owned())),
        Answer::Expired => Some(SourceError::Expired),
        Answer::Unavailable => Some(SourceError::Unavailable("cut".to_owned())),
        _ => None,
    }
}

/// Runs a script over and over; returns when each request was sent and whether it was a further page.
fn requests(config: Config, script: &[Answer], rounds: usize) -> Vec<(Instant, bool)> {
    let mut machine = machine(config);
    let mut now = Instant::now();
    let mut sent = Vec::new();
    for answer in script.iter().cycle().take(rounds) {
        let action = machine.next_action(now);
        let further = matches!(&action, Action::List(_, page) if page.continue_token.is_some());
        if !matches!(action, Action::Sleep(_) | Action::Read) {
            sent.push((now, further));
        }
        match (action, answer) {
            (Action::Sleep(_), Answer::Hint) => machine.on_hint(now),
            (Action::Sleep(_), Answer::Recovery) => machine.on_recovery(now, 0.0),
            (Action::Sleep(_) | Action::Read, Answer::Over) => machine.start_over(),
            (Action::Sleep(delay), _) => now += delay,
            (Action::Discover(_), answer) => {
                machine.on_discovered(now, failure(*answer).map_or_else(|| Ok(served()), Err));
            }
            (Action::List(..), answer) => {
                let item = if matches!(answer, Answer::Garbage) { nothing() } else { raw("a", 1, 1) };
                let mut page = Listed::last(vec![item], "1");
                page.continue_token = matches!(answer, Answer::More).then(|| "next".to_owned());
                machine.on_listed(now, failure(*answer).map_or(Ok(page), Err));
            }
            (Action::Connect(..), answer) => machine.on_connected(now, failure(*answer).map_or(Ok(()), Err)),
            (Action::Read, Answer::Later(millis)) => now += Duration::from_millis(*millis),
            (Action::Read, Answer::End) => machine.on_message(now, None),
            (Action::Read, answer) => {
                let object = match answer {
                    Answer::Unversioned => unversioned(),
                    Answer::Garbage => nothing(),
                    _ => raw("a", 1, 2),
                };
                let message = match answer {
                    Answer::Bookmark => Ok(SourceEvent::Bookmark("3".to_owned())),
                    answer => failure(*answer).map_or(Ok(SourceEvent::Applied(object)), Err),
                };
                machine.on_message(now, Some(message));
            }
        }
        while machine.take_step().is_some() {}
    }
    sent
}

/// No object.
fn nothing() -> Box<serde_json::value::RawValue> {
    serde_json::value::to_raw_value(&()).unwrap()
}

fn unversioned() -> Box<RawValue> {
    RawValue::from_string(r#"{"metadata":{"name":"a"}}"#.to_owned()).unwrap()
}

/// In every period `t` at most `burst + t / interval` requests.
fn is_bounded(sent: &[Instant], limit: RateLimit) -> bool {
    sent.iter().enumerate().all(|(first, from)| {
        sent.iter().enumerate().skip(first).all(|(last, to)| {
            let paid = to.duration_since(*from).as_nanos() / limit.interval.as_nanos();
            (last - first + 1) as u128 <= u128::from(limit.burst) + paid
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        std::env::var("WATCH_MANAGER_CASES").map_or(256, |text| text.parse().unwrap())
    ))]

    /// The bound that the documentation states: whatever the server answers, and however often it is hinted at.
    #[test]
    fn no_script_of_answers_defeats_the_bound(script in proptest::collection::vec(any_answer(), 1..12)) {
        let config = config();
        let sent = requests(config.clone(), &script, 1_500);
        let of = |further| sent.iter().filter(|(_, is)| *is == further).map(|(at, _)| *at).collect::<Vec<_>>();
        prop_assert!(is_bounded(&of(false), config.requests));
        prop_assert!(is_bounded(&of(true), config.pages));
    }
}

/// The patterns that were found to defeat delays alone, each for a minute of the server's time.
#[test]
fn patterns_that_reset_delays_are_slow_all_the_same() {
    use Answer::{End, Good, NotServed, Unversioned};
    let patterns: [&[Answer]; 4] = [
        // Discovery and list succeed, the watch is answered with 404.
        &[Good, Good, NotServed, Good],
        // A watch sends one event and ends.
        &[Good, Good, Good, Good, End],
        // Objects without resourceVersion, then the end.
        &[Good, Good, Good, Unversioned, End],
        // A watch opens and ends.
        &[Good, Good, Good, End],
    ];
    for pattern in patterns {
        let sent = requests(config(), pattern, 4_000);
        let (first, _) = sent[0];
        let in_a_minute =
            sent.iter().filter(|(at, _)| at.duration_since(first) < Duration::from_secs(60)).count();
        assert!(in_a_minute <= 80, "{pattern:?}: {in_a_minute} requests in a minute");
    }
}

#[test]
fn the_first_delays_after_a_refusal_are_short() {
    let mut machine = machine(config());
    let mut now = Instant::now();
    let start = now;
    let mut asked = Vec::new();
    while now.duration_since(start) < Duration::from_secs(600) {
        match machine.next_action(now) {
            Action::Sleep(delay) => now += delay,
            Action::Discover(_) => machine.on_discovered(now, Ok(served())),
            _ => {
                asked.push(now.duration_since(start).as_secs());
                machine.on_listed(now, Err(SourceError::Forbidden("no".to_owned())));
            }
        }
    }
    assert!(asked.iter().filter(|at| **at <= 15).count() >= 3, "{asked:?}");
    assert!(asked.len() <= 12, "{asked:?}");
}

#[test]
fn a_busy_server_is_left_alone_for_as_long_as_it_asks() {
    let mut machine = machine(config());
    let now = Instant::now();
    machine.next_action(now);
    let busy = SourceError::Busy { message: "busy".to_owned(), retry_after: Duration::from_secs(40) };
    machine.on_discovered(now, Err(busy));
    machine.on_recovery(now, 0.0);
    assert_eq!(machine.next_action(now), Action::Sleep(Duration::from_secs(40)));
}

#[test]
fn a_recovered_server_ends_the_wait_of_a_refused_kind() {
    let mut machine = machine(config());
    let now = Instant::now();
    for _ in 0..8 {
        let Action::Discover(_) = machine.next_action(now + Duration::from_secs(10_000)) else { panic!() };
        machine.on_discovered(now, Err(SourceError::Forbidden("no".to_owned())));
    }
    let Action::Sleep(delay) = machine.next_action(now) else { panic!() };
    assert!(delay > Duration::from_secs(60), "{delay:?}");
    machine.on_recovery(now, 0.5);
    assert_eq!(machine.next_action(now), Action::Sleep(Duration::from_millis(500)));
}

#[test]
fn a_cluster_scoped_kind_in_certain_namespaces_says_so() {
    let config = config();
    let decoder = Decoder::new(gvk("A"), &config, None);
    let mut machine = Machine::new(Arc::new(config), decoder, Some("n".into()), Selection::default());
    let now = Instant::now();
    machine.next_action(now);
    machine.on_discovered(now, Ok(Served { namespaced: false, ..served() }));
    // A former watch may have left objects.
    assert!(matches!(machine.take_step(), Some(Step::Gone)));
    assert!(matches!(machine.take_step(), Some(Step::Status(GvkStatus::NotNamespaced, 1))));
}

#[test]
fn a_kind_that_becomes_cluster_scoped_leaves_no_object_of_its_namespaces() {
    let (now, config) = (Instant::now(), Arc::new(config()));
    let part = Some("team".into());
    let mut machine =
        Machine::new(config.clone(), Decoder::new(gvk("A"), &config, None), part, Selection::default());
    machine.on_discovered(now, Ok(served()));
    assert!(matches!(machine.next_action(now), Action::List(..)));
    machine.on_listed(now, Ok(Listed::last(vec![raw("a", 1, 1)], "1".to_owned())));
    assert!(matches!(machine.next_action(now), Action::Connect(..)));
    machine.on_connected(now, Err(SourceError::NotServed));
    while machine.take_step().is_some() {}
    let cluster_scoped = Served { namespaced: false, ..served() };
    machine.on_discovered(now, Ok(cluster_scoped));
    let said: Vec<_> = std::iter::from_fn(|| machine.take_step()).collect();
    assert!(matches!(&said[..], [Step::Gone, Step::Status(GvkStatus::NotNamespaced, _)]), "{said:?}");
}

#[test]
fn a_retry_after_of_years_is_five_minutes() {
    let mut machine = machine(config());
    let now = Instant::now();
    machine.next_action(now);
    let retry_after = Duration::from_secs(u64::from(u32::MAX));
    machine.on_discovered(now, Err(SourceError::Busy { message: "busy".to_owned(), retry_after }));
    assert_eq!(machine.next_action(now), Action::Sleep(Duration::from_secs(300)));
}

/// A kind that is refused for an hour while others recover every second.
#[test]
fn others_that_recover_all_the_time_add_one_attempt_in_each_longest_delay() {
    let asked = |recoveries: bool| {
        let mut machine = machine(config());
        let (start, mut now, mut asked) = (Instant::now(), Instant::now(), 0_u32);
        while now.duration_since(start) < Duration::from_secs(3_600) {
            match machine.next_action(now) {
                Action::Sleep(delay) => {
                    now += delay.min(Duration::from_secs(1));
                    if recoveries {
                        machine.on_recovery(now, 0.5);
                    }
                }
                _ => {
                    asked += 1;
                    machine.on_discovered(now, Err(SourceError::Forbidden("no".to_owned())));
                }
            }
        }
        asked
    };
    let (alone, beside) = (asked(false), asked(true));
    assert!(beside > alone, "{alone} alone, {beside} beside");
    assert!(beside <= alone + 3_600 / 300 + 1, "{alone} alone, {beside} beside");
}

/// A kind that was ready: its watch ends, and each of its requests then takes time.
#[test]
fn a_kind_counts_as_ready_for_one_deadline_without_a_watch() {
    let mut machine = machine(Config { watch_timeout: Duration::from_secs(1), ..config() });
    let start = Instant::now();
    assert!(matches!(machine.next_action(start), Action::Discover(_)));
    machine.on_discovered(start, Ok(served()));
    machine.next_action(start);
    machine.on_listed(start, Ok(Listed::last(Vec::new(), "1")));
    machine.next_action(start);
    machine.on_connected(start, Ok(()));
    assert_eq!((machine.next_action(start), machine.late_at()), (Action::Read, None));

    let ended = start + Duration::from_secs(20);
    machine.on_message(ended, None);
    assert!(matches!(machine.next_action(ended), Action::Connect(..)));
    assert_eq!(machine.late_at(), Some(ended + config().request_timeout));
    // Another request does not give it more time.
    machine.on_connected(ended + Duration::from_secs(20), Err(SourceError::NotServed));
    assert!(matches!(machine.next_action(ended + Duration::from_secs(20)), Action::Discover(_)));
    assert_eq!(machine.late_at(), Some(ended + config().request_timeout));
    while machine.take_step().is_some() {}
    machine.on_late();
    assert!(matches!(machine.take_step(), Some(Step::Status(GvkStatus::Stale { .. }, 0))), "not an attempt");
    assert_eq!(machine.late_at(), None);
}

mod preferred;
