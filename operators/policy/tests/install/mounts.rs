//! Secrets as a kubelet mounts them: all files change at once, by a link that is replaced.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::Api;

use crate::helm::NAMESPACE;

/// The Secrets of one pod's volumes.
#[derive(Default)]
pub(crate) struct Mounts(Vec<Mount>);

struct Mount {
    secret: String,
    /// The path in the container.
    path: String,
    folder: PathBuf,
    version: Option<String>,
}

impl Mounts {
    pub(crate) fn of(pod: &Pod, folder: &Path) -> Self {
        let spec = pod.spec.as_ref().unwrap();
        let secret = |name: &str| {
            let mut volumes = spec.volumes.iter().flatten();
            volumes.find(|volume| volume.name == name)?.secret.as_ref()?.secret_name.clone()
        };
        let folder = folder.join(pod.metadata.uid.as_deref().unwrap());
        let mounts = spec.containers[0].volume_mounts.iter().flatten().filter_map(|mount| {
            let folder = folder.join(&mount.name);
            Some(Mount {
                secret: secret(&mount.name)?,
                path: mount.mount_path.clone(),
                folder,
                version: None,
            })
        });
        Self(mounts.collect())
    }

    /// Writes what has changed; false while a Secret does not exist, for which the kubelet waits.
    pub(crate) async fn follow(&mut self, client: &kube::Client) -> bool {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), NAMESPACE);
        for mount in &mut self.0 {
            match secrets.get_opt(&mount.secret).await.unwrap() {
                Some(secret) => mount.write(secret),
                None if mount.version.is_none() => return false,
                None => {}
            }
        }
        true
    }

    /// The arguments, with the paths of containers replaced by those on this machine.
    pub(crate) fn in_place(&self, args: Vec<String>) -> Vec<String> {
        let replace = |arg: String| {
            self.0.iter().fold(arg, |arg, mount| {
                arg.replace(&format!("={}", mount.path), &format!("={}", mount.folder.display()))
            })
        };
        args.into_iter().map(replace).collect()
    }
}

impl Mount {
    fn write(&mut self, secret: Secret) {
        let version = secret.metadata.resource_version;
        if version == self.version {
            return;
        }
        let fresh = self.folder.join(format!("..{}", version.as_deref().unwrap()));
        fs::create_dir_all(&fresh).unwrap();
        for (name, content) in secret.data.unwrap_or_default() {
            fs::write(fresh.join(&name), content.0).unwrap();
            let link = self.folder.join(&name);
            if !link.is_symlink() {
                symlink(Path::new("..data").join(&name), link).unwrap();
            }
        }
        let next = self.folder.join("..next");
        symlink(&fresh, &next).unwrap();
        fs::rename(next, self.folder.join("..data")).unwrap();
        self.version = version;
    }
}
