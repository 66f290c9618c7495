//! A catalogue and the files that it names: a folder, or an OCI image. Nothing else is downloaded.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::cli::{Manifest, load_file, load_image};

use super::model::{Catalog, KIND};

const FILE: &str = "catalog.yaml";

/// A catalogue with its files.
#[derive(Debug)]
pub(super) struct Library {
    pub(super) catalog: Catalog,
    files: Files,
}

#[derive(Debug)]
enum Files {
    Folder(PathBuf),
    /// The manifests of an image, and the folder of its catalogue.
    Image(PathBuf, Vec<Manifest>),
}

impl Library {
    /// Reads a catalogue: its file, the folder that holds it, or an image.
    ///
    /// # Errors
    /// There is none, or it is not one.
    pub(super) fn open(name: &str) -> Result<Self, String> {
        let path = Path::new(name);
        if path.join("oci-layout").is_file() || (!path.exists() && name.contains(':')) {
            return Self::of_image(name);
        }
        let file = if path.is_dir() { path.join(FILE) } else { path.to_owned() };
        if !file.exists() {
            return Err(format!(
                "{}: there is no catalogue; name one with --catalog, or write one with `webtroller policy generate-catalog`",
                file.display()
            ));
        }
        let found = load_file(&file).map_err(|error| error.to_string())?;
        let catalog = read(&file, found.iter().map(|manifest| &manifest.object))?;
        Ok(Self { catalog, files: Files::Folder(file.parent().unwrap_or(Path::new("")).to_owned()) })
    }

    fn of_image(name: &str) -> Result<Self, String> {
        let manifests = load_image(name).map_err(|error| error.to_string())?;
        let is_catalog = |manifest: &&Manifest| manifest.object.get("kind").is_some_and(|kind| kind == KIND);
        let found: Vec<_> = manifests.iter().filter(is_catalog).collect();
        let [one] = found.as_slice() else {
            return Err(format!("{name}: holds {} catalogues; it must be one", found.len()));
        };
        let (path, object) = (one.path.clone(), one.object.clone());
        let catalog = read(&path, std::iter::once(&object))?;
        Ok(Self {
            catalog,
            files: Files::Image(path.parent().unwrap_or(Path::new("")).to_owned(), manifests),
        })
    }

    /// The object in a file that the catalogue names.
    ///
    /// # Errors
    /// The file is elsewhere, cannot be read, or does not hold one object.
    pub(super) fn object(&self, path: &str) -> Result<Value, String> {
        let inside = inside(path)?;
        let mut objects: Vec<_> = match &self.files {
            Files::Folder(folder) => {
                let found = load_file(&folder.join(inside)).map_err(|error| error.to_string())?;
                found.into_iter().map(|manifest| manifest.object).collect()
            }
            Files::Image(folder, manifests) => {
                let file = folder.join(inside);
                let of_file = manifests.iter().filter(|manifest| manifest.path == file);
                of_file.map(|manifest| manifest.object.clone()).collect()
            }
        };
        match (objects.pop(), objects.is_empty()) {
            (Some(object), true) => Ok(object),
            (found, _) => {
                let count = objects.len().saturating_add(found.iter().count());
                Err(format!("{path}: must hold one object, and holds {count}"))
            }
        }
    }
}

fn read<'a>(path: &Path, objects: impl Iterator<Item = &'a Value>) -> Result<Catalog, String> {
    let objects: Vec<_> = objects.collect();
    let refused = |reason: String| format!("{}: not a catalogue: {reason}", path.display());
    let [object] = objects.as_slice() else {
        return Err(refused(format!("it holds {} documents", objects.len())));
    };
    let catalog: Catalog =
        serde_json::from_value((*object).clone()).map_err(|error| refused(error.to_string()))?;
    let errors = catalog.head_errors();
    if errors.is_empty() { Ok(catalog) } else { Err(refused(errors.join("; "))) }
}

/// A path below the catalogue's folder: what a catalogue names is read with the rights of the user who installs it.
fn inside(path: &str) -> Result<&Path, String> {
    if path.contains("://") {
        return Err(format!(
            "{path}: nothing is downloaded; fetch the catalogue with its files, and generate it without --base-url"
        ));
    }
    let stays = |component| matches!(component, Component::Normal(_) | Component::CurDir);
    if path.is_empty() || !Path::new(path).components().all(stays) {
        return Err(format!("{path:?} leads out of the catalogue's folder"));
    }
    Ok(Path::new(path))
}
