//! Overclaims of the high-water marks, and their limits.

use k8s_openapi::jiff::Timestamp;
use serde_json::json;

use super::*;

const KIND: &str = "Policy";

fn time(second: i64) -> Time {
    Time(Timestamp::from_second(second).unwrap())
}

fn state(status: &str, second: i64, now: i64) -> EnforcementState {
    let condition = json!({
        "type": "Enforced", "status": status, "reason": "", "message": "waiting for a, b",
        "lastTransitionTime": time(second),
    });
    let status = Map::from_iter([("conditions".to_owned(), json!([condition]))]);
    EnforcementState::of(&status, &time(now)).waiting_for(|| vec!["a".to_owned(), "b".to_owned()])
}

fn parent(name: &str) -> ParentRef {
    ParentRef::new("g", KIND, name)
}

/// Returns what is published.
fn published(states: &mut EnforcementStates) -> HighWaterMarks {
    let sender = watch::Sender::default();
    states.publish(&sender);
    sender.borrow().clone()
}

#[tokio::test(start_paused = true)]
async fn the_mark_counts_and_names_the_oldest_and_its_pods() {
    let mut states = EnforcementStates::default();
    states.set(&parent("p"), state("True", 0, 300));
    states.set(&parent("q"), state("Unknown", 200, 300));
    states.set(&parent("r"), state("False", 100, 300));
    let mark = published(&mut states).of("g", KIND);
    let expected = "1 of 3 enforced everywhere; Policy r waits since 1970-01-01T00:01:40Z: waiting for a, b";
    assert_eq!(mark.to_string(), expected);
    assert_eq!(mark.oldest.as_ref().unwrap().pods, ["a", "b"]);
    let first = mark.condition(1, None, &time(300));
    assert_eq!((first.status.as_str(), &first.last_transition_time), ("False", &time(300)));
    assert_eq!(mark.condition(1, Some(&first), &time(400)), first);
    states.remove(&parent("r"));
    states.set(&parent("q"), state("True", 400, 400));
    states.set_listed([ParentKind::new("g", KIND)].into());
    let mark = published(&mut states).of("g", KIND);
    assert_eq!(mark.to_string(), "2 of 2 enforced everywhere");
    assert_eq!(mark.condition(1, Some(&first), &time(400)).last_transition_time, time(400));
}

#[tokio::test(start_paused = true)]
async fn all_are_enforced_only_if_the_host_has_named_all() {
    let status = |mark: HighWaterMark| mark.condition(1, None, &time(0)).status;
    let mut states = EnforcementStates::default();
    assert_eq!(status(HighWaterMarks::default().of("g", KIND)), "Unknown", "another process aggregates");
    assert_eq!(status(published(&mut states).of("g", KIND)), "Unknown", "nothing is known about the kind");
    states.set(&parent("p"), state("True", 0, 0));
    assert_eq!(status(published(&mut states).of("g", KIND)), "Unknown", "there may be more");
    states.set_listed([ParentKind::new("g", KIND)].into());
    assert_eq!(status(published(&mut states).of("g", KIND)), "True");
    states.remove(&parent("p"));
    let marks = published(&mut states);
    assert_eq!((marks.of("g", KIND).total, status(marks.of("g", KIND))), (0, "True".into()), "none exists");
    assert_eq!(status(marks.of("other", KIND)), "Unknown", "a kind of the same name in another group");
    states.set(&ParentRef::new("other", KIND, "p"), state("True", 0, 0));
    let marks = published(&mut states);
    assert_eq!(status(marks.over(|_| true)), "Unknown", "one of two kinds is listed");
    states.expect(&parent("q"));
    assert_eq!(status(published(&mut states).over(|_| true)), "False", "one is known to wait");
}

#[tokio::test(start_paused = true)]
async fn a_parent_waits_since_it_ceased_to_be_enforced_whatever_its_condition_says_meanwhile() {
    let mut states = EnforcementStates::default();
    let since = |states: &mut EnforcementStates| {
        published(states).of("g", KIND).oldest.map(|oldest| (oldest.since, oldest.began))
    };
    let start = Instant::now();
    states.set(&parent("p"), state("Unknown", 100, 100));
    tokio::time::advance(Duration::from_secs(50)).await;
    // Unknown to False is a transition of the condition.
    states.set(&parent("p"), state("False", 150, 150));
    assert_eq!(since(&mut states), Some((Some(time(100)), start)));
    states.fails(&parent("p"), "no answer");
    assert_eq!(since(&mut states), Some((Some(time(100)), start)));
    states.set(&parent("p"), state("True", 160, 160));
    assert_eq!(since(&mut states), None);
    // A new term knows the condition alone. A clock that runs ahead does not make it younger than now.
    let mut states = EnforcementStates::default();
    let now = Instant::now();
    states.set(&parent("p"), state("False", 150, 180));
    assert_eq!(
        since(&mut states),
        Some((Some(time(150)), now.checked_sub(Duration::from_secs(30)).unwrap()))
    );
    states.set(&parent("q"), state("False", 999, 180));
    assert_eq!(published(&mut states).of("g", KIND).oldest.unwrap().parent, parent("p"));
}

#[tokio::test(start_paused = true)]
async fn what_was_proven_for_the_last_generation_is_not_claimed_when_the_present_one_cannot_be_read() {
    let mut states = EnforcementStates::default();
    states.set(&parent("p"), state("True", 0, 0));
    states.fails(&parent("p"), "connection refused");
    let mark = published(&mut states).of("g", KIND);
    let expected = "0 of 1 enforced everywhere; Policy p waits: its status cannot be read or written: connection refused";
    assert_eq!(mark.to_string(), expected);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_published_before_every_parent_is_decided_about() {
    let mut states = EnforcementStates::default();
    ["p", "q", "r"].iter().for_each(|name| states.expect(&parent(name)));
    states.set(&parent("p"), state("True", 0, 0));
    states.fails(&parent("q"), "no answer");
    assert!(!published(&mut states).is_known());
    states.remove(&parent("r"));
    let mark = published(&mut states).of("g", KIND);
    assert_eq!((mark.enforced, mark.total), (1, 2));
    states.expect(&parent("s"));
    let mark = published(&mut states).of("g", KIND);
    assert_eq!((mark.enforced, mark.total), (1, 3), "a parent that is new counts, and waits");
}
