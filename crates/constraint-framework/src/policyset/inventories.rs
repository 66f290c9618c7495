//! An inventory per target: the objects of one are not visible to the policies of another.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use crate::inventory::Inventory;

use super::compiled::CompiledTemplate;

/// The inventories by target. A clone shares their objects.
#[derive(Clone, Debug, Default)]
pub(super) struct Inventories(BTreeMap<Arc<str>, Inventory>);

impl Inventories {
    /// Returns the inventory of a target, with the indexes for its templates.
    pub(super) fn of(
        &mut self,
        target: &str,
        templates: &BTreeMap<String, CompiledTemplate>,
    ) -> &mut Inventory {
        self.0.entry(Arc::from(target)).or_insert_with_key(|target| {
            let mut inventory = Inventory::default();
            serve(target, &mut inventory, templates);
            inventory
        })
    }

    /// Returns the inventory of a target; an empty one where it has no objects.
    pub(super) fn get(&self, target: &str) -> &Inventory {
        static EMPTY: LazyLock<Inventory> = LazyLock::new(Inventory::default);
        self.0.get(target).unwrap_or(&EMPTY)
    }

    /// Keeps indexes for what these templates read, each in the inventory of its target.
    pub(super) fn serve(&mut self, templates: &BTreeMap<String, CompiledTemplate>) {
        for (target, inventory) in &mut self.0 {
            serve(target, inventory, templates);
        }
    }
}

fn serve(target: &str, inventory: &mut Inventory, templates: &BTreeMap<String, CompiledTemplate>) {
    let of_target = templates.values().filter(|template| template.target() == target);
    let readers: Vec<_> = of_target.flat_map(CompiledTemplate::reads).collect();
    inventory.serve(readers.into_iter());
}
