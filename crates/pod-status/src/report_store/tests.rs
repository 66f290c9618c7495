//! The index against scans, over listings, interruptions and deletions.

use proptest::prelude::*;

use super::*;
use crate::parent::ParentKey;

fn reference(name: u8) -> ParentRef {
    ParentRef::new("g", "K", format!("p{name}"))
}

fn report() -> impl Strategy<Value = PodReport> {
    let entries = prop::collection::vec((0..4u8, 0..3i64), 0..4);
    (0..2u8, entries).prop_map(|(incarnation, entries)| PodReport {
        pod: Member { id: "a".into(), incarnation: format!("i{incarnation}"), ..Member::default() },
        shard: 1,
        entries: entries
            .into_iter()
            .map(|(name, generation)| Entry::new(ParentKey::new(reference(name), "u"), generation))
            .collect(),
    })
}

#[derive(Clone, Debug)]
enum Event {
    Apply(u8, Option<PodReport>),
    Delete(u8),
    ListingBegins,
    ListingEnds,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        5 => (0..3u8, prop::option::weighted(0.9, report())).prop_map(|(name, report)| Event::Apply(name, report)),
        2 => (0..3u8).prop_map(Event::Delete),
        1 => Just(Event::ListingBegins),
        1 => Just(Event::ListingEnds),
    ]
}

/// Sorted by text, so that the order of the objects does not matter.
fn texts(reported: impl IntoIterator<Item = Reported>) -> Vec<String> {
    let mut texts: Vec<String> = reported.into_iter().map(|reported| format!("{reported:?}")).collect();
    texts.sort();
    texts
}

proptest! {
    #[test]
    fn the_index_finds_what_a_scan_finds_and_no_change_goes_unnoticed(
        events in prop::collection::vec(event(), 0..40)
    ) {
        let mut store = ReportStore::default();
        let mut model: BTreeMap<String, PodReport> = BTreeMap::new();
        let mut listed: Option<BTreeSet<String>> = None;
        for event in events {
            let scan = |model: &BTreeMap<String, PodReport>, parent: &ParentRef| {
                let all = model.values().flat_map(|report| report.entries.iter().map(move |entry| (report, entry)));
                texts(all.filter(|(_, entry)| entry.parent.reference == *parent).map(|(report, entry)| Reported {
                    member: report.pod.clone(),
                    entry: entry.clone(),
                }))
            };
            let before = model.clone();
            match event {
                Event::Apply(name, report) => {
                    let name = format!("o/{name}");
                    store.apply(&name, "uid".into(), report.clone());
                    if let Some(listed) = &mut listed {
                        listed.insert(name.clone());
                    }
                    match report {
                        Some(report) => model.insert(name, report),
                        None => model.remove(&name),
                    };
                }
                Event::Delete(name) => {
                    store.remove(&format!("o/{name}"));
                    model.remove(&format!("o/{name}"));
                }
                Event::ListingBegins => {
                    store.listing_begins("o");
                    listed = Some(BTreeSet::new());
                }
                Event::ListingEnds => {
                    store.listing_ends("o");
                    if let Some(listed) = listed.take() {
                        model.retain(|name, _| listed.contains(name));
                    }
                }
            }
            let dirty = store.take_dirty();
            for parent in (0..4).map(reference) {
                let now = scan(&model, &parent);
                prop_assert_eq!(texts(about_parent(&parent, &store.reports(&parent))), now.clone());
                prop_assert!(dirty.contains(&parent) || scan(&before, &parent) == now, "{:?} changed", parent);
            }
        }
    }
}

#[test]
fn the_same_content_again_makes_nothing_dirty() {
    let report = PodReport {
        pod: Member { id: "a".into(), ..Member::default() },
        shard: 1,
        entries: vec![Entry::new(ParentKey::new(reference(1), "u"), 1)],
    };
    let mut store = ReportStore::default();
    store.apply("o", "uid".into(), Some(report.clone()));
    assert_eq!(store.take_dirty().len(), 1);
    store.apply("o", "uid".into(), Some(report));
    assert!(!store.is_dirty());
}

/// Resident memory of this process in MiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap().checked_div(1024).unwrap()
}

#[test]
fn large_sets_of_parents_are_decided_about_in_seconds_and_in_little_memory() {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use k8s_openapi::jiff::Timestamp;
    use kube::core::{ApiResource, GroupVersionKind};

    use crate::aggregate::{Decision, Parent, aggregate};
    use crate::shape::Shape;

    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("g", "v1", "K"));
    let shape = Shape::new(resource, "uid").enforced_by(["webhook"]);
    for (parents, pods) in [(10_000, 5), (500, 60)] {
        let before = resident();
        let mut store = ReportStore::default();
        let key = |number: usize| {
            ParentKey::new(ParentRef::new("g", "K", format!("policy-{number}")), format!("uid-{number}"))
        };
        let members: Vec<Member> =
            (0..pods).map(|pod| Member::new(format!("pod-{pod}"), "i1").operations(["webhook"])).collect();
        for member in &members {
            for (shard, numbers) in (1u32..).zip((0..parents).collect::<Vec<_>>().chunks(100)) {
                let entries = numbers.iter().map(|number| Entry::new(key(*number), 1)).collect();
                let report = PodReport { pod: member.clone(), shard, entries };
                store.apply(&format!("{}-{shard}", member.id), "uid".into(), Some(report));
            }
        }
        let now = Time(Timestamp::UNIX_EPOCH);
        let began = std::time::Instant::now();
        let dirty = store.take_dirty();
        assert_eq!(dirty.len(), parents);
        let enforced = dirty.iter().enumerate().filter(|(_, reference)| {
            let number: usize = reference.name.trim_start_matches("policy-").parse().unwrap();
            let parent = Parent::new(key(number), 1);
            let decision = aggregate(
                &shape,
                &parent,
                &members,
                &about_parent(reference, &store.reports(reference)),
                &now,
            );
            matches!(decision, Decision::Write(status) if status["conditions"][1]["status"] == "True")
        });
        assert_eq!(enforced.count(), parents);
        let (took, memory) = (began.elapsed(), resident().saturating_sub(before));
        println!("{parents} parents × {pods} pods: decided in {took:?}, {memory} MiB");
        // Without optimization, on a machine that does other things too; the goal is 2 s and 300 MiB.
        assert!(took.as_secs() < 20 && memory < 300, "{took:?}, {memory} MiB");
    }
}
