//! The index against scans, over listings, interruptions and deletions.

use proptest::prelude::*;

use super::*;
use crate::parent::ParentKey;
use crate::vote::Reported;

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
                let reports = store.reports(&parent);
                let about = about_parent(&parent, &reports);
                let reported = about.map(|(run, entry)| Reported::new(run.clone(), entry.clone()));
                prop_assert_eq!(texts(reported), now.clone());
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
