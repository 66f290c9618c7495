//! Reads the events of a watch, a line each.
//!
//! As `Client::request_events` does, which keeps a buffer of 8 KiB for each watch, also while it is silent: with a
//! thousand watches most of what they cost. Here a watch keeps what it has not read to the end of a line.

use std::error::Error as StdError;
use std::io::ErrorKind;

use futures::stream::BoxStream;
use futures::{AsyncBufRead, AsyncBufReadExt, StreamExt};
use kube::api::WatchEvent;
use kube::core::Status;
use serde_json::value::RawValue;

use super::{cut_off, sort_status};
use crate::source::{SourceError, SourceEvent};

/// The events that `answer` brings, until it ends.
pub(super) fn events(
    answer: impl AsyncBufRead + Send + 'static,
) -> BoxStream<'static, Result<SourceEvent, SourceError>> {
    let event = |line: std::io::Result<String>| match line {
        Ok(line) => decode(&line),
        Err(error) if is_cut_short(&error) => None,
        Err(error) => Some(Err(cut_off("the connection to the API server broke", &error))),
    };
    answer.lines().filter_map(move |line| std::future::ready(event(line))).boxed()
}

/// The event of a line; `None` for one that the end of the answer has cut short.
fn decode(line: &str) -> Option<Result<SourceEvent, SourceError>> {
    Some(match serde_json::from_str::<WatchEvent<Box<RawValue>>>(line) {
        Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => Ok(SourceEvent::Applied(object)),
        Ok(WatchEvent::Deleted(object)) => Ok(SourceEvent::Deleted(object)),
        Ok(WatchEvent::Bookmark(bookmark)) => Ok(SourceEvent::Bookmark(bookmark.metadata.resource_version)),
        Ok(WatchEvent::Error(status)) => Err(sort_status(&status)),
        Err(error) if error.is_eof() => return None,
        Err(error) => Err(no_event(line, &error)),
    })
}

/// A server that fails in the middle may write its Status as it is. Every field of one may be missing, so anything else
/// reads like one without a code; taken for a failure, such a line would be met again after every reconnection.
fn no_event(line: &str, error: &serde_json::Error) -> SourceError {
    match serde_json::from_str::<Status>(line) {
        Ok(status) if status.code != 0 => sort_status(&status),
        _ => SourceError::Undecodable(error.to_string().into()),
    }
}

/// The server has ended the watch without the last chunk, as it does after its timeout.
fn is_cut_short(error: &std::io::Error) -> bool {
    causes(error).any(|cause| {
        let kind = cause.downcast_ref().map(std::io::Error::kind);
        kind == Some(ErrorKind::UnexpectedEof) || cause.to_string().contains("unexpected EOF during chunk")
    })
}

/// The error, the error that it wraps, and so on.
pub(super) fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| cause_of(*error))
}

/// The error that `error` wraps. `source` of an [`std::io::Error`] passes over it.
fn cause_of<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    match error.downcast_ref::<std::io::Error>() {
        Some(error) => error.get_ref().map(|cause| cause as _),
        None => error.source(),
    }
}

#[cfg(test)]
mod tests {
    use futures::{TryStreamExt, stream};

    use super::*;

    /// Reads an answer that comes in these pieces and then breaks with `end`.
    async fn read(pieces: &[&'static str], end: Option<std::io::Error>) -> Vec<String> {
        let pieces: Vec<_> = pieces.iter().copied().map(Ok).chain(end.map(Err)).collect();
        let seen = events(stream::iter(pieces).into_async_read()).map(|event| match event {
            Ok(SourceEvent::Applied(object)) => object.to_string(),
            Ok(other) => format!("{other:?}"),
            Err(SourceError::Undecodable(_)) => "nonsense".to_owned(),
            Err(error) => error.to_string(),
        });
        seen.collect().await
    }

    #[tokio::test]
    async fn an_event_may_come_in_pieces_and_several_at_once() {
        let pieces = [r#"{"type":"ADDED","obj"#, "ect\":1}\r\n{\"type\":\"MODIFIED\",\"object\":2}\n", "\n"];
        assert_eq!(read(&pieces, None).await, ["1", "2"]);
    }

    #[tokio::test]
    async fn what_the_end_of_an_answer_cuts_short_is_left_out() {
        let pieces = ["{\"type\":\"ADDED\",\"object\":1}\n", r#"{"type":"MODIFIED","obj"#];
        assert_eq!(read(&pieces, None).await, ["1"]);
        let ended =
            std::io::Error::other(std::io::Error::new(ErrorKind::UnexpectedEof, "the last chunk is missing"));
        assert_eq!(read(&pieces, Some(ended)).await, ["1"]);
    }

    #[tokio::test]
    async fn a_connection_that_breaks_is_said_once() {
        let broken = std::io::Error::other("reset by peer");
        let seen = read(&["{\"type\":\"ADDED\",\"object\":1}\n"], Some(broken)).await;
        assert_eq!(seen, ["1", "the connection to the API server broke: reset by peer"]);
    }

    #[tokio::test]
    async fn a_status_on_its_own_line_is_what_it_says() {
        let line = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"too old","code":410}"#;
        assert_eq!(
            read(&[line, "\n", "{\"kind\":\"Status\"}\n"], None).await,
            [SourceError::Expired.to_string().as_str(), "nonsense"]
        );
    }
}
