//! Types of nodes that are rare in training, or were not there.

use super::{Graphs, Skipped, unseen_type};
use crate::{Error, Result};

impl Graphs {
    /// The same graphs where types that fewer than `least` nodes of the graphs `among` have become the one
    /// type `other`, so that something is learnt for what is rare and [`Graphs::align`] can take it for what
    /// is new. Graphs stay as they are where `among` has no node of a rare type: nothing would be learnt.
    ///
    /// # Panics
    /// If there is no graph of `among`.
    #[must_use]
    pub fn with_rare_nodes_as(mut self, other: &str, among: &[usize], least: usize) -> Self {
        let Some(types) = self.node_features.types() else { return self };
        let names = self.node_features.type_names();
        let mut counts = vec![0usize; names.len()];
        among.iter().flat_map(|&graph| self.nodes_of(graph)).for_each(|node| counts[types[node] as usize] += 1);
        let often = |kind: usize| counts[kind] >= least && names[kind] != other;
        if (0..names.len()).all(|kind| often(kind) || counts[kind] == 0) {
            return self;
        }
        let (mut kept, mut places) = (Vec::new(), vec![None; names.len()]);
        for kind in (0..names.len()).filter(|&kind| often(kind)) {
            places[kind] = Some(kept.len());
            kept.push(names[kind].clone());
        }
        let last = kept.len();
        kept.push(other.to_owned());
        self.node_features.types.iter_mut().for_each(|kind| *kind = places[*kind as usize].unwrap_or(last) as u32);
        self.node_features.kinds.types = kept;
        self
    }

    /// Without the graphs that have a node of a type that is none of `known`, where there are any; they
    /// count as [skipped](Graphs::skipped).
    ///
    /// # Errors
    /// [`Error::Parse`] when no graph is left.
    pub fn without_unseen_nodes(self, known: &[String]) -> Result<Self> {
        let mut left_out: Vec<(usize, String)> = Vec::new();
        for node in self.unseen_nodes(known) {
            let graph = self.graph_of(node);
            if left_out.last().is_none_or(|(last, _)| *last != graph) {
                let place = format!("{} {}", self.node_word(), node - self.node_offsets[graph] + 1);
                let kind = self.node_features.types[node] as usize;
                left_out.push((graph, unseen_type(&place, &self.node_features.type_names()[kind])));
            }
        }
        if left_out.is_empty() || known.is_empty() {
            return Ok(self);
        }
        if left_out.len() == self.len() {
            let reason = "has no graph whose types of nodes were all there in training";
            return Err(Error::parse(&self.origin.path, 0, reason));
        }
        let stays = |graph: &usize| left_out.binary_search_by_key(graph, |(graph, _)| *graph).is_err();
        let mut rest = self.select(&(0..self.len()).filter(stays).collect::<Vec<usize>>());
        let skipped = left_out.into_iter().map(|(graph, reason)| {
            // Graphs that were made are counted.
            Skipped { line: self.line(graph).unwrap_or(graph + 1), reason }
        });
        rest.origin.skipped.extend(skipped);
        rest.origin.skipped.sort_by_key(|row| row.line);
        Ok(rest)
    }
}
