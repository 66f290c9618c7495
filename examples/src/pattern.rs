//! The parts that each pattern brings, and the `main` that all patterns share.

use std::future::Future;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use clap::Parser;
use controller_declaration::Declaration;
use futures::future::try_join_all;
use http::{HeaderName, HeaderValue};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Config;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::failpoint::Fault;
use crate::output::print;
use crate::{Arguments, Cluster, Demo, rights, trace};

/// Time to finish what was begun, when the process is asked to end: what a kubelet gives.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(30);

/// A pattern: its controllers, by role, and its demo.
pub trait Pattern {
    /// The controllers; without arguments the program runs all of them.
    const ROLES: &'static [&'static str];

    /// The definitions of all kinds of the pattern.
    ///
    /// # Errors
    ///
    /// When the API server would refuse one.
    fn definitions(namespace: &str) -> Result<Vec<CustomResourceDefinition>>;

    /// Returns what each role does in the cluster. In a demo it has the rights that it declares, and no others.
    fn declarations(namespace: &str) -> Vec<Declaration>;

    /// Runs a controller until it is dropped.
    fn control(
        role: String,
        options: Vec<String>,
        cluster: Cluster,
    ) -> impl Future<Output = Result<()>> + Send;

    /// Does what users do, and waits for what the controllers make of it.
    fn run_demo(demo: &mut Demo) -> impl Future<Output = Result<()>> + Send;
}

/// The `main` of a pattern.
///
/// # Errors
///
/// The error, for the terminal; the exit code is 1 then.
pub async fn run<P: Pattern>() -> Result<()> {
    let arguments = Arguments::parse();
    let namespace = &arguments.namespace;
    if arguments.definitions {
        let texts = P::definitions(namespace)?.iter().map(rights::yaml).collect::<Result<Vec<_>>>()?;
        print(texts.join("---\n").trim_end());
        return Ok(());
    }
    if arguments.declared.print(&P::declarations(namespace), namespace)? {
        return Ok(());
    }
    let provider = trace::provider(arguments.role.as_deref().unwrap_or("demo"));
    trace::install(&provider)?;
    let ended = begin::<P>(&arguments).await;
    trace::shut_down(provider).await;
    ended
}

/// The error of a role that the pattern does not have.
#[must_use]
pub fn no_role<P: Pattern>(role: &str) -> anyhow::Error {
    anyhow!("there is no role {role}: the roles are {}", P::ROLES.join(", "))
}

/// Runs the demo, or controllers.
async fn begin<P: Pattern>(arguments: &Arguments) -> Result<()> {
    if arguments.demo {
        let mut demo = Demo::begin(arguments).await?;
        let interrupted = asked_to_end()?;
        let ended = async {
            rights::grant(demo.cluster(), &P::declarations(&arguments.namespace)).await?;
            P::run_demo(&mut demo).await?;
            demo.thaw().await;
            demo.check_roles()
        };
        let ended = tokio::select! {
            ended = ended => ended,
            () = interrupted => Err(anyhow!("the demo was interrupted")),
        };
        demo.end(P::ROLES).await;
        return ended.inspect(|()| print("\nThe end."));
    }
    control::<P>(arguments).await
}

/// Runs one role or all of them, until the process is asked to end.
async fn control<P: Pattern>(arguments: &Arguments) -> Result<()> {
    let asked = asked_to_end()?;
    let mut config = Config::infer().await.context("no cluster: set KUBECONFIG, or add `-- --demo`")?;
    if let Some(user) = &arguments.impersonate {
        config.headers.push((HeaderName::from_static("impersonate-user"), HeaderValue::try_from(user)?));
    }
    let shutdown = CancellationToken::new();
    let fault = arguments.kill_after.map(Fault::KillAfter);
    let fault = fault.or(arguments.freeze_before.map(Fault::FreezeBefore));
    let fault = fault.or(arguments.freeze_before_delete.then_some(Fault::FreezeBeforeDelete));
    let connect = |role: &str| {
        let cluster = Cluster::connect(config.clone(), &arguments.namespace, role, fault);
        cluster.map(|cluster| Cluster { shutdown: shutdown.clone(), ..cluster })
    };
    let control = async {
        if let Some(role) = arguments.role.clone() {
            return P::control(role.clone(), arguments.options.clone(), connect(&role)?).await;
        }
        connect("install")?.install(&P::definitions(&arguments.namespace)?).await?;
        let control = |role: &&str| anyhow::Ok(P::control((*role).to_owned(), Vec::new(), connect(role)?));
        try_join_all(P::ROLES.iter().map(control).collect::<Result<Vec<_>>>()?).await.map(drop)
    };
    let gracefully = async {
        let mut control = std::pin::pin!(control);
        tokio::select! {
            ended = &mut control => return ended,
            () = asked => {}
        }
        shutdown.cancel();
        // A role that serves requests answers those that have begun, a controller ends its reconciliations.
        timeout(SHUTDOWN_TIMEOUT, control).await.unwrap_or(Ok(()))
    };
    tokio::select! {
        ended = gracefully => ended,
        // Its API server may be gone, and what was begun does not matter.
        () = detached(arguments.attached) => Ok(()),
    }
}

/// Ends when a kubelet asks the process to end, or a user with Ctrl-C. From the call on, neither kills it.
fn asked_to_end() -> std::io::Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Returns when the demo that started this process has ended, and standard input with it.
async fn detached(attached: bool) {
    if !attached {
        std::future::pending::<()>().await;
    }
    let (open, ended) = oneshot::channel::<()>();
    // A thread of its own: the runtime would not end before one of its threads that reads.
    std::thread::spawn(move || {
        let _end = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        drop(open);
    });
    let _dropped = ended.await;
}
