//! `--attribution` of `regard predict` and `regard forecast`.

use std::io;

use regard::data::table::write::{Cell, TableSource};
use regard::explain::attribution::{Attribution, AttributionMethod, Faithfulness};
use regard::graphs::attribution::GraphAttribution;
use regard::series::attribution::SeriesAttribution;
use serde_json::{Map, Value, json};

use crate::report::Printer;
use crate::report::progress::{Done, StageProgress};

/// The rank correlation of attribution and attention weights below which they are said to disagree.
const AGREEMENT: f64 = 0.5;
/// The completeness error above which more steps are recommended.
const COMPLETE: f64 = 0.02;

/// The part of the answer that is attributed, in words.
pub(super) fn part(network_has_no_weight: bool, blended: bool) -> &'static str {
    match (network_has_no_weight, blended) {
        (true, _) => "the base learners, which have all weight in the answer",
        (false, true) => "the network, which is one part of the answer (--only base attributes the base learners)",
        (false, false) => "the network",
    }
}

/// Shows how much of an attribution is computed, until it is dropped.
pub(super) fn progress(printer: &Printer) -> impl Fn(usize, usize) {
    let shown = StageProgress::new(printer);
    move |done, of| shown.show(Done { stage: "attribution", done, of, what: "changed inputs", limit: None })
}

/// Says what was attributed, how faithful and complete it is, and whether attention weights agree. `of_trees` says that
/// trees are attributed.
pub(super) fn report(method: AttributionMethod, what: &str, all: &[&Attribution], of_trees: bool, printer: &Printer) {
    printer.note(&format!("attribution ({method}) of {what}"));
    if let Some(found) = mean_faithfulness(all) {
        let Faithfulness { deletion_area, random_area } = found;
        printer.note(&format!(
            "faithfulness: area under the deletion curve {deletion_area:.4}, in random order {random_area:.4} (mean \
             absolute change of the answer while parts are removed; a larger area than the random one is better)"
        ));
    }
    if method == AttributionMethod::IntegratedGradients {
        let errors: Vec<f64> = all.iter().filter_map(|one| one.completeness_error()).collect();
        let worst = errors.iter().copied().fold(0.0, f64::max);
        let hint = match worst > COMPLETE {
            // The answer of trees changes in steps, which differences along the path miss.
            true if of_trees => {
                "; base learners made of trees have no gradient: use --attribution shapley or leave-one-out"
            }
            true => "; more --steps make it smaller",
            false => "",
        };
        printer.note(&format!(
            "completeness: the values miss the difference to the baseline by {:.2} % in the mean, {:.2} % at most{hint}",
            100.0 * errors.iter().sum::<f64>() / errors.len().max(1) as f64,
            100.0 * worst
        ));
    }
    let known: Vec<f64> = all.iter().filter_map(|one| one.rank_correlation).collect();
    if !known.is_empty() {
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        if mean < AGREEMENT {
            printer.note(&format!(
                "attention weights and attribution disagree: their mean rank correlation is {mean:.2}; attention weights do \
                 not say what the answer depends on"
            ));
        }
    }
}

/// As [`report`], of the patches of series, or of their lags where there are no patches.
pub(super) fn report_series(method: AttributionMethod, what: &str, all: &[SeriesAttribution], printer: &Printer) {
    let found: Vec<&Attribution> =
        all.iter().filter_map(|one| one.of_patches.as_ref().or(one.of_lags.as_ref())).collect();
    report(method, what, &found, false, printer);
}

fn mean_faithfulness(all: &[&Attribution]) -> Option<Faithfulness> {
    let known: Vec<Faithfulness> = all.iter().filter_map(|one| one.faithfulness).collect();
    let count = known.len() as f64;
    let mean = |area: fn(&Faithfulness) -> f64| known.iter().map(area).sum::<f64>() / count;
    (count > 0.0).then(|| Faithfulness {
        deletion_area: mean(|one| one.deletion_area),
        random_area: mean(|one| one.random_area),
    })
}

/// Adds the numbers beside the values: the answer, standard errors, faithfulness, completeness, rank correlation.
pub(super) fn fill(found: &Attribution, object: &mut Map<String, Value>) {
    object.insert("answer".into(), json!(found.answer));
    if let Some(baseline) = found.baseline {
        object.insert("baseline_answer".into(), json!(baseline));
        object.insert("completeness_error".into(), json!(found.completeness_error()));
    }
    if !found.standard_errors.is_empty() {
        object.insert("standard_errors".into(), json!(found.standard_errors));
    }
    object.insert("faithfulness".into(), json!(found.faithfulness));
    object.insert("attention_rank_correlation".into(), json!(found.rank_correlation));
}

/// The value of a part and its standard error, which is missing where values are not sampled.
fn value_cells(found: &Attribution, at: usize) -> [Cell<'static>; 2] {
    let error = found.standard_errors.get(at).map_or(Cell::Missing, |error| Cell::Number(*error));
    [Cell::Number(found.values[at]), error]
}

/// The attribution of graphs as JSON, `name(graph, node)` naming their nodes.
pub(super) fn graphs_json(ids: &[String], all: &[GraphAttribution], name: &dyn Fn(usize, usize) -> String) -> Value {
    let one = |(graph, GraphAttribution { parts, found }): (usize, &GraphAttribution)| {
        let edges = parts.edges.iter().zip(&found.values[parts.nodes..]).map(
            |(&[a, b], value)| json!({ "source": name(graph, a), "target": name(graph, b), "attribution": value }),
        );
        let edges: Vec<Value> = edges.collect();
        let mut object = Map::new();
        object.insert("id".into(), json!(ids[graph]));
        object.insert("attribution".into(), json!({ "nodes": found.values[..parts.nodes], "edges": edges }));
        fill(found, &mut object);
        Value::Object(object)
    };
    Value::Array(all.iter().enumerate().map(one).collect())
}

/// The attribution of graphs as a table: a row for each node and each edge.
pub(super) struct GraphTable<'a> {
    pub(super) ids: &'a [String],
    pub(super) all: &'a [GraphAttribution],
    /// The name of a node of a graph.
    pub(super) name: &'a dyn Fn(usize, usize) -> String,
}

impl TableSource for GraphTable<'_> {
    fn columns(&self) -> Vec<String> {
        ["id", "part", "source", "target", "attribution", "standard_error"].map(str::to_owned).to_vec()
    }

    fn each_row(&self, visit: &mut dyn FnMut(&[Cell<'_>]) -> io::Result<()>) -> io::Result<()> {
        for (graph, GraphAttribution { parts, found }) in self.all.iter().enumerate() {
            let id = Cell::Text(&self.ids[graph]);
            for at in 0..found.values.len() {
                let [value, error] = value_cells(found, at);
                match at.checked_sub(parts.nodes) {
                    None => {
                        let node = (self.name)(graph, at);
                        visit(&[id, Cell::Text("node"), Cell::Text(&node), Cell::Missing, value, error])?;
                    }
                    Some(edge) => {
                        let [source, target] = parts.edges[edge].map(|node| (self.name)(graph, node));
                        visit(&[id, Cell::Text("edge"), Cell::Text(&source), Cell::Text(&target), value, error])?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The ends of a lag.
fn lag(one: &SeriesAttribution, at: usize) -> [usize; 2] {
    [one.look_back - at; 2]
}

/// The attribution of series as JSON.
pub(crate) fn series_json(all: &[SeriesAttribution]) -> Value {
    let values = |found: &Attribution, spans: &dyn Fn(usize) -> [usize; 2]| -> Vec<Value> {
        let one = |(at, value): (usize, &f64)| {
            let [first, last] = spans(at);
            json!({ "first_lag": first, "last_lag": last, "attribution": value })
        };
        found.values.iter().enumerate().map(one).collect()
    };
    let one = |one: &SeriesAttribution| {
        let (mut object, mut parts) = (Map::new(), Map::new());
        object.insert("id".into(), json!(one.name));
        // Measures are those of the patches, where there are both.
        for (found, patches) in [(&one.of_lags, false), (&one.of_patches, true)] {
            let Some(found) = found else { continue };
            if patches {
                parts.insert("patches".into(), json!(values(found, &|at| one.patches[at])));
            } else {
                parts.insert("lags".into(), json!(values(found, &|at| lag(one, at))));
            }
            fill(found, &mut object);
        }
        object.insert("attribution".into(), Value::Object(parts));
        Value::Object(object)
    };
    Value::Array(all.iter().map(one).collect())
}

/// The attribution of series as a table: a row for each patch and each lag.
pub(super) struct SeriesTable<'a>(pub(super) &'a [SeriesAttribution]);

impl TableSource for SeriesTable<'_> {
    fn columns(&self) -> Vec<String> {
        ["unique_id", "part", "first_lag", "last_lag", "attribution", "standard_error"].map(str::to_owned).to_vec()
    }

    fn each_row(&self, visit: &mut dyn FnMut(&[Cell<'_>]) -> io::Result<()>) -> io::Result<()> {
        for one in self.0 {
            for (found, part) in [(&one.of_patches, "patch"), (&one.of_lags, "lag")] {
                let Some(found) = found else { continue };
                for at in 0..found.values.len() {
                    let lags = if part == "patch" { one.patches[at] } else { lag(one, at) };
                    let [first, last] = lags.map(Cell::Whole);
                    let [value, error] = value_cells(found, at);
                    visit(&[Cell::Text(&one.name), Cell::Text(part), first, last, value, error])?;
                }
            }
        }
        Ok(())
    }
}
