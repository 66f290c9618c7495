//! The places where a program reads `data`, while it is scanned, and the joins that hold for each of them.

use super::{DataAccess, Join, Segment};

#[derive(Default)]
pub(super) struct Accesses {
    all: Vec<DataAccess>,
    /// The bodies the accesses were made in; only equations in the same body count.
    made_in: Vec<usize>,
}

impl Accesses {
    /// Adds an access and returns its number.
    pub(super) fn add(&mut self, path: Vec<Segment>, body: usize) -> usize {
        let access = self.all.len();
        self.all.push(DataAccess { path, joins: Vec::new() });
        self.made_in.push(body);
        access
    }

    /// Adds an access to everything. It is made in no body, so that no equation narrows it.
    pub(super) fn add_everything(&mut self) {
        self.add(Vec::new(), 0);
    }

    pub(super) fn is_made_in(&self, access: usize, body: usize) -> bool {
        self.made_in.get(access) == Some(&body)
    }

    pub(super) fn join(&mut self, access: usize, join: Join) {
        if let Some(access) = self.all.get_mut(access) {
            access.joins.push(join);
        }
    }

    /// Widens all accesses to what is known where nothing is known of the input.
    pub(super) fn forget_input(&mut self) {
        for access in &mut self.all {
            access.joins.clear();
            for segment in &mut access.path {
                if matches!(segment, Segment::Input(_)) {
                    *segment = Segment::Any;
                }
            }
        }
    }

    /// Leaves the joins that compare values themselves.
    pub(super) fn forget_functions(&mut self) {
        for access in &mut self.all {
            access.joins.retain(|join| join.data.function.is_none() && join.input.function.is_none());
        }
    }

    /// Returns each access once, in order.
    pub(super) fn into_sorted(mut self) -> Vec<DataAccess> {
        self.all.sort();
        self.all.dedup();
        self.all
    }
}
