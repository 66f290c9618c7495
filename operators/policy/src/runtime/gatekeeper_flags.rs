//! The container arguments of a Gatekeeper Deployment, read as `serve` reads its own: each flag of Gatekeeper's manager is
//! taken, has nothing to act on here, or is refused with the reason. `docs/gatekeeper-flags.md` is this table.

use std::ffi::OsString;

use FlagSupport::{NoEffect, OffOnly, Same, SameBut, SameSwitch, Translated};

/// A flag of Gatekeeper's manager.
#[derive(Debug)]
pub struct Flag {
    /// Its name, without dashes.
    pub name: &'static str,
    /// The treatment of the flag.
    pub meaning: FlagSupport,
}

/// The treatment of a flag.
#[derive(Clone, Copy, Debug)]
pub enum FlagSupport {
    /// `serve` has it, with a value.
    Same,
    /// `serve` has it, with a value; some values mean something else.
    SameBut {
        /// The difference.
        difference: &'static str,
        /// Returns true for the values that it is about, unless they are refused.
        concerns: fn(&str) -> bool,
    },
    /// `serve` has it, without a value.
    SameSwitch,
    /// It stands for another flag of `serve`.
    Translated {
        /// The flag.
        flag: &'static str,
        /// Its values, for each of which the flag is repeated; none where the default is meant.
        value: fn(&str) -> Result<Vec<String>, String>,
    },
    /// It is taken, and there is nothing here for it to act on. The reason is logged, unless the value turns it off.
    NoEffect(&'static str),
    /// It may be off; to turn it on is refused with the reason.
    OffOnly(&'static str),
}

const MUTATION: &str = "this release mutates nothing";
const EXTERNAL_DATA: &str =
    "this release asks no external data providers: templates that use them are refused";
const VAP: &str = "this release generates no ValidatingAdmissionPolicies";
const EXPORT: &str = "this release exports no violations to a connection; use logs or metrics";
const STACKDRIVER: &str = "metrics are offered to Prometheus, and sent by OTLP";
const INTERVAL: &str = "0 compares nothing with the cluster, and changes are still judged; without `audit` in --operation there is no audit";
const STDERR: &str = "logs go to standard error";

/// Every flag of Gatekeeper 3.23's manager, by name.
pub const FLAGS: &[Flag] = &[
    flag(
        "additional-mutating-webhook-configs-to-rotate-certs",
        OffOnly("only the operator's own configuration is kept"),
    ),
    flag(
        "additional-validating-webhook-configs-to-rotate-certs",
        OffOnly("only the operator's own configuration is kept"),
    ),
    flag("admission-events-involved-namespace", SameSwitch),
    flag("alsologtostderr", NoEffect(STDERR)),
    flag("api-cache-dir", NoEffect("the audit keeps nothing on disk")),
    flag("audit-channel", OffOnly(EXPORT)),
    flag("audit-chunk-size", Same),
    flag("audit-connection", OffOnly(EXPORT)),
    flag("audit-events-involved-namespace", SameSwitch),
    flag(
        "audit-from-cache",
        OffOnly("the audit reads the cluster itself, each object once and then its changes"),
    ),
    flag(
        "audit-interval",
        SameBut { difference: INTERVAL, concerns: |seconds| seconds.parse() == Ok(0_u64) },
    ),
    flag("audit-match-kind-only", NoEffect("only kinds that a constraint can match are listed anyway")),
    flag("cert-dir", Same),
    flag("cert-service-name", Same),
    flag("client-ca-name", Same),
    flag("client-cn-name", Same),
    flag("constraint-violations-limit", SameBut { difference: "at most 1000", concerns: |_| false }),
    flag("debug-use-fake-pod", OffOnly("a process outside of a pod reports as itself")),
    flag("default-create-vap-binding-for-constraints", NoEffect(VAP)),
    flag("default-create-vap-for-templates", NoEffect(VAP)),
    flag(
        "default-k8s-native-validation-failure-policy",
        NoEffect("a policy in CEL that fails is violated, under its own action"),
    ),
    flag("default-wait-for-vapb-generation", NoEffect(VAP)),
    flag("disable-cert-rotation", SameSwitch),
    flag(
        "disable-enforcementaction-validation",
        OffOnly("an action that means nothing would be a policy that does nothing"),
    ),
    flag(
        "disable-opa-builtin",
        NoEffect("functions that reach outside do not exist: http.send, net.lookup_ip_addr, opa.runtime"),
    ),
    flag("emit-admission-events", SameSwitch),
    flag("emit-audit-events", SameSwitch),
    flag("enable-external-data", NoEffect(EXTERNAL_DATA)),
    flag(
        "enable-generator-resource-expansion",
        NoEffect("this release expands workloads on the command line only"),
    ),
    flag("enable-k8s-native-validation", NoEffect("policies in CEL are always judged")),
    flag("enable-mutation", NoEffect(MUTATION)),
    flag("enable-pprof", OffOnly("pprof is for programs in Go")),
    flag("enable-referential-rules", NoEffect("policies may always refer to synced objects")),
    flag("enable-remote-cluster", OffOnly("set KUBECONFIG and --webhook-url-host instead")),
    flag(
        "enable-tls-healthcheck",
        NoEffect("the certificate is watched, and a broken one is repaired or logged"),
    ),
    flag("enable-violation-export", OffOnly(EXPORT)),
    flag("exempt-namespace", Same),
    flag("exempt-namespace-prefix", Same),
    flag("exempt-namespace-suffix", Same),
    flag("external-data-provider-response-cache-ttl", NoEffect(EXTERNAL_DATA)),
    flag("health-addr", Translated { flag: "health-port", value: health_port }),
    flag("host", Translated { flag: "host", value: host }),
    flag("kubeconfig", OffOnly("set KUBECONFIG instead")),
    flag("log-denies", SameSwitch),
    flag("log-file", OffOnly(STDERR)),
    flag("log-level", Translated { flag: "log", value: log_level }),
    flag("log-level-encoder", NoEffect("log levels are upper-case words")),
    flag("log-level-key", NoEffect("the key of the level is `level`")),
    flag("log-mutations", NoEffect(MUTATION)),
    flag("log-stats-admission", NoEffect("durations are in the metrics, and in `webtroller bench`")),
    flag("log-stats-audit", NoEffect("durations are in the metrics")),
    flag("log_backtrace_at", NoEffect(STDERR)),
    flag("log_dir", OffOnly(STDERR)),
    flag("log_link", NoEffect(STDERR)),
    flag("logbuflevel", NoEffect(STDERR)),
    flag("logtostderr", NoEffect(STDERR)),
    flag("max-serving-threads", Translated { flag: "max-serving-threads", value: threads }),
    flag("metrics-addr", NoEffect("metrics are at --prometheus-port and at --health-port")),
    flag("metrics-backend", Translated { flag: "prometheus-port", value: backend }),
    flag("mutating-webhook-configuration-name", NoEffect(MUTATION)),
    flag("mutation-annotations", NoEffect(MUTATION)),
    flag("operation", Translated { flag: "operation", value: operation }),
    flag("otlp-endpoint", Same),
    flag("otlp-metric-interval", Same),
    flag("port", Same),
    flag("pprof-port", NoEffect("pprof is for programs in Go")),
    flag("prometheus-port", Same),
    flag("readiness-retries", Translated { flag: "broken-policies", value: retries }),
    flag("shutdown-delay", Same),
    flag("stackdriver-metric-interval", NoEffect(STACKDRIVER)),
    flag("stackdriver-only-when-available", NoEffect(STACKDRIVER)),
    flag("stderrthreshold", NoEffect(STDERR)),
    flag("sync-vap-enforcement-scope", NoEffect(VAP)),
    flag("tls-min-version", Same),
    flag("v", NoEffect("--log-level chooses what is logged")),
    flag("validating-webhook-configuration-name", Same),
    flag("vmodule", NoEffect("--log chooses what is logged, as in `webtroller=debug,kube=warn`")),
];

const fn flag(name: &'static str, meaning: FlagSupport) -> Flag {
    Flag { name, meaning }
}

/// The arguments as `serve` takes them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// The arguments.
    pub args: Vec<OsString>,
    /// The flags that have no effect, and why.
    pub notes: Vec<String>,
    /// The flags that mean something else than in Gatekeeper, and the difference.
    pub differences: Vec<String>,
}

/// The flags that are refused, each with the reason: never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct FlagErrors(Vec<String>);

impl IntoIterator for FlagErrors {
    type Item = String;
    type IntoIter = std::vec::IntoIter<String>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Reads the arguments of a process. Those of other commands than `serve` stay as they are; Gatekeeper's manager has no
/// commands, so arguments that begin with one of its flags are those of `serve`.
///
/// # Errors
/// Every flag that is refused, with the reason.
pub fn translate(args: impl IntoIterator<Item = OsString>) -> Result<Arguments, FlagErrors> {
    let (read, errors) = read(args);
    if errors.is_empty() { Ok(read) } else { Err(FlagErrors(errors)) }
}

/// The same, with everything that can be said although some flags are refused.
pub(super) fn read(args: impl IntoIterator<Item = OsString>) -> (Arguments, Vec<String>) {
    let mut args: Vec<OsString> = args.into_iter().collect();
    if args.get(1).is_some_and(|first| known(first).is_some()) {
        args.insert(1, "serve".into());
    }
    let mut args = args.into_iter();
    let mut read = Arguments { args: args.by_ref().take(2).collect(), ..Arguments::default() };
    let mut errors = Vec::new();
    if read.args.get(1).is_none_or(|command| command != "serve") {
        read.args.extend(args);
        return (read, errors);
    }
    let (mut names_operations, mut names_collector) = (false, false);
    while let Some(arg) = args.next() {
        let Some((flag, value)) = known(&arg) else {
            read.args.push(arg);
            continue;
        };
        let value = value.or_else(|| flag.takes_next().then(|| args.next()?.into_string().ok()).flatten());
        names_operations |= flag.name == "operation";
        let is_collector = |value: &str| value.eq_ignore_ascii_case("opentelemetry");
        names_collector |= flag.name == "metrics-backend" && value.as_deref().is_some_and(is_collector);
        if let Err(reason) = read.add(flag, value.as_deref()) {
            errors.push(format!("--{}: {reason}", flag.name));
        }
    }
    let has = |flag: &str| {
        let is_it = |arg: &OsString| arg.to_str().is_some_and(|arg| arg.starts_with(flag));
        read.args.iter().any(is_it)
    };
    if names_operations && !has("--operation") {
        errors.push(format!("--operation: {MUTATION}, so that this process would do nothing"));
    }
    if names_collector && !has("--otlp-endpoint=") {
        let message = "--metrics-backend=opentelemetry sends nothing without --otlp-endpoint";
        read.differences.push(message.to_owned());
    }
    (read, errors)
}

/// The flag of Gatekeeper that an argument names, with the value behind `=`. Go takes one dash for two.
fn known(arg: &OsString) -> Option<(&'static Flag, Option<String>)> {
    let text = arg.to_str()?;
    let text = text.strip_prefix("--").or_else(|| text.strip_prefix('-'))?;
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    FLAGS.iter().find(|flag| flag.name == name).map(|flag| (flag, value))
}

impl Flag {
    /// Returns true if the value may be the next argument: not for switches, as in Go. A flag without effect is a switch if
    /// its name says so.
    pub fn takes_next(&self) -> bool {
        const SWITCHES: [&str; 11] = [
            "enable-",
            "emit-",
            "disable-enforcement",
            "log-stats",
            "log-mutations",
            "debug-",
            "default-create",
            "audit-from",
            "audit-match",
            "stackdriver-only",
            "mutation-annotations",
        ];
        let is_switch = SWITCHES.iter().any(|start| self.name.starts_with(start))
            || self.name.ends_with("-involved-namespace")
            || ["alsologtostderr", "logtostderr", "sync-vap-enforcement-scope"].contains(&self.name);
        !is_switch && !matches!(self.meaning, SameSwitch)
    }
}

impl Arguments {
    fn add(&mut self, flag: &Flag, value: Option<&str>) -> Result<(), String> {
        let is_off =
            value.is_some_and(|value| matches!(value, "" | "false" | "0" | "f" | "F" | "False" | "FALSE"));
        let is_on = value.is_none_or(|value| matches!(value, "true" | "1" | "t" | "T" | "True" | "TRUE"));
        match flag.meaning {
            SameSwitch if is_off => self.forget(flag.name),
            SameSwitch if !is_on => {
                return Err(format!("must be true or false, not {:?}", value.unwrap_or_default()));
            }
            SameSwitch => {
                self.forget(flag.name);
                self.args.push(format!("--{}", flag.name).into());
            }
            Same | SameBut { .. } => {
                let value = value.unwrap_or_default();
                if let SameBut { difference, concerns } = flag.meaning
                    && concerns(value)
                {
                    self.differences.push(format!("--{}: {difference}", flag.name));
                }
                self.forget(flag.name);
                self.pass(flag.name, value);
            }
            Translated { flag: ours, value: translate } => {
                let values = translate(value.unwrap_or_default())?;
                // `--metrics-backend` stands for the default of another flag, and does not take it back.
                if ours == flag.name || !values.is_empty() {
                    self.forget(ours);
                }
                values.iter().for_each(|value| self.pass(ours, value));
            }
            NoEffect(_) | OffOnly(_) if is_off => {}
            NoEffect(reason) => self.notes.push(format!("--{} has no effect: {reason}", flag.name)),
            OffOnly(reason) => return Err(reason.to_owned()),
        }
        Ok(())
    }

    /// Of a flag that is repeated the last value counts, as in Go, unless it is a list.
    fn forget(&mut self, flag: &str) {
        const LISTS: [&str; 4] =
            ["exempt-namespace", "exempt-namespace-prefix", "exempt-namespace-suffix", "operation"];
        let is_it = |arg: &OsString| {
            let name = arg.to_str().and_then(|arg| arg.strip_prefix("--")).unwrap_or_default();
            name.split('=').next() == Some(flag)
        };
        if !LISTS.contains(&flag) {
            self.args.retain(|arg| !is_it(arg));
        }
    }

    fn pass(&mut self, flag: &str, value: &str) {
        self.args.push(format!("--{flag}={value}").into());
    }
}

fn health_port(address: &str) -> Result<Vec<String>, String> {
    match address.rsplit_once(':') {
        Some((_, port)) if port.parse::<u16>().is_ok() => Ok(vec![port.to_owned()]),
        _ => Err(format!("write it as :9090, not {address:?}")),
    }
}

fn host(host: &str) -> Result<Vec<String>, String> {
    Ok(Some(host.to_owned()).filter(|host| !host.is_empty()).into_iter().collect())
}

fn log_level(level: &str) -> Result<Vec<String>, String> {
    match level.to_uppercase().as_str() {
        "DEBUG" => Ok(vec!["debug".to_owned()]),
        "INFO" => Ok(vec!["info".to_owned()]),
        "WARNING" | "WARN" => Ok(vec!["warn".to_owned()]),
        "ERROR" => Ok(vec!["error".to_owned()]),
        _ => Err(format!("must be DEBUG, INFO, WARNING or ERROR, not {level:?}")),
    }
}

/// Less than one stands for the number of cores.
fn threads(count: &str) -> Result<Vec<String>, String> {
    let is_default = count.parse::<i64>().is_ok_and(|count| count < 1);
    Ok(Some(count.to_owned()).filter(|_| !is_default).into_iter().collect())
}

/// -1 waits for ever for a policy that cannot be ingested, and so does `block`.
fn retries(count: &str) -> Result<Vec<String>, String> {
    Ok(vec![if count == "-1" { "block" } else { "ignore" }.to_owned()])
}

fn backend(name: &str) -> Result<Vec<String>, String> {
    match name.to_lowercase().as_str() {
        // Prometheus is always served; the collector is named by --otlp-endpoint.
        "prometheus" | "opentelemetry" => Ok(Vec::new()),
        _ => Err(format!("{STACKDRIVER}, not to {name:?}")),
    }
}

/// Maps an operation; leaves out what is about mutation alone.
fn operation(names: &str) -> Result<Vec<String>, String> {
    const OURS: [&str; 4] = ["audit", "generate", "status", "webhook"];
    const MUTATION_OPERATIONS: [&str; 3] = ["mutation-controller", "mutation-status", "mutation-webhook"];
    let is_known = |name: &&str| OURS.contains(name) || MUTATION_OPERATIONS.contains(name);
    if let Some(unknown) = names.split(',').find(|name| !is_known(name)) {
        return Err(format!(
            "must be one of {} or {}, not {unknown:?}",
            OURS.join(", "),
            MUTATION_OPERATIONS.join(", ")
        ));
    }
    Ok(names.split(',').filter(|name| OURS.contains(name)).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(args: &[&str]) -> Result<(Vec<String>, Vec<String>), Vec<String>> {
        let all = ["webtroller", "serve"].iter().chain(args).map(OsString::from);
        let Arguments { args, notes, .. } =
            translate(all).map_err(|errors| errors.into_iter().collect::<Vec<_>>())?;
        Ok((args.into_iter().skip(2).map(|arg| arg.into_string().unwrap()).collect(), notes))
    }

    #[test]
    fn arguments_without_a_command_are_those_of_gatekeepers_manager() {
        let words = |args: &[&str]| translate(args.iter().map(OsString::from)).unwrap().args;
        for port in ["--port=1", "-port=1"] {
            assert_eq!(words(&["webtroller", port]), ["webtroller", "serve", "--port=1"]);
        }
        for other in ["--help", "test", "--color=never", "-V"] {
            assert_eq!(words(&["webtroller", other]), ["webtroller", other]);
        }
        assert_eq!(words(&["webtroller"]), ["webtroller"]);
    }

    #[test]
    fn the_arguments_of_gatekeepers_manifest_are_taken() {
        let (args, notes) = read(&[
            "--port=8443",
            "--health-addr=:9090",
            "--prometheus-port=8888",
            "--logtostderr",
            "--log-denies=false",
            "--emit-admission-events=false",
            "-log-level=INFO",
            "--exempt-namespace=gatekeeper-system",
            "--operation=webhook,mutation-webhook,status",
            "--enable-external-data=true",
            "--disable-cert-rotation",
            "--max-serving-threads=-1",
            "--metrics-backend=prometheus",
            "--disable-opa-builtin={http.send}",
        ])
        .unwrap();
        assert_eq!(
            args,
            [
                "--port=8443",
                "--health-port=9090",
                "--prometheus-port=8888",
                "--log=info",
                "--exempt-namespace=gatekeeper-system",
                "--operation=webhook",
                "--operation=status",
                "--disable-cert-rotation"
            ]
        );
        assert_eq!(notes.len(), 3, "{notes:?}");
        assert!(notes[1].starts_with("--enable-external-data has no effect: "), "{notes:?}");
    }

    #[test]
    fn a_value_may_be_the_next_argument_and_own_flags_pass() {
        let (args, _) = read(&[
            "-port",
            "1",
            "--webhook-url-host",
            "a",
            "--log-denies",
            "--enable-mutation",
            "--host",
            "",
        ])
        .unwrap();
        assert_eq!(args, ["--port=1", "--webhook-url-host", "a", "--log-denies"]);
    }

    #[test]
    fn of_a_flag_that_is_repeated_the_last_value_counts() {
        let repeated = [
            "--port=1",
            "--port=2",
            "--log-denies",
            "--log-denies=false",
            "-disable-cert-rotation=false",
            "--disable-cert-rotation",
            "--disable-cert-rotation=true",
            "--max-serving-threads=4",
            "--max-serving-threads=-1",
            "--exempt-namespace=a",
            "--exempt-namespace=b",
        ];
        let (args, _) = read(&repeated).unwrap();
        let expected =
            ["--port=2", "--disable-cert-rotation", "--exempt-namespace=a", "--exempt-namespace=b"];
        assert_eq!(args, expected);
    }

    #[test]
    fn as_many_threads_as_cores_unless_there_is_a_number_of_them() {
        for count in ["-1", "0", "-7"] {
            assert_eq!(read(&[&format!("--max-serving-threads={count}")]).unwrap().0, [""; 0], "{count}");
        }
        assert_eq!(read(&["--max-serving-threads=3"]).unwrap().0, ["--max-serving-threads=3"]);
    }

    #[test]
    fn what_means_something_else_than_in_gatekeeper_is_said() {
        let differences = |args: &[&str]| {
            translate(["webtroller", "serve"].iter().chain(args).map(OsString::from)).unwrap().differences
        };
        assert_eq!(differences(&["--audit-interval=0"]), [format!("--audit-interval: {INTERVAL}")]);
        assert_eq!(differences(&["--audit-interval=60", "--constraint-violations-limit=1000"]), [""; 0]);
        let collector = "--metrics-backend=OpenTelemetry";
        assert_eq!(differences(&[collector]).len(), 1);
        for endpoint in [&["--otlp-endpoint=a:1"][..], &["--otlp-endpoint", "a:1"]] {
            assert_eq!(differences(&[&[collector], endpoint].concat()), [""; 0]);
        }
    }

    #[test]
    fn a_switch_is_on_or_off() {
        for on in ["--log-denies", "--log-denies=T", "--log-denies=1"] {
            assert_eq!(read(&[on]).unwrap().0, ["--log-denies"], "{on}");
        }
        assert_eq!(
            read(&["--log-denies=no"]).unwrap_err(),
            ["--log-denies: must be true or false, not \"no\""]
        );
    }

    #[test]
    fn all_refusals_are_told_at_once_and_other_commands_are_left_alone() {
        let refused =
            read(&["--enable-pprof", "--metrics-backend=stackdriver", "--operation=webhok"]).unwrap_err();
        assert_eq!(refused.len(), 4, "{refused:?}");
        // Without an operation a process does everything.
        assert_eq!(read(&["--operation=mutation-webhook"]).unwrap_err().len(), 1);
        let other = translate(["webtroller", "test", "--enable-pprof"].map(OsString::from)).unwrap();
        assert_eq!(other.args.len(), 3);
    }

    #[test]
    fn each_flag_is_in_the_table_once_and_in_order() {
        assert!(FLAGS.is_sorted_by_key(|flag| flag.name));
        assert!(FLAGS.windows(2).all(|pair| pair[0].name != pair[1].name));
    }
}
