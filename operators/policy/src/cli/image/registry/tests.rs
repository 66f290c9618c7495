//! Images in a registry on this machine. What gator finds in the same one is compared in `tests/parity`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::super::test_registry::{Answer, MANIFEST, StandIn, answer, image};
use super::super::tests::archive;
use super::super::{Limits, load_within};
use super::*;

const NAME: &str = "team/policies";

fn policies() -> BTreeMap<String, Answer> {
    image(
        NAME,
        &[
            ("application/vnd.oci.image.layer.v1.tar+gzip", None, archive()),
            ("text/yaml", Some("b.yaml"), b"kind: B\n".to_vec()),
        ],
    )
}

/// The kinds and paths of an image, or the error.
fn kinds(registry: &StandIn, rest: &str, limits: Limits) -> Result<Vec<(String, PathBuf)>, String> {
    let found = load_within(&format!("{}/{NAME}{rest}", registry.address), limits, None);
    let found = found.map_err(|error| error.to_string())?.into_iter();
    Ok(found.map(|manifest| (manifest.object["kind"].as_str().unwrap().to_owned(), manifest.path)).collect())
}

fn error(answers: BTreeMap<String, Answer>, rest: &str, limits: Limits) -> String {
    kinds(&StandIn::start(answers, None), rest, limits).unwrap_err()
}

/// The answers without what a registry says of their digests.
fn unsigned(answers: BTreeMap<String, Answer>) -> BTreeMap<String, Answer> {
    answers.into_iter().map(|(path, answer)| (path, Answer { digest: String::new(), ..answer })).collect()
}

#[test]
fn tags_digests_and_indexes_lead_to_the_layers() {
    let mut answers = policies();
    let digest = answers[&format!("/v2/{NAME}/manifests/v1")].digest.clone();
    let entries = |count: usize| {
        let entry = serde_json::json!({"mediaType": MANIFEST, "digest": digest, "size": 1});
        let index = serde_json::json!({"schemaVersion": 2, "manifests": vec![entry; count]});
        answer(OCI_IMAGE_INDEX_MEDIA_TYPE, index.to_string().into_bytes())
    };
    for (tag, count) in [("one", 1), ("two", 2)] {
        answers.insert(format!("/v2/{NAME}/manifests/{tag}"), entries(count));
    }
    let registry = StandIn::start(answers, None);
    for rest in [":v1", ":one", &format!("@{digest}")] {
        let root = PathBuf::from(format!("{}/{NAME}{rest}", registry.address));
        let expected = [("A", "templates/a.yaml"), ("B", "b.yaml")]
            .map(|(kind, path)| (kind.to_owned(), root.join(path)));
        assert_eq!(kinds(&registry, rest, Limits::default()).unwrap(), expected);
    }
    let ambiguous = kinds(&registry, ":two", Limits::default()).unwrap_err();
    assert!(ambiguous.contains("holds 2 images: name one of sha256:"), "{ambiguous}");
    let missing = kinds(&registry, ":v2", Limits::default()).unwrap_err();
    assert!(missing.contains("404"), "{missing}");
}

/// A registry that says nothing of digests, or agrees with itself, is not believed.
#[test]
fn content_with_another_digest_is_refused() {
    let path = |part: &str| policies().into_keys().find(|path| path.contains(part)).unwrap();
    let blob = policies().into_iter().find(|(_, answer)| answer.content == b"kind: B\n").unwrap().0;
    for (path, forged, rest) in [(blob, answer("text/yaml", b"kind: C\n".to_vec()), ":v1".to_owned()), {
        let path = path("/manifests/sha256:");
        let rest = format!("@{}", path.rsplit('/').next().unwrap());
        (path, answer(MANIFEST, b"{\"layers\": []}".to_vec()), rest)
    }] {
        let mut answers = policies();
        answers.insert(path, forged);
        for answers in [unsigned(answers.clone()), answers] {
            let error = error(answers, &rest, Limits::default());
            assert!(error.to_lowercase().contains("digest"), "{error}");
        }
    }
    let manifest = serde_json::json!({"layers": [{"digest": "sha256:../../../secret"}]}).to_string();
    let path = format!("/v2/{NAME}/manifests/v1");
    let answers = BTreeMap::from([(path, answer(MANIFEST, manifest.into_bytes()))]);
    let error = error(answers, ":v1", Limits::default());
    assert!(error.contains("not a digest of sha256"), "{error}");
}

#[test]
fn size_and_time_are_bounded() {
    let small = Limits { bytes: 100, ..Limits::default() };
    assert!(error(policies(), ":v1", small).contains("holds more than"));
    let late = Limits { total: Duration::ZERO, ..Limits::default() };
    assert!(error(policies(), ":v1", late).contains("the registry took too long"));
    // It accepts connections and says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let limits = Limits { silence: Duration::from_millis(50), ..Limits::default() };
    let error =
        load_within(&format!("{}/{NAME}:v1", silent.local_addr().unwrap()), limits, None).unwrap_err();
    assert!(error.to_string().contains("time"), "{error}");
}

#[test]
fn a_registry_may_want_a_password() {
    let registry = StandIn::start(policies(), Some("Basic bmFtZTpzZWNyZXQ="));
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config.json");
    let pull = |auths: &str| {
        std::fs::write(&config, auths.replace('@', &registry.address)).unwrap();
        load_within(&format!("{}/{NAME}:v1", registry.address), Limits::default(), Some(&config))
    };
    assert!(pull(r#"{"auths": {"@": {"auth": "bmFtZTpzZWNyZXQ="}}}"#).is_ok());
    let seen = registry.seen.lock().unwrap().len();
    for (auths, expected) in [
        ("{}", "auth"),
        (r#"{"auths": {"@": {"auth": "bmFtZTp3cm9uZw=="}}}"#, "auth"),
        (r#"{"auths": {"@": {"identitytoken": "t"}}}"#, "identity tokens are not supported"),
        (r#"{"credHelpers": {"@": "of-no-program"}}"#, "credential helper"),
        ("{", "config.json"),
    ] {
        let error = pull(auths).unwrap_err().to_string();
        assert!(error.to_lowercase().contains(expected), "{auths}: {error}");
    }
    let secrets = |(_, credentials): &&(String, String)| credentials.contains("bmFtZTpzZWNyZXQ=");
    assert_eq!(registry.seen.lock().unwrap()[seen..].iter().find(secrets), None);
}

#[test]
fn a_registry_is_named_by_its_host() {
    for name in
        ["policies", "./policies", "/tmp/policies:v1", "team/policies", "../a.b/c", "host.example/Bad Name"]
    {
        assert!(reference(name).is_none(), "{name}");
    }
    for name in ["ghcr.io/a/b", "localhost/a:v1", "127.0.0.1:5000/a", "host:5000/a@sha256:"] {
        assert_eq!(reference(name).is_some(), !name.ends_with(':'), "{name}");
    }
    for (host, is_plain) in
        [("localhost:5000", true), ("127.0.0.1", true), ("[::1]:80", true), ("ghcr.io", false)]
    {
        assert_eq!(matches!(protocol(host), ClientProtocol::Http), is_plain, "{host}");
    }
}
