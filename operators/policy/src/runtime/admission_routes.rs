//! `/v1/admit`: checks what surrounds an AdmissionReview before the webhook reads it.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::enforce::{MAX_BODY_BYTES, Webhook, refusal};

use super::server::Routes;

/// The API server gives a webhook at most 30 s; a body that takes longer has no reader left.
const BODY: Duration = Duration::from_secs(30);

/// How much of a body that is too large is read before its client is cut off after all.
const DISCARDED_BYTES: usize = 64 * 1024 * 1024;

/// The routes of the webhook's port.
pub(super) struct AdmissionRoutes {
    pub(super) webhook: Arc<Webhook>,
    /// Until this turns true nothing is judged: an answer from half a policy set would be a wrong one.
    pub(super) ready: watch::Receiver<bool>,
}

impl Routes for AdmissionRoutes {
    fn route(&self, request: Request<Incoming>) -> BoxFuture<'_, Response<Full<Bytes>>> {
        Box::pin(async move {
            self.admit(request)
                .await
                .unwrap_or_else(|(status, message)| json_response(status, refusal(status.as_u16(), &message)))
        })
    }
}

type Refused = (StatusCode, String);

impl AdmissionRoutes {
    async fn admit(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Refused> {
        if request.uri().path() != "/v1/admit" {
            return Err((StatusCode::NOT_FOUND, "post an AdmissionReview to /v1/admit".to_owned()));
        }
        if request.method() != Method::POST {
            let message = refusal(405, "post an AdmissionReview to /v1/admit");
            let mut response = json_response(StatusCode::METHOD_NOT_ALLOWED, message);
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
            return Ok(response);
        }
        if !is_json(&request) {
            return Err((
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "send Content-Type: application/json".to_owned(),
            ));
        }
        if !*self.ready.borrow() {
            let message = "not ready: the policies that existed at start are still being read".to_owned();
            return Err((StatusCode::SERVICE_UNAVAILABLE, message));
        }
        let body = read(request).await?;
        match self.webhook.admit(&body).await {
            Ok(answer) => Ok(json_response(StatusCode::OK, answer.body())),
            Err(error) => Err((StatusCode::BAD_REQUEST, error.to_string())),
        }
    }
}

fn is_json(request: &Request<Incoming>) -> bool {
    let content_type =
        request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    media_type.eq_ignore_ascii_case("application/json")
}

/// Reads a body up to its limit. What is beyond the limit is read too, and thrown away: a client that is cut off
/// while it still writes would see a broken connection, and never the answer that tells it why.
async fn read(request: Request<Incoming>) -> Result<Bytes, Refused> {
    match timeout(BODY, collect(request.into_body())).await {
        Ok(Ok(Some(body))) => Ok(body),
        Ok(Ok(None)) => {
            let message = format!("the body is larger than {MAX_BODY_BYTES} bytes");
            Err((StatusCode::PAYLOAD_TOO_LARGE, message))
        }
        Ok(Err(error)) => Err((StatusCode::BAD_REQUEST, format!("the body could not be read: {error}"))),
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "the body took too long".to_owned())),
    }
}

/// The whole body, or `None` when it is too large.
async fn collect(mut body: Incoming) -> hyper::Result<Option<Bytes>> {
    let mut kept = Vec::new();
    let mut size = 0_usize;
    while let Some(frame) = body.frame().await {
        let frame = frame?;
        let Some(chunk) = frame.data_ref() else { continue };
        size = size.saturating_add(chunk.len());
        match size {
            0..=MAX_BODY_BYTES => kept.extend_from_slice(chunk),
            _ if size > DISCARDED_BYTES => return Ok(None),
            _ => kept.clear(),
        }
    }
    Ok((size <= MAX_BODY_BYTES).then(|| Bytes::from(kept)))
}

fn json_response(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
