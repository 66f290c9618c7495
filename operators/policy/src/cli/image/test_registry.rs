//! A registry on a loopback address, for tests: it answers each path with what it holds, byte by byte as given.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde_json::json;
use sha2::{Digest, Sha256};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// The media type of the manifest of an image.
pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const UNAUTHORIZED: &str = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"r\"\r\n\
                            Content-Length: 0\r\nConnection: close\r\n\r\n";
const NOT_FOUND: &str = "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) media_type: String,
    pub(crate) digest: String,
    pub(crate) content: Vec<u8>,
}

/// Path and `Authorization` of each request.
type Seen = Arc<Mutex<Vec<(String, String)>>>;

/// The registry. It ends when it is dropped.
pub(crate) struct StandIn {
    /// Host and port.
    pub(crate) address: String,
    /// The `Authorization` of each request, beside its path.
    pub(crate) seen: Seen,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl StandIn {
    /// Answers with 404 where it holds nothing; with 401 without that `Authorization`, if there is one.
    pub(crate) fn start(answers: BTreeMap<String, Answer>, authorization: Option<&'static str>) -> Self {
        Self::serve("127.0.0.1", move |mut stream, seen| {
            answer_to(&mut stream, &answers, authorization, seen)
        })
    }

    /// With TLS, under a host that stands for this machine and is asked with TLS.
    pub(crate) fn start_tls(answers: BTreeMap<String, Answer>, tls: Arc<ServerConfig>) -> Self {
        Self::serve("0.0.0.0", move |stream, seen| {
            let Ok(connection) = ServerConnection::new(tls.clone()) else { return };
            let mut stream = StreamOwned::new(connection, stream);
            answer_to(&mut stream, &answers, None, seen);
            stream.conn.send_close_notify();
            // Ignore write errors: the client may have seen enough.
            let _ = stream.flush();
        })
    }

    fn serve(host: &str, answer: impl Fn(TcpStream, &Seen) + Send + 'static) -> Self {
        let listener = TcpListener::bind((host, 0)).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (seen, ends) = (Seen::default(), Arc::<AtomicBool>::default());
        let (requests, is_over) = (seen.clone(), ends.clone());
        let serve = move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if is_over.load(Ordering::SeqCst) {
                    return;
                }
                answer(stream, &requests);
            }
        };
        Self { address, seen, ends, thread: Some(std::thread::spawn(serve)) }
    }
}

fn answer_to(
    stream: &mut (impl Read + Write),
    answers: &BTreeMap<String, Answer>,
    authorization: Option<&str>,
    seen: &Seen,
) {
    let Some(Request { is_head, path, credentials }) = request(stream) else { return };
    seen.lock().unwrap().push((path.clone(), credentials.clone()));
    let is_allowed = authorization.is_none_or(|wanted| wanted == credentials);
    // Ignore write errors: the client may have seen enough.
    let _ = match (is_allowed, answers.get(&path)) {
        (false, _) => stream.write_all(UNAUTHORIZED.as_bytes()),
        (true, None) => stream.write_all(NOT_FOUND.as_bytes()),
        (true, Some(answer)) => respond(stream, answer, is_head),
    };
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::SeqCst);
        // It sees the flag with the next connection.
        let _ = TcpStream::connect(&self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Request {
    is_head: bool,
    path: String,
    credentials: String,
}

fn request(stream: &mut impl Read) -> Option<Request> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next()?.ok()?;
    let (method, rest) = first.split_once(' ')?;
    let path = rest.split(' ').next()?.to_owned();
    let mut credentials = String::new();
    for line in lines.map_while(Result::ok).take_while(|line| !line.is_empty()) {
        let header = line.split_once(": ").filter(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        if let Some((_, value)) = header {
            credentials = value.to_owned();
        }
    }
    Some(Request { is_head: method == "HEAD", path, credentials })
}

fn respond(stream: &mut impl Write, answer: &Answer, is_head: bool) -> std::io::Result<()> {
    let Answer { media_type, digest, content } = answer;
    let size = content.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nDocker-Content-Digest: {digest}\r\n\
         Content-Length: {size}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    if is_head { Ok(()) } else { stream.write_all(content) }
}

/// An image of layers, each with its media type and its title, under the tag `v1`.
pub(crate) fn image(name: &str, layers: &[(&str, Option<&str>, Vec<u8>)]) -> BTreeMap<String, Answer> {
    let mut answers = BTreeMap::from([("/v2/".to_owned(), answer("application/json", b"{}".to_vec()))]);
    let mut put = |media_type: &str, content: Vec<u8>| {
        let answer = answer(media_type, content);
        let entry = json!({"mediaType": media_type, "digest": answer.digest, "size": answer.content.len()});
        answers.insert(format!("/v2/{name}/blobs/{}", answer.digest), answer);
        entry
    };
    let config = put("application/vnd.oci.empty.v1+json", b"{}".to_vec());
    let layer = |(media_type, title, content): &(&str, Option<&str>, Vec<u8>)| {
        let mut layer = put(media_type, content.clone());
        if let Some(title) = title {
            layer["annotations"] = json!({"org.opencontainers.image.title": title});
        }
        layer
    };
    let layers: Vec<_> = layers.iter().map(layer).collect();
    let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers});
    let manifest = answer(MANIFEST, manifest.to_string().into_bytes());
    for reference in ["v1", &manifest.digest] {
        answers.insert(format!("/v2/{name}/manifests/{reference}"), manifest.clone());
    }
    answers
}

/// An answer with its true digest.
pub(crate) fn answer(media_type: &str, content: Vec<u8>) -> Answer {
    let hex: String = Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
    Answer { media_type: media_type.to_owned(), digest: format!("sha256:{hex}"), content }
}
