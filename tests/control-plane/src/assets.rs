//! The place of the programs: `$KUBEBUILDER_ASSETS`, or built by [`crate::build`] into the target folder.
//!
//! It looks for files and never starts them.

use std::path::{Path, PathBuf};

use crate::{Error, build};

const PROGRAMS: [&str; 4] = ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"];

/// A folder that holds all the programs.
#[derive(Clone, Debug)]
pub(crate) struct Assets {
    folder: PathBuf,
}

// === impl Assets ===

impl Assets {
    /// Finds the programs, building them first where nothing was prepared.
    ///
    /// Blocks for minutes on the first run on a machine.
    pub(crate) fn locate() -> Result<Self, Error> {
        match std::env::var_os("KUBEBUILDER_ASSETS").filter(|folder| !folder.is_empty()) {
            Some(folder) => Self::in_folder(absolute(PathBuf::from(folder))),
            None => Self::in_folder(build::once(&target_folder())?),
        }
    }

    fn in_folder(folder: PathBuf) -> Result<Self, Error> {
        let missing: Vec<_> =
            PROGRAMS.into_iter().filter(|program| !folder.join(program).is_file()).collect();
        if missing.is_empty() {
            Ok(Self { folder })
        } else {
            Err(Error::AssetsIncomplete { folder, missing })
        }
    }

    pub(crate) fn into_folder(self) -> PathBuf {
        self.folder
    }

    pub(crate) fn etcd(&self) -> PathBuf {
        self.folder.join("etcd")
    }

    pub(crate) fn api_server(&self) -> PathBuf {
        self.folder.join("kube-apiserver")
    }

    pub(crate) fn controller_manager(&self) -> PathBuf {
        self.folder.join("kube-controller-manager")
    }

    pub(crate) fn kubectl(&self) -> PathBuf {
        self.folder.join("kubectl")
    }
}

/// The components run in a folder of their own, where a relative path leads nowhere.
fn absolute(folder: PathBuf) -> PathBuf {
    std::path::absolute(&folder).unwrap_or(folder)
}

/// Cargo's target folder: the nearest one above this executable that Cargo has tagged, which is right
/// however the folder was configured; else (a doctest runs from elsewhere) what Cargo's own rules say.
fn target_folder() -> PathBuf {
    let running = std::env::current_exe().unwrap_or_default();
    let tagged = running.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    match (tagged, std::env::var_os("CARGO_TARGET_DIR").filter(|folder| !folder.is_empty())) {
        (Some(tagged), _) => tagged.to_path_buf(),
        (None, Some(configured)) => absolute(workspace.join(configured)),
        (None, None) => absolute(workspace.join("target")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_some_programs_names_all_of_them() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("etcd"), "").unwrap();
        std::fs::write(folder.path().join("kubectl"), "").unwrap();
        let error = Assets::in_folder(folder.path().to_path_buf()).unwrap_err();
        let Error::AssetsIncomplete { missing, .. } = error else { panic!("{error}") };
        assert_eq!(missing, ["kube-apiserver", "kube-controller-manager"]);
    }

    #[test]
    fn a_complete_folder_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        for program in PROGRAMS {
            std::fs::write(folder.path().join(program), "").unwrap();
        }
        let assets = Assets::in_folder(folder.path().to_path_buf()).unwrap();
        assert_eq!(assets.kubectl(), folder.path().join("kubectl"));
    }

    #[test]
    fn the_target_folder_is_the_one_this_test_was_built_into() {
        let running = std::env::current_exe().unwrap();
        assert!(running.starts_with(target_folder()), "{}", target_folder().display());
    }
}
