//! The workflows and the image: a mistake in them shows first when a version is tagged.

use serde_json::Value;

use crate::helm::workspace;
use crate::values::rendered;

fn text(path: &str) -> String {
    std::fs::read_to_string(workspace(path)).unwrap()
}

fn read(path: &str) -> Value {
    let mut documents =
        go_compat::sigs_yaml::documents(&text(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    documents.swap_remove(0).value
}

/// The workflows, parsed, with their paths.
fn workflows() -> [(&'static str, Value); 2] {
    [".github/workflows/ci.yaml", ".github/workflows/release.yaml"].map(|path| (path, read(path)))
}

fn steps(job: &Value) -> impl Iterator<Item = &Value> {
    job["steps"].as_array().unwrap().iter()
}

#[test]
fn jobs_wait_for_jobs_that_exist_and_commands_name_files_that_exist() {
    for (path, workflow) in workflows() {
        let jobs = workflow["jobs"].as_object().unwrap();
        for (name, job) in jobs {
            let needs = match &job["needs"] {
                Value::Array(names) => names.clone(),
                Value::Null => Vec::new(),
                name => vec![name.clone()],
            };
            for needed in &needs {
                assert!(jobs.contains_key(needed.as_str().unwrap()), "{path}: {name} needs {needed}");
            }
            let commands = steps(job).filter_map(|step| step["run"].as_str());
            let words = commands.flat_map(|command| command.split([' ', '\n', ')', ';', '"']));
            let ours = ["charts/", "deploy/", "docs/", "crates/", ".ci/"];
            for file in words.filter(|word| ours.iter().any(|folder| word.starts_with(folder))) {
                let folder = file.trim_end_matches("*/");
                assert!(workspace(folder).exists(), "{path}: {name} names {file}");
            }
        }
    }
}

/// A job has the registry's credentials only if it has logged in itself.
#[test]
fn each_job_that_pushes_has_logged_in_before() {
    let mut pushing = 0;
    for (path, workflow) in workflows() {
        for (name, job) in workflow["jobs"].as_object().unwrap() {
            let does = |step: &Value, words: [&str; 2]| {
                let texts = [&step["uses"], &step["run"]].map(|text| text.as_str().unwrap_or_default());
                words.iter().any(|word| texts.iter().any(|text| text.contains(word)))
            };
            let pushes =
                |step: &Value| step["with"]["push"] == true || does(step, ["helm push", "imagetools create"]);
            let Some(push) = steps(job).position(pushes) else { continue };
            pushing += 1;
            let login =
                steps(job).position(|step| does(step, ["docker/login-action@", "helm registry login"]));
            assert!(login.is_some_and(|login| login < push), "{path}: {name} pushes without a login");
        }
    }
    assert!(pushing >= 3, "{pushing}");
}

/// A release that is tagged v1.2.3 pushes the image v1.2.3, for both architectures, and the chart 1.2.3.
#[tokio::test]
async fn the_chart_pulls_the_image_that_a_release_pushes() {
    let version = env!("CARGO_PKG_VERSION");
    let description = read("charts/webtroller/Chart.yaml");
    assert_eq!((&description["version"], &description["appVersion"]), (&version.into(), &version.into()));
    let workflow = read(".github/workflows/release.yaml");
    assert!(text(".github/workflows/release.yaml").contains("push: { tags: [\"v*\"] }"), "{workflow}");
    let name = "ghcr.io/webtroller/webtroller:${{ github.ref_name }}";
    let jobs = &workflow["jobs"];
    let build = steps(&jobs["image"]).find(|step| step["with"]["push"] == true).unwrap();
    assert_eq!(build["with"]["tags"], format!("{name}-${{{{ matrix.name }}}}"), "{build}");
    assert_eq!(build["with"]["platforms"], "linux/${{ matrix.name }}", "{build}");
    assert_eq!(jobs["platforms"]["env"]["IMAGE"], name, "{workflow}");
    let merge = steps(&jobs["platforms"]).find_map(|step| step["run"].as_str()).unwrap();
    let built = jobs["image"]["strategy"]["matrix"]["include"].as_array().unwrap();
    let built: Vec<_> = built.iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert_eq!(built, ["amd64", "arm64"]);
    assert!(built.iter().all(|name| merge.contains(&format!("\"$IMAGE-{name}\""))), "{merge}");
    let image = format!("image: \"ghcr.io/webtroller/webtroller:v{version}\"\n");
    assert!(rendered("replicas=3").await.contains(&image), "{image}");
}

#[test]
fn the_image_is_a_binary_without_a_system_that_says_what_it_is_made_of() {
    let file = text("Dockerfile");
    let (build, image) = file.split_once("\nFROM scratch\n").unwrap();
    assert!(build.contains("cargo auditable build --release --locked -p webtroller\n"), "{build}");
    assert!(image.contains("\nUSER 65532:65532\n"), "{image}");
    assert!(image.contains("\nENTRYPOINT [\"/webtroller\"]\n"), "{image}");
    assert!(text("charts/webtroller/templates/_helpers.tpl").contains("\nrunAsUser: 65532\n"));
}
