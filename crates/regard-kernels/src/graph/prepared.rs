//! Inputs of edge attention in the kernel layout.

use super::{
    EdgeList, Inputs, Layer,
    lanes::Lanes,
    rows::{Laid, of_nodes},
    scores::View,
};
use crate::simd;

/// Queries, keys and values in the kernel layout.
pub(super) struct Prepared<'a> {
    pub(super) lanes: Lanes,
    nodes: [Laid<'a>; 3],
}

impl<'a> Prepared<'a> {
    pub(super) fn of(layer: &Layer, graph: &EdgeList, inputs: &Inputs<'a>) -> Self {
        let lanes = Lanes::of(layer, simd::lanes());
        let nodes = of_nodes(inputs, layer.width).map(|rows| Laid::of(&lanes, rows, graph.nodes()));
        Self { lanes, nodes }
    }

    pub(super) fn view<'s>(&'s self, layer: &'s Layer, graph: &'s EdgeList, inputs: &Inputs<'s>) -> View<'s> {
        let [query, key, value] = self.nodes.each_ref().map(Laid::rows);
        let Inputs { edge, bias, .. } = *inputs;
        View { layer, lanes: &self.lanes, query, key, value, sources: graph.sources(), edge, bias }
    }
}
