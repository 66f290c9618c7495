//! Images in a registry: both programs read one on a loopback address.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, date_time_ymd,
};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use super::program::{GATOR, OURS, both, difference, ours, violations};
use super::test_registry::{StandIn, image};

const NAME: &str = "team/policies";

fn quickstart() -> Vec<(&'static str, Option<&'static str>, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/quickstart");
    let file = |name| ("application/yaml", Some(name), std::fs::read(folder.join(name)).unwrap());
    ["template.yaml", "constraint.yaml"].map(file).to_vec()
}

fn object() -> String {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/quickstart/review/two-replicas.yaml");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn gator_finds_the_same_in_the_same_registry() {
    let registry = StandIn::start(image(NAME, &quickstart()), None);
    let reference = format!("{}/{NAME}:v1", registry.address);
    let runs = both(&["test", "--image", &reference, "-o", "json"], &object());
    assert_eq!((difference(&runs), violations(&runs[1]).len()), (None, 1), "{runs:?}");
    let missing = format!("{}/{NAME}:v2", registry.address);
    let runs = both(&["test", "--image", &missing, "-o", "json"], &object());
    assert_eq!((runs[0].code, runs[1].code), (1, 1), "{runs:?}");
    assert!(runs[1].err.contains("404"), "{}", runs[1].err);
}

#[test]
fn a_catalogue_may_be_in_a_registry() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/catalog");
    let files = walkdir::WalkDir::new(&folder).into_iter().filter_map(Result::ok);
    let files = files.filter(|entry| entry.file_type().is_file());
    let read = |entry: walkdir::DirEntry| {
        let name = entry.path().strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read(entry.path()).unwrap())
    };
    let files: Vec<_> = files.map(read).collect();
    let layers: Vec<_> =
        files.iter().map(|(name, content)| ("text/yaml", Some(name.as_str()), content.clone())).collect();
    let registry = StandIn::start(image(NAME, &layers), None);
    let catalog = format!("{}/{NAME}:v1", registry.address);
    let install = |catalog: &str| {
        ours(&["policy", "install", "--catalog", catalog, "--bundle", "shop-baseline", "--dry-run"], "")
    };
    let [remote, local] = [install(&catalog), install(folder.to_str().unwrap())];
    assert_eq!((remote.code, &remote.out), (0, &local.out), "{}", remote.err);
}

#[test]
fn a_password_is_taken_from_the_configuration_of_docker() {
    let registry = StandIn::start(image(NAME, &quickstart()), Some("Basic bmFtZTpzZWNyZXQ="));
    let reference = format!("{}/{NAME}:v1", registry.address);
    let refused = ours(&["test", "--image", &reference], &object());
    assert_eq!(refused.code, 1);
    assert!(refused.err.starts_with(&format!("webtroller test: {reference}: ")), "{}", refused.err);
    let folder = tempfile::tempdir().unwrap();
    let config = format!(r#"{{"auths": {{"{}": {{"auth": "bmFtZTpzZWNyZXQ="}}}}}}"#, registry.address);
    std::fs::write(folder.path().join("config.json"), config).unwrap();
    let template = folder.path().join("empty.yaml");
    std::fs::write(&template, object()).unwrap();
    let mut command = Command::new(OURS);
    command.args(["test", "--image", &reference]).arg(&template).env("DOCKER_CONFIG", folder.path());
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(out.contains("[\"three-to-ten-replicas\"]"), "{out}{}", String::from_utf8_lossy(&output.stderr));
}

/// An authority, and what a registry shows that it signed for a host until a year.
fn signed_until(host: &str, year: i32) -> (String, Arc<ServerConfig>) {
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_pem = authority.self_signed(&authority_key).unwrap().pem();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.not_before = date_time_ymd(2000, 1, 1);
    params.not_after = date_time_ymd(year, 1, 1);
    let certificate = params.signed_by(&key, &Issuer::new(authority, authority_key)).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = config.with_single_cert(vec![certificate.der().clone()], key).unwrap();
    (authority_pem, Arc::new(config))
}

/// Exit code and standard error of a program that trusts what `variable` names, and nothing else.
fn trusting(program: &Path, reference: &str, [variable, value]: [&str; 2]) -> (Option<i32>, String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/quickstart/review");
    let mut command = Command::new(program);
    command.args(["test", "--image", reference, "-o", "json", "-f"]).arg(folder);
    // Either variable alone leaves the other one's default.
    command.env("SSL_CERT_FILE", "/dev/null").env("SSL_CERT_DIR", "/dev/null").env(variable, value);
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// As Go's programs do, it trusts the authorities of the system, or those that two variables name instead.
#[test]
fn certificates_are_checked_against_the_authorities_that_the_environment_names() {
    let host = "0.0.0.0";
    let next_year = 2999;
    for (name, until, expected) in [
        (host, next_year, None),
        ("registry.example.com", next_year, Some("not valid for name")),
        (host, 2001, Some("expired")),
    ] {
        let (authority, tls) = signed_until(name, until);
        let registry = StandIn::start_tls(image(NAME, &quickstart()), tls);
        let reference = format!("{}/{NAME}:v1", registry.address);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("authority.pem");
        std::fs::write(&file, &authority).unwrap();
        let [file, directory] = [&file, folder.path()].map(|path| path.to_str().unwrap());
        for trusted in [["SSL_CERT_FILE", file], ["SSL_CERT_DIR", directory]] {
            for program in [GATOR.as_path(), Path::new(OURS)] {
                let (code, said) = trusting(program, &reference, trusted);
                // One object of the folder is refused by the policy of the image.
                assert_eq!(code, Some(1), "{said}");
                let is_refused = said.contains(&reference) || said.contains("certificate");
                assert_eq!(is_refused, expected.is_some(), "{name} {until} {program:?}: {said}");
                let ours = program == Path::new(OURS);
                assert!(!ours || expected.is_none_or(|words| said.contains(words)), "{said}");
            }
        }
        // An authority that the client does not trust.
        let (other, _) = signed_until(name, next_year);
        std::fs::write(file, other).unwrap();
        let (code, said) = trusting(Path::new(OURS), &reference, ["SSL_CERT_FILE", file]);
        assert!(code == Some(1) && said.contains("certificate"), "{said}");
    }
}

/// A container without certificates has none of them.
#[test]
fn without_authorities_it_is_said_how_to_name_some() {
    let (_, tls) = signed_until("0.0.0.0", 2999);
    let registry = StandIn::start_tls(image(NAME, &quickstart()), tls);
    let reference = format!("{}/{NAME}:v1", registry.address);
    let (code, said) = trusting(Path::new(OURS), &reference, ["SSL_CERT_FILE", "/dev/null"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("no certificate authority") && said.contains("SSL_CERT_FILE"), "{said}");
}
