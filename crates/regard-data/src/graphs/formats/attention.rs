//! The weights of attention along the edges of graphs, as a table: `graph,source,target,layer,head,weight`.

use std::io;
use std::path::Path;

use crate::graphs::Graphs;
use crate::table::write::{self, Cell, TableSource};
use crate::{Error, Result};

/// The weights of one layer along the edges of some graphs.
#[derive(Debug, Clone, Copy)]
pub struct LayerWeights<'w> {
    /// The graphs, in the order of the batch.
    pub graphs: &'w [usize],
    /// The layer, from 1.
    pub layer: usize,
    /// The number of heads.
    pub heads: usize,
    /// `[edges of those graphs, heads]`, row-major.
    pub weights: &'w [f32],
}

/// Writes weights of attention, a row for each edge, layer and head, as [`write::write`] does. Nodes have their names,
/// or their numbers in their graph from 0; heads are counted from 1.
///
/// # Errors
/// [`Error::Invalid`] when there are not as many weights as edges and heads, [`Error::Io`] when the file
/// cannot be written.
///
/// # Panics
/// If there is no such graph.
///
/// ```
/// use regard_data::graphs::formats::attention::{LayerWeights, write};
/// use regard_data::graphs::{Graph, Graphs, Kinds};
///
/// let mut graph = Graph::new("a", 2);
/// graph.add(1, 0, 0);
/// let graphs = Graphs::new(Kinds::default(), Kinds::default(), vec![graph])?;
/// let layer = LayerWeights { graphs: &[0], layer: 1, heads: 2, weights: &[0.25, 1.0] };
/// let path = std::env::temp_dir().join("regard-attention-example.csv");
/// write(&path, &graphs, &[layer])?;
/// let text = std::fs::read_to_string(&path).expect("was written");
/// assert_eq!(text, "graph,source,target,layer,head,weight\na,1,0,1,1,0.25\na,1,0,1,2,1\n");
/// # Ok::<(), regard_data::Error>(())
/// ```
pub fn write(path: impl AsRef<Path>, graphs: &Graphs, layers: &[LayerWeights<'_>]) -> Result<()> {
    for layer in layers {
        let edges: usize = layer.graphs.iter().map(|graph| graphs.edges_of(*graph).len()).sum();
        if edges.checked_mul(layer.heads) != Some(layer.weights.len()) {
            let reason =
                format!("has {} weights, expected {} for each of {edges} edges", layer.weights.len(), layer.heads);
            return Err(Error::invalid(format!("layer {}", layer.layer), reason));
        }
    }
    write::write(path, &Weights { graphs, layers })
}

struct Weights<'w> {
    graphs: &'w Graphs,
    layers: &'w [LayerWeights<'w>],
}

impl TableSource for Weights<'_> {
    fn columns(&self) -> Vec<String> {
        ["graph", "source", "target", "layer", "head", "weight"].map(str::to_owned).to_vec()
    }

    fn each_row(&self, visit: &mut dyn FnMut(&[Cell<'_>]) -> io::Result<()>) -> io::Result<()> {
        self.layers.iter().try_for_each(|layer| self.each_of_layer(layer, visit))
    }
}

impl Weights<'_> {
    fn each_of_layer(
        &self,
        layer: &LayerWeights<'_>,
        visit: &mut dyn FnMut(&[Cell<'_>]) -> io::Result<()>,
    ) -> io::Result<()> {
        let graphs = self.graphs;
        let mut weights = layer.weights.chunks_exact(layer.heads.max(1));
        for &graph in layer.graphs {
            let nodes = graphs.nodes_of(graph);
            let id = Cell::Text(&graphs.ids()[graph]);
            for node in nodes.clone() {
                let target = graphs.node_name(node);
                for source in graphs.sources_of(node) {
                    let source = graphs.node_name(nodes.start + *source as usize);
                    let ends = [Cell::Text(&source), Cell::Text(&target)];
                    for (head, weight) in weights.next().unwrap_or(&[]).iter().enumerate() {
                        let place = [Cell::Whole(layer.layer), Cell::Whole(head + 1)];
                        visit(&[id, ends[0], ends[1], place[0], place[1], Cell::Single(*weight)])?;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::{Graph, Kinds};

    #[test]
    fn weights_must_fit_the_edges() {
        let mut graph = Graph::new("a", 2);
        graph.join(0, 1, 0);
        let graphs = Graphs::new(Kinds::default(), Kinds::default(), vec![graph]).unwrap();
        let layer = LayerWeights { graphs: &[0], layer: 3, heads: 2, weights: &[1.0; 3] };
        let error = write("none.csv", &graphs, &[layer]).unwrap_err();
        assert_eq!(error.to_string(), "layer 3: has 3 weights, expected 2 for each of 2 edges");
    }
}
