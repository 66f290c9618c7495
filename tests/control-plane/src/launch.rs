//! The command lines: who listens where, with which certificate, and writes what.
//!
//! It prepares files and flags once per start; it runs nothing. A component that is stopped and started
//! again gets the same command line, and so the same port and data.

use std::fs;
use std::path::{Path, PathBuf};

use crate::assets::Assets;
use crate::certificate::{Authority, Identity, TokenKeys};
use crate::{Component, Error, Options, port};

/// The commands that start each component, and where everything is.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) folder: PathBuf,
    pub(crate) kubeconfig: PathBuf,
    assets: Assets,
    etcd: Endpoint,
    api_server: Endpoint,
    controller_manager: Endpoint,
}

/// A command line and the address it serves.
#[derive(Debug)]
struct Endpoint {
    url: String,
    flags: Vec<String>,
}

/// The values that the flags of all components are made from.
struct Prepared<'a> {
    folder: &'a Path,
    authority: PathBuf,
    server: Identity,
    admin: Identity,
    token_keys: TokenKeys,
    urls: Urls,
    options: &'a Options,
}

struct Urls {
    etcd: String,
    etcd_peer: String,
    api_server: String,
    controller_manager: String,
}

// === impl Launch ===

impl Launch {
    /// Chooses ports and writes certificates, kubeconfigs and the audit policy into `folder`.
    pub(crate) fn prepare(
        folder: &Path,
        authority: &Authority,
        assets: Assets,
        options: &Options,
    ) -> Result<Self, Error> {
        let urls = Urls::choose()?;
        let admin = authority.client("admin", "admin", Some("system:masters"))?;
        let controllers = authority.client("controllers", "system:kube-controller-manager", None)?;
        let kubeconfig = write_kubeconfig(folder, "kubeconfig", &urls.api_server, authority, &admin)?;
        write_kubeconfig(folder, "controllers.kubeconfig", &urls.api_server, authority, &controllers)?;
        write(&folder.join("audit-policy"), &options.audit_policy)?;
        let prepared = Prepared {
            folder,
            authority: authority.certificate(),
            server: authority.server()?,
            admin,
            token_keys: authority.token_keys()?,
            urls,
            options,
        };
        Ok(prepared.into_launch(kubeconfig, assets))
    }

    pub(crate) fn program(&self, component: Component) -> PathBuf {
        match component {
            Component::Etcd => self.assets.etcd(),
            Component::ApiServer => self.assets.api_server(),
            Component::ControllerManager => self.assets.controller_manager(),
        }
    }

    pub(crate) fn kubectl(&self) -> PathBuf {
        self.assets.kubectl()
    }

    pub(crate) fn flags(&self, component: Component) -> &[String] {
        &self.endpoint(component).flags
    }

    pub(crate) fn url(&self, component: Component) -> &str {
        &self.endpoint(component).url
    }

    pub(crate) fn log(&self, component: Component) -> PathBuf {
        self.folder.join(format!("{component}.log"))
    }

    pub(crate) fn audit_log(&self) -> PathBuf {
        audit_log(&self.folder)
    }

    fn endpoint(&self, component: Component) -> &Endpoint {
        match component {
            Component::Etcd => &self.etcd,
            Component::ApiServer => &self.api_server,
            Component::ControllerManager => &self.controller_manager,
        }
    }
}

// === impl Urls ===

impl Urls {
    fn choose() -> Result<Self, Error> {
        let [etcd, etcd_peer, api_server, controller_manager] =
            port::free::<4>()?.map(|port| format!("https://127.0.0.1:{port}"));
        Ok(Self { etcd, etcd_peer, api_server, controller_manager })
    }
}

// === impl Prepared ===

impl Prepared<'_> {
    fn into_launch(self, kubeconfig: PathBuf, assets: Assets) -> Launch {
        let (etcd, api_server) = (self.etcd(), self.api_server());
        let controller_manager = self.controller_manager();
        Launch {
            folder: self.folder.to_path_buf(),
            kubeconfig,
            assets,
            etcd: Endpoint { url: self.urls.etcd, flags: etcd },
            api_server: Endpoint { url: self.urls.api_server, flags: api_server },
            controller_manager: Endpoint { url: self.urls.controller_manager, flags: controller_manager },
        }
    }

    fn etcd(&self) -> Vec<String> {
        let Urls { etcd, etcd_peer, .. } = &self.urls;
        let [authority, certificate, key] = self.server_files();
        vec![
            "--name=default".to_owned(),
            format!("--data-dir={}", self.folder.join("etcd").display()),
            format!("--listen-client-urls={etcd}"),
            format!("--advertise-client-urls={etcd}"),
            format!("--listen-peer-urls={etcd_peer}"),
            format!("--initial-advertise-peer-urls={etcd_peer}"),
            format!("--initial-cluster=default={etcd_peer}"),
            format!("--cert-file={certificate}"),
            format!("--key-file={key}"),
            format!("--trusted-ca-file={authority}"),
            "--client-cert-auth".to_owned(),
            format!("--peer-cert-file={certificate}"),
            format!("--peer-key-file={key}"),
            format!("--peer-trusted-ca-file={authority}"),
            "--peer-client-cert-auth".to_owned(),
            // What is lost when the machine loses power is a test's temporary folder.
            "--unsafe-no-fsync".to_owned(),
            "--log-level=warn".to_owned(),
        ]
    }

    fn api_server(&self) -> Vec<String> {
        let [authority, certificate, key] = self.server_files();
        let (etcd_certificate, etcd_key) = (self.admin.certificate.display(), self.admin.key.display());
        let mut flags = vec![
            format!("--etcd-servers={}", self.urls.etcd),
            format!("--etcd-cafile={authority}"),
            format!("--etcd-certfile={etcd_certificate}"),
            format!("--etcd-keyfile={etcd_key}"),
            "--bind-address=127.0.0.1".to_owned(),
            // No client reaches this server through its Service: there is no kube-proxy.
            "--advertise-address=127.0.0.1".to_owned(),
            "--endpoint-reconciler-type=none".to_owned(),
            format!("--secure-port={}", port_of(&self.urls.api_server)),
            format!("--tls-cert-file={certificate}"),
            format!("--tls-private-key-file={key}"),
            format!("--client-ca-file={authority}"),
            "--authorization-mode=RBAC".to_owned(),
            "--allow-privileged=true".to_owned(),
            "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local".to_owned(),
            format!("--service-account-key-file={}", self.token_keys.public.display()),
            format!("--service-account-signing-key-file={}", self.token_keys.private.display()),
            format!("--audit-policy-file={}", self.folder.join("audit-policy").display()),
            format!("--audit-log-path={}", audit_log(self.folder).display()),
            // The line is in the file before the answer ends, so a test need not wait for it.
            "--audit-log-mode=blocking-strict".to_owned(),
            // In MB. By default it begins a new file after 100 of them, and a test would miss what the former one has.
            "--audit-log-maxsize=10000".to_owned(),
            // Else it waits for its clients to close their watches, for up to a minute, whenever a test restarts it.
            "--shutdown-watch-termination-grace-period=1s".to_owned(),
        ];
        flags.extend(self.options.api_server_flags.iter().cloned());
        flags
    }

    fn controller_manager(&self) -> Vec<String> {
        let [authority, certificate, key] = self.server_files();
        let kubeconfig = self.folder.join("controllers.kubeconfig");
        let mut flags = vec![
            format!("--kubeconfig={}", kubeconfig.display()),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={}", port_of(&self.urls.controller_manager)),
            format!("--tls-cert-file={certificate}"),
            format!("--tls-private-key-file={key}"),
            "--leader-elect=false".to_owned(),
            "--use-service-account-credentials=true".to_owned(),
            format!("--service-account-private-key-file={}", self.token_keys.private.display()),
            format!("--root-ca-file={authority}"),
            // Tests create and delete faster than people do.
            "--kube-api-qps=200".to_owned(),
            "--kube-api-burst=400".to_owned(),
        ];
        flags.extend(self.options.controller_manager_flags.iter().cloned());
        flags
    }

    /// The authority, the server certificate and its key, as flags want them.
    fn server_files(&self) -> [std::path::Display<'_>; 3] {
        [self.authority.display(), self.server.certificate.display(), self.server.key.display()]
    }
}

fn audit_log(folder: &Path) -> PathBuf {
    folder.join("audit.log")
}

fn port_of(url: &str) -> &str {
    url.rsplit(':').next().unwrap_or_default()
}

/// JSON is YAML, so every client reads it.
fn write_kubeconfig(
    folder: &Path,
    file: &str,
    server: &str,
    authority: &Authority,
    user: &Identity,
) -> Result<PathBuf, Error> {
    let kubeconfig = serde_json::json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "control-plane", "cluster": {
            "server": server, "certificate-authority": authority.certificate(),
        }}],
        "users": [{"name": "user", "user": {
            "client-certificate": user.certificate, "client-key": user.key,
        }}],
        "contexts": [{"name": "default", "context": {"cluster": "control-plane", "user": "user"}}],
        "current-context": "default",
    });
    let path = folder.join(file);
    write(&path, &format!("{kubeconfig:#}"))?;
    Ok(path)
}

fn write(path: &Path, content: &str) -> Result<(), Error> {
    fs::write(path, content).map_err(Error::io(format!("write {}", path.display())))
}
