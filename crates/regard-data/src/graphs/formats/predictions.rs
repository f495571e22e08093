//! What is predicted for graphs or their nodes, as CSV and JSON.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::file::write_atomic;
use crate::graphs::{Graphs, Level};
use crate::stats::largest;
use crate::table::write::quoted;
use crate::{Error, Result};

/// What is predicted for each graph, or each node.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicted {
    /// Numbers of one or more tasks.
    Numbers {
        /// Names of the tasks.
        tasks: Vec<String>,
        /// `[rows, tasks]`, row-major.
        values: Vec<f64>,
    },
    /// A probability for each class.
    Classes {
        /// Names of the classes.
        names: Vec<String>,
        /// `[rows, classes]`, row-major.
        probabilities: Vec<f64>,
    },
}

/// Predictions for graphs or their nodes, ready to be written.
///
/// ```
/// use regard_data::graphs::formats::predictions::{Predicted, Predictions};
/// use regard_data::graphs::{Graph, Graphs, Kinds, Level};
///
/// let graphs = Graphs::new(Kinds::default(), Kinds::default(), vec![Graph::new("a", 2)])?;
/// let predicted = Predicted::Numbers { tasks: vec!["y".into()], values: vec![0.5] };
/// let predictions = Predictions::new(&graphs, Level::Graph, predicted)?;
/// assert_eq!(predictions.csv(), "id,nodes,edges,y\na,2,0,0.5\n");
/// # Ok::<(), regard_data::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Predictions<'g> {
    graphs: &'g Graphs,
    level: Level,
    predicted: Predicted,
}

impl<'g> Predictions<'g> {
    /// Predictions for these graphs, or their nodes.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there are not as many as graphs or nodes, or no tasks or classes.
    pub fn new(graphs: &'g Graphs, level: Level, predicted: Predicted) -> Result<Self> {
        let rows = match level {
            Level::Graph => graphs.len(),
            Level::Node => graphs.nodes(),
        };
        let (found, width) = match &predicted {
            Predicted::Numbers { tasks, values } => (values.len(), tasks.len()),
            Predicted::Classes { names, probabilities } => (probabilities.len(), names.len()),
        };
        if width == 0 || rows.checked_mul(width) != Some(found) {
            let reason = format!("has {found} values, expected {width} for each of {rows} rows");
            return Err(Error::invalid("predictions", reason));
        }
        Ok(Self { graphs, level, predicted })
    }

    /// One line for each graph (`id,nodes,edges,...`) or each node (`graph,node,...`); then the number of
    /// each task, or the likeliest class and the probability of each.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut text = String::from(match self.level {
            Level::Graph => "id,nodes,edges",
            Level::Node => "graph,node",
        });
        match &self.predicted {
            Predicted::Numbers { tasks, .. } => {
                tasks.iter().for_each(|task| text.push_str(&format!(",{}", quoted(task))))
            }
            Predicted::Classes { names, .. } => {
                text.push_str(",prediction");
                names.iter().for_each(|name| text.push_str(&format!(",{}", quoted(&format!("p({name})")))));
            }
        }
        text.push('\n');
        for graph in 0..self.graphs.len() {
            let id = quoted(&self.graphs.ids()[graph]);
            match self.level {
                Level::Graph => {
                    let (nodes, edges) = (self.graphs.nodes_of(graph).len(), self.graphs.edges_of(graph).len());
                    let _ = write!(text, "{id},{nodes},{edges}");
                    self.write_row(graph, &mut text);
                }
                Level::Node => {
                    for node in self.graphs.nodes_of(graph) {
                        let _ = write!(text, "{id},{}", quoted(&self.graphs.node_name(node)));
                        self.write_row(node, &mut text);
                    }
                }
            }
        }
        text
    }

    fn write_row(&self, row: usize, text: &mut String) {
        let values = match &self.predicted {
            Predicted::Numbers { tasks, values } => &values[row * tasks.len()..(row + 1) * tasks.len()],
            Predicted::Classes { names, probabilities } => {
                let of_row = &probabilities[row * names.len()..(row + 1) * names.len()];
                text.push_str(&format!(",{}", quoted(&names[largest(of_row)])));
                of_row
            }
        };
        values.iter().for_each(|value| text.push_str(&format!(",{value}")));
        text.push('\n');
    }

    /// A list with an object for each graph: `id`, `nodes`, `edges` and what is predicted, or the list of
    /// its nodes with what is predicted for each. A number that is not finite is `null`.
    #[must_use]
    pub fn json(&self) -> Value {
        let one = |graph: usize| {
            let mut object = Map::new();
            object.insert("id".into(), json!(self.graphs.ids()[graph]));
            match self.level {
                Level::Graph => {
                    object.insert("nodes".into(), json!(self.graphs.nodes_of(graph).len()));
                    object.insert("edges".into(), json!(self.graphs.edges_of(graph).len()));
                    self.fill(graph, &mut object);
                }
                Level::Node => {
                    let node = |node: usize| {
                        let mut of_node = Map::new();
                        of_node.insert("node".into(), json!(self.graphs.node_name(node)));
                        self.fill(node, &mut of_node);
                        Value::Object(of_node)
                    };
                    object.insert("nodes".into(), self.graphs.nodes_of(graph).map(node).collect());
                }
            }
            Value::Object(object)
        };
        Value::Array((0..self.graphs.len()).map(one).collect())
    }

    fn fill(&self, row: usize, object: &mut Map<String, Value>) {
        match &self.predicted {
            Predicted::Numbers { tasks, values } if tasks.len() == 1 => {
                object.insert("prediction".into(), json!(values[row]));
            }
            Predicted::Numbers { tasks, values } => {
                let of_row = &values[row * tasks.len()..(row + 1) * tasks.len()];
                let by_name = tasks.iter().zip(of_row).map(|(task, value)| (task.clone(), json!(value)));
                object.insert("predictions".into(), Value::Object(by_name.collect()));
            }
            Predicted::Classes { names, probabilities } => {
                let of_row = &probabilities[row * names.len()..(row + 1) * names.len()];
                object.insert("prediction".into(), json!(names[largest(of_row)]));
                let by_name = names.iter().zip(of_row).map(|(name, p)| (name.clone(), json!(p)));
                object.insert("probabilities".into(), Value::Object(by_name.collect()));
            }
        }
    }

    /// Writes [`Predictions::csv`], under a temporary name first.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be written.
    pub fn write_csv(&self, path: impl AsRef<Path>) -> Result<()> {
        write_atomic(path, |w| w.write_all(self.csv().as_bytes()))
    }

    /// Writes [`Predictions::json`], under a temporary name first.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be written.
    pub fn write_json(&self, path: impl AsRef<Path>) -> Result<()> {
        let json = self.json();
        write_atomic(path, |w| writeln!(w, "{json}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::{Graph, Kinds};

    fn two() -> Graphs {
        let mut a = Graph::new("a,b", 2);
        a.join(0, 1, 0);
        Graphs::new(Kinds::default(), Kinds::default(), vec![a, Graph::new("c", 1)]).unwrap()
    }

    #[test]
    fn classes_of_nodes_are_written() {
        let graphs = two();
        let predicted = Predicted::Classes {
            names: vec!["x".into(), "y".into()],
            probabilities: vec![0.25, 0.75, 1.0, 0.0, 0.5, 0.5],
        };
        let predictions = Predictions::new(&graphs, Level::Node, predicted).unwrap();
        let expected = "graph,node,prediction,p(x),p(y)\n\"a,b\",0,y,0.25,0.75\n\"a,b\",1,x,1,0\nc,0,x,0.5,0.5\n";
        assert_eq!(predictions.csv(), expected);
        assert_eq!(predictions.json()[0]["nodes"][0]["probabilities"]["y"], 0.75);
    }

    #[test]
    fn numbers_of_graphs_are_written() {
        let graphs = two();
        let predicted =
            Predicted::Numbers { tasks: vec!["u".into(), "v".into()], values: vec![1.0, 2.0, 3.0, f64::NAN] };
        let predictions = Predictions::new(&graphs, Level::Graph, predicted).unwrap();
        assert_eq!(predictions.csv(), "id,nodes,edges,u,v\n\"a,b\",2,2,1,2\nc,1,0,3,NaN\n");
        assert!(predictions.json()[1]["predictions"]["v"].is_null());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.csv");
        predictions.write_csv(&path).unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), predictions.csv());
        let few = Predicted::Numbers { tasks: vec!["u".into()], values: vec![] };
        let error = Predictions::new(&graphs, Level::Graph, few).unwrap_err();
        assert_eq!(error.to_string(), "predictions: has 0 values, expected 1 for each of 2 rows");
    }
}
