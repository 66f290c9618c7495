//! Tests of what no API server would send, and of templates that do not compile: a clear answer, and everything else
//! goes on.

use constraint_framework::api::ConstraintTemplateStatus;
use hyper::{Method, Request};
use serde_json::Value;

use crate::cluster::{Cluster, NAMESPACE, workspace};
use crate::https::{Connection, authority, deployment_review, post};
use crate::operator::Operator;
use crate::scripted::{Fate, Scripted};

pub(crate) const BROKEN: &str = r#"
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: broken}
spec:
  crd: {spec: {names: {kind: Broken}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package broken
      violation[{"msg": msg}] { no_such_function(input.review, msg) }
"#;

const ODD_MESSAGE: &str = r#"
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: oddmessage}
spec:
  crd: {spec: {names: {kind: OddMessage}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    code:
    - engine: K8sNativeValidation
      source: {validations: [{expression: "object != null", messageExpression: object.metadata.name}]}
"#;

#[tokio::test]
async fn every_bad_request_is_answered_and_the_next_good_one_too() {
    let cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    let trusted = authority(&cluster).await;
    let good = deployment_review("u1", 3);
    let unknown = good.replace("admission.k8s.io/v1", "admission.k8s.io/v9");
    let json = "application/json";
    let cases = [
        (post(json, "not json"), 400, "not an AdmissionReview"),
        (post(json, ""), 400, "not an AdmissionReview"),
        (post(json, "[]"), 400, "AdmissionReview"),
        (post(json, unknown), 400, "is not served: send an AdmissionReview"),
        (post(json, good.replace("\"request\"", "\"question\"")), 400, "holds no request"),
        (post("text/plain", good.clone()), 415, "application/json"),
        (post(json, vec![b' '; 8 * 1024 * 1024]), 413, "larger than"),
        (Request::get("/v1/admit").header("host", "a").body(Default::default()).unwrap(), 405, "post"),
        (Request::post("/nowhere").header("host", "a").body(Default::default()).unwrap(), 404, "/v1/admit"),
    ];
    for (request, code, text) in cases {
        let mut connection = Connection::open(&operator.webhook, &trusted).await.unwrap();
        let (status, _, body) = connection.send(request).await.unwrap();
        assert_eq!(status.as_u16(), code, "{body}");
        let review: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(review["response"]["allowed"], false);
        assert!(review["response"]["status"]["message"].as_str().unwrap().contains(text), "{body}");
    }

    // Garbage before TLS, and a body that breaks off, hurt only their own connection.
    let mut raw = tokio::net::TcpStream::connect(&operator.webhook).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut raw, b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let mut connection = Connection::open(&operator.webhook, &trusted).await.unwrap();
    let object_is_text =
        good.replace("{\"apiVersion\":\"apps/v1\"", "\"text\", \"was\": {\"apiVersion\":\"apps/v1\"");
    for (body, allowed) in [(good.clone(), true), (object_is_text, false), (good, true)] {
        let (status, _, answer) = connection.send(post(json, body)).await.unwrap();
        let review: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(
            (status.as_u16(), &review["response"]["allowed"]),
            (200, &Value::Bool(allowed)),
            "{answer}"
        );
        assert_eq!(review["response"]["uid"], "u1");
    }
    operator.stop().await;
}

#[tokio::test]
async fn a_broken_template_keeps_a_pod_unready_until_it_is_reported_or_mended_where_broken_policies_block() {
    let cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    operator.stop().await;
    cluster.must(&["delete", "validatingwebhookconfigurations", "--all"]).await;
    cluster.apply(BROKEN).await;

    // A status could call the template enforced before the pod has said that it serves without it.
    let proxy = Scripted::start(&cluster.shipped).await;
    proxy.script(|method, path| {
        let is_report = path.contains("/podreports/") && !path.contains("-0?");
        if is_report && method != Method::GET { Fate::Fail(500, "InternalError") } else { Fate::Pass }
    });
    let identity = ["webtroller-0", NAMESPACE, cluster.pod_uid.as_str()];
    let operator = Operator::start(proxy.kubeconfig(), identity).await;
    operator.until_readyz(|code, body| code == 503 && body.contains("not reported yet")).await;
    proxy.script(|_, _| Fate::Pass);
    operator.until_readyz(|code, _| code == 200).await;
    operator.stop().await;
    cluster.must(&["delete", "validatingwebhookconfigurations", "--all"]).await;

    let block = ["--broken-policies", "block"];
    let mut operator = Operator::start_with(&cluster.shipped, identity, &block).await;
    let body = operator.until_readyz(|code, body| code == 503 && body.contains("Could not ingest")).await;
    assert!(body.contains("broken"), "{body}");
    cluster.apply(&BROKEN.replace("no_such_function(input.review, msg)", "msg := \"hello\"")).await;
    operator.until_readyz(|code, _| code == 200).await;
    operator.log("webhook registered").await;
    operator.stop().await;
}

#[tokio::test]
async fn a_template_that_does_not_compile_says_so_and_nothing_else_changes() {
    let cluster = Cluster::start().await;
    let operator = cluster.operator().await;
    cluster.quickstart().await;

    // The webhook would refuse it, so it is stored while none is registered.
    operator.stop().await;
    cluster.must(&["delete", "validatingwebhookconfigurations", "--all"]).await;
    cluster.apply(BROKEN).await;
    let operator = cluster.operator().await;
    let broken = ["constrainttemplate", "broken"];
    cluster
        .must(&["wait", "--for=condition=Ingested=False", "--timeout=120s", "constrainttemplate/broken"])
        .await;
    assert!(cluster.get(&broken, "{.status.byPod[0].errors[*].code}").await.contains("ingest_error"));
    let message = cluster.get(&broken, "{.status.byPod[0].errors[*].message}").await;
    assert!(message.contains("no_such_function"), "{message}");
    let location = cluster.get(&broken, "{.status.byPod[0].errors[0].location}").await;
    assert!(location.starts_with("template:2:"), "{location}");
    assert!(!cluster.kubectl(&["get", "crd", "broken.constraints.gatekeeper.sh"]).await.success);

    let bad = workspace("examples/quickstart/review/two-replicas.yaml");
    let refused = cluster.kubectl(&["create", "--dry-run=server", "-f", bad.to_str().unwrap()]).await;
    assert!(refused.stderr.contains("[three-to-ten-replicas]"), "{}", refused.stderr);

    // A fixed template is ingested; a broken one also does not keep the next pod from becoming ready.
    operator.stop().await;
    let operator = cluster.operator().await;
    cluster.apply(&BROKEN.replace("no_such_function(input.review, msg)", "msg := \"hello\"")).await;
    cluster.enforced("constrainttemplate/broken").await;
    assert_eq!(cluster.get(&broken, "{.status.byPod[0].errors}").await, "");

    // What does not keep a template from being enforced is said, too.
    cluster.apply(ODD_MESSAGE).await;
    cluster.enforced("constrainttemplate/oddmessage").await;
    let status = cluster.get(&["constrainttemplate", "oddmessage"], "{.status}").await;
    let status: ConstraintTemplateStatus = serde_json::from_str(&status).unwrap();
    let [pod] = &status.by_pod[..] else { panic!("{status:?}") };
    assert!(status.created && pod.errors.is_empty() && !pod.id.is_empty() && !pod.template_uid.is_empty());
    assert_eq!(pod.warnings[0].location.as_deref(), Some("source/validations/0/messageExpression"));
    operator.stop().await;
}
