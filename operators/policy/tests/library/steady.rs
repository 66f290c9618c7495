//! Memory under load for a long time, while policies change.
//!
//! Run it with `--release`: `WEBTROLLER_STEADY_MINUTES=60` for an hour.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::time::{MissedTickBehavior, interval};

use crate::cluster::Cluster;
use crate::https::authority;
use crate::load::{Target, reviews};
use crate::operator::kibibytes;
use crate::start::{add_library, other};

/// Connections that ask all the time.
const CONNECTIONS: usize = 16;
/// Time from one change of a policy to the next: a thousand in an hour.
const BETWEEN: Duration = Duration::from_millis(3600);
/// Time from one look at the memory to the next.
const LOOK: Duration = Duration::from_secs(5);
/// This part of the time, at the beginning, is left out of the slope.
const WARM_UP: f64 = 0.1;

/// `WEBTROLLER_STEADY_MINUTES`, 1 by default.
fn duration() -> Duration {
    let minutes = std::env::var("WEBTROLLER_STEADY_MINUTES").map_or(1, |count| count.parse().unwrap());
    Duration::from_secs(minutes * 60)
}

/// Hours since the beginning, and MB.
async fn samples(process: u32, duration: Duration) -> Vec<(f64, f64)> {
    let (began, mut looks, mut samples) = (Instant::now(), interval(LOOK), Vec::new());
    while began.elapsed() < duration {
        looks.tick().await;
        let megabytes = kibibytes(process, "VmRSS") as f64 * 1024.0 / 1e6;
        samples.push((began.elapsed().as_secs_f64() / 3600.0, megabytes));
    }
    samples
}

/// Changes a constraint and a template in turns. Returns how often.
async fn change(cluster: &Cluster, duration: Duration) -> usize {
    let (began, mut turns, mut changes) = (Instant::now(), interval(BETWEEN), 0);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while began.elapsed() < duration {
        turns.tick().await;
        let [mut template, mut constraint] = other(0);
        if changes % 2 == 0 {
            constraint["spec"]["parameters"]["b"] = json!(format!("b{changes}"));
            cluster.apply(&constraint.to_string()).await;
        } else {
            let rego = template["spec"]["targets"][0]["rego"].as_str().unwrap();
            let rego = rego.replace("\"no\"", &format!("\"no {changes}\""));
            template["spec"]["targets"][0]["rego"] = json!(rego);
            cluster.apply(&template.to_string()).await;
        }
        changes += 1;
    }
    changes
}

/// The slope of the line that fits best, by least squares.
fn slope(samples: &[(f64, f64)]) -> f64 {
    let count = samples.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| samples.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|sample| sample.0), mean(|sample| sample.1));
    let covariance: f64 = samples.iter().map(|sample| (sample.0 - x) * (sample.1 - y)).sum();
    covariance / samples.iter().map(|sample| (sample.0 - x).powi(2)).sum::<f64>()
}

pub(crate) async fn under_load(root: &Path) {
    let cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    cluster.must(&["create", "namespace", "generated"]).await;
    add_library(&cluster, root).await;
    let [template, constraint] = other(0);
    cluster.apply(&template.to_string()).await;
    cluster.enforced("constrainttemplate/other0").await;
    cluster.apply(&constraint.to_string()).await;
    let trusted = authority(&cluster).await;
    let process = operator.child.id().unwrap();
    let target = Target { name: "webtroller", address: &operator.webhook, trusted: &trusted, process };
    let (reviews, duration) = (reviews(), duration());
    let (round, samples, changes) = tokio::join!(
        target.load(&reviews, CONNECTIONS, duration),
        samples(process, duration),
        change(&cluster, duration)
    );
    round.show(target.name);
    let end = duration.as_secs_f64() / 3600.0;
    let warm: Vec<_> = samples.into_iter().filter(|(hours, _)| *hours > end * WARM_UP).collect();
    let extreme = |pick: fn(f64, f64) -> f64| warm.iter().map(|sample| sample.1).reduce(pick).unwrap();
    println!(
        "{:.0} minutes, {changes} changes of policies: from {:.1} to {:.1} MB, {:+.2} MB an hour",
        duration.as_secs_f64() / 60.0,
        extreme(f64::min),
        extreme(f64::max),
        slope(&warm)
    );
    operator.stop().await;
}
