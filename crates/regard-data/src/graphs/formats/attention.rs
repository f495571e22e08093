//! How much each node looks at its neighbours, as CSV: `graph,source,target,layer,head,weight`.

use std::io::{self, Write};
use std::path::Path;

use crate::file::write_atomic;
use crate::graphs::Graphs;
use crate::table::write::quoted;
use crate::{Error, Result};

/// The weights of one layer along the edges of some graphs.
#[derive(Debug, Clone, Copy)]
pub struct LayerWeights<'w> {
    /// The graphs, in the order of the batch.
    pub graphs: &'w [usize],
    /// The layer, from 1.
    pub layer: usize,
    /// How many heads there are.
    pub heads: usize,
    /// `[edges of those graphs, heads]`, row-major.
    pub weights: &'w [f32],
}

/// Writes weights of attention, a line for each edge, layer and head, under a temporary name first. Nodes
/// have their names, or their numbers in their graph from 0; heads are counted from 1.
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
    write_atomic(path, |w| {
        writeln!(w, "graph,source,target,layer,head,weight")?;
        layers.iter().try_for_each(|layer| write_layer(w, graphs, layer))
    })
}

fn write_layer(w: &mut dyn Write, graphs: &Graphs, layer: &LayerWeights<'_>) -> io::Result<()> {
    let mut weights = layer.weights.chunks_exact(layer.heads.max(1));
    for &graph in layer.graphs {
        let nodes = graphs.nodes_of(graph);
        let id = quoted(&graphs.ids()[graph]);
        for node in nodes.clone() {
            let target = quoted(&graphs.node_name(node));
            for source in graphs.sources_of(node) {
                let source = quoted(&graphs.node_name(nodes.start + *source as usize));
                let of_edge = weights.next().unwrap_or(&[]);
                for (head, weight) in of_edge.iter().enumerate() {
                    writeln!(w, "{id},{source},{target},{},{},{weight}", layer.layer, head + 1)?;
                }
            }
        }
    }
    Ok(())
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
