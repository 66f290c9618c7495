//! The drain: requests that have begun are answered, and the server ends.

use admission_server::Limits;
use tokio::time::timeout;

use crate::client::{PATIENCE, review, start};

#[tokio::test]
async fn a_request_that_has_begun_is_answered_and_idle_connections_end() {
    let running = start(Limits::default()).await;
    let _silent = running.connect().await.unwrap();
    let mut idle = running.client().await;
    idle.ask("/validate", &review("u", "a")).await;
    let mut client = running.client().await;
    let begun = tokio::spawn(async move { client.ask("/never?timeout=3s", &review("u", "a")).await });
    // The other connection's answer shows that the server runs; the request may still be on its way, and is accepted.
    idle.ask("/validate", &review("u", "a")).await;
    running.shutdown.drain.cancel();
    let (_, body) = timeout(PATIENCE, begun).await.unwrap().unwrap();
    assert_eq!(body["response"]["status"]["code"], 504, "{body}");
    timeout(PATIENCE, running.server).await.expect("the server ends").unwrap();
}
