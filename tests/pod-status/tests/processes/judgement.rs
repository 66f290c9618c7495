//! The comparison of what the processes did with what the statuses claimed at every moment.

use std::collections::BTreeMap;
use std::path::Path;

use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::Value;

/// One line of a process's log.
#[derive(Clone, Debug, Default)]
pub struct Judged {
    pub time: u64,
    /// The generation of each policy in force, by uid.
    pub by: BTreeMap<String, i64>,
}

/// The log of one process.
#[derive(Clone, Debug, Default)]
pub struct Log {
    pub id: String,
    pub judged: Vec<Judged>,
    /// The time when each generation was compiled: uid, generation, time.
    pub ingested: BTreeMap<(String, i64), u64>,
}

impl Judged {
    /// The judgement in a line `BY time uid=generation …`.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix("BY ")?.split_whitespace();
        let time = words.next()?.parse().ok()?;
        let by = words.map(|word| {
            let (uid, generation) = word.split_once('=')?;
            Some((uid.to_owned(), generation.parse().ok()?))
        });
        Some(Self { time, by: by.collect::<Option<_>>()? })
    }
}

impl Log {
    pub fn read(id: &str, path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let mut log = Self { id: id.to_owned(), ..Self::default() };
        for line in text.lines() {
            log.judged.extend(Judged::parse(line));
            let words: Vec<&str> = line.split(' ').collect();
            if let ["IN", time, uid, generation] = words[..] {
                let key = (uid.to_owned(), generation.parse().unwrap());
                log.ingested.entry(key).or_insert(time.parse().unwrap());
            }
        }
        log
    }
}

/// A revision of a policy, of any writer.
#[derive(Clone, Debug)]
pub struct Revision {
    /// The moment before which its contents were decided. See [`crate::revisions`].
    pub time: u64,
    /// The write was answered.
    pub answered: u64,
    pub uid: String,
    pub enforced: Option<i64>,
    /// Pod and generation of each entry that claims to enforce.
    pub by_pod: Vec<(String, i64)>,
}

impl Revision {
    pub fn of(policy: &DynamicObject, time: u64, answered: u64) -> Self {
        let (none, empty) = (Value::Null, Vec::new());
        let status = policy.data.get("status").unwrap_or(&none);
        let conditions = status["conditions"].as_array().unwrap_or(&empty);
        let enforced = conditions.iter().find(|c| c["type"] == "Enforced" && c["status"] == "True");
        let entries = status["byPod"].as_array().unwrap_or(&empty);
        let entry = |entry: &Value| {
            (entry["id"].as_str().unwrap().to_owned(), entry["observedGeneration"].as_i64().unwrap())
        };
        Self {
            time,
            answered,
            uid: policy.uid().unwrap(),
            enforced: enforced.map(|condition| condition["observedGeneration"].as_i64().unwrap()),
            by_pod: entries.iter().map(entry).collect(),
        }
    }
}

/// A statement that was not true.
#[derive(Clone, Debug)]
#[expect(dead_code, reason = "printed when there is one")]
pub struct Lie {
    pub revision: Revision,
    pub pod: String,
    pub judged: Option<Judged>,
}

/// Statements `Enforced=True` after which a process judged by an older generation or without the policy, and entries
/// of pods that had not ingested the generation. `deleted` are policies and the times at which they were deleted.
pub fn lies(revisions: &[Revision], logs: &[Log], deleted: &BTreeMap<String, u64>) -> Vec<Lie> {
    let mut lies = Vec::new();
    for revision in revisions {
        let gone = deleted.get(&revision.uid).copied().unwrap_or(u64::MAX);
        for log in logs {
            let lie = |judged| Lie { revision: revision.clone(), pod: log.id.clone(), judged };
            if let Some(generation) = revision.enforced {
                let from = log.judged.partition_point(|judged| judged.time <= revision.time);
                let contradicts = |judged: &&Judged| {
                    judged.time < gone && judged.by.get(&revision.uid).is_none_or(|by| *by < generation)
                };
                lies.extend(
                    log.judged[from..].iter().find(contradicts).map(|judged| lie(Some(judged.clone()))),
                );
            }
        }
        for (pod, generation) in &revision.by_pod {
            // A pod has one log for each of its runs.
            let ingested = logs.iter().filter(|log| log.id == *pod);
            let mut times = ingested.filter_map(|log| log.ingested.get(&(revision.uid.clone(), *generation)));
            if !times.any(|time| *time <= revision.time) {
                lies.push(Lie { revision: revision.clone(), pod: pod.clone(), judged: None });
            }
        }
    }
    lies
}

#[test]
fn lies_are_found() {
    let revision = |time| Revision {
        time,
        answered: time + 5,
        uid: "u".into(),
        enforced: Some(2),
        by_pod: vec![("a".into(), 2)],
    };
    let log = |lines: &[&str], ingested| Log {
        id: "a".into(),
        judged: lines.iter().map(|line| Judged::parse(line).unwrap()).collect(),
        ingested: [(("u".into(), 2), ingested)].into(),
    };
    let count = |revision, log, deleted: &[(String, u64)]| {
        lies(&[revision], &[log], &deleted.iter().cloned().collect()).len()
    };
    assert_eq!(count(revision(10), log(&["BY 9 u=1", "BY 11 u=2", "BY 12 u=3"], 5), &[]), 0);
    assert_eq!(count(revision(10), log(&["BY 11 u=1"], 5), &[]), 1, "judged by an older generation");
    assert_eq!(count(revision(10), log(&["BY 11 v=7"], 5), &[]), 1, "judged without the policy");
    assert_eq!(count(revision(10), log(&["BY 11 v=7"], 5), &[("u".into(), 11)]), 0, "it was deleted");
    assert_eq!(count(revision(10), log(&[], 12), &[]), 1, "byPod is ahead of the pod");
}
