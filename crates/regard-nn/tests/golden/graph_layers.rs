//! Golden test of the layers of the Graph Transformer against the authors' code: outputs, every gradient,
//! running statistics, and the result of a node without edges.

use std::collections::BTreeMap;
use std::sync::Arc;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Device, Gradients, Int, Tensor, TensorData};
use regard_nn::graph::{GraphLayer, GraphLayerConfig, GraphRows};
use regard_nn::ops::{EdgeList, with_kernels};
use regard_nn::trace::record;
use regard_testing::{Case, Checks, Golden};

#[test]
fn golden_graph_layers_with_kernels() {
    with_kernels(true, || check_all("kernels"));
}

#[test]
fn golden_graph_layers_composed() {
    with_kernels(false, || check_all("composed"));
}

fn check_all(label: &str) {
    let golden = Golden::open();
    let mut layers = 0;
    for name in golden.names("graph_transformer/") {
        let case = golden.case(&name).expect("named by the manifest");
        // Whole networks are tested in another crate.
        if case.config.get("residual").is_some() && case.config.get("n_heads").is_some() {
            check(&case, label);
            layers += 1;
        }
    }
    assert!(layers > 0, "a case of a layer");
}

#[test]
fn golden_traces_of_graph_layers() {
    let golden = Golden::open();
    let mut layers = 0;
    for case in golden.cases("graph_transformer/").iter().filter(|case| case.find("output.logit").is_some()) {
        check_trace(case);
        layers += 1;
    }
    assert!(layers > 0, "a case of a layer");
}

/// The steps of a trace are the scores of the original code before and after the clamp, and its softmax.
fn check_trace(case: &Case) {
    let device = Device::flex();
    let (layer, (graph, order)) = (layer(case, &device), edges(case));
    let e = case.find("input.e").map(|e| e.tensor::<2>(&device).select(0, whole(&order, &device)));
    let rows = GraphRows { nodes: case.get("input.h").tensor(&device), edges: e };
    let (_, recording) = record(|| layer.forward(rows, None, &graph));
    let heads = case.size("n_heads");
    // By edge, in the order of the case.
    let by_edge = |name: &str| {
        let step = recording.steps.iter().find(|step| step.name == name).unwrap_or_else(|| panic!("no step {name}"));
        let width = step.values.len() / order.len();
        let rows = inverse(&order).into_iter().map(|place| &step.values[place as usize * width..][..width]);
        rows.flatten().map(|&value| f64::from(value)).collect::<Vec<f64>>()
    };
    let mut checks = Checks::new(case, "trace");
    checks.values("output.logit", &case.get("output.logit").shape, &by_edge("score"));
    let exponentials: Vec<f64> = by_edge("clamped").into_iter().map(f64::exp).collect();
    checks.values("output.exp_score", &case.get("output.exp_score").shape, &exponentials);
    if let Some(channels) = case.find("output.score_channels") {
        checks.values("output.score_channels", &channels.shape, &by_edge("edge_product"));
    }
    // The weights are exp_score / z of the node that an edge leads to, with the authors' 1e-6 where edges have rows.
    let (z, targets) = (case.get("output.z"), &case.get("input.dst").data);
    let epsilon = if case.find("input.e").is_some() { 1e-6 } else { 0.0 };
    for (at, weight) in by_edge("attention").into_iter().enumerate() {
        let total = z.data[targets[at / heads] as usize * heads + at % heads] + epsilon;
        let expected = case.get("output.exp_score").data[at] / total;
        checks.holds(&format!("weight {at}: {weight}, expected {expected}"), (weight - expected).abs() < 1e-5);
    }
    checks.finish();
}

/// The name of a parameter in the original code, and true if it is transposed there.
fn original(path: &str, edges: bool) -> (String, bool) {
    let (part, rest) = path.split_once('.').expect("a path");
    let letter = match (part, edges) {
        ("edge_stream", _) => "_e",
        (_, true) => "_h",
        _ => "",
    };
    let projections = BTreeMap::from([("query", "Q"), ("key", "K"), ("value", "V"), ("edge", "proj_e")]);
    if let Some(name) = projections.get(part) {
        return (format!("attention.{name}.{rest}"), rest == "weight");
    }
    let words: Vec<&str> = rest.split('.').collect();
    match words[..] {
        ["out", what] => (format!("O{letter}.{what}"), what == "weight"),
        ["feed", which, what] => {
            let number = if which == "inner" { 1 } else { 2 };
            (format!("FFN{letter}_layer{number}.{what}"), what == "weight")
        }
        [half, kind, what] => {
            let number = if half == "first" { 1 } else { 2 };
            let what = match what {
                "gamma" => "weight",
                "beta" => "bias",
                "running_variance" => "running_var",
                other => other,
            };
            (format!("{kind}_norm{number}{letter}.{what}"), false)
        }
        _ => panic!("{path}"),
    }
}

/// Loads the arrays of a case into a layer.
struct Fill<'a> {
    case: &'a Case,
    edges: bool,
    path: Vec<String>,
}

impl ModuleMapper for Fill<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let (name, transposed) = original(&self.path.join("."), self.edges);
        let (device, id) = (param.lazy_device(), param.id);
        let found: Tensor<D> = self.case.get(&format!("weight.{name}")).tensor(&device);
        param.transform_for_load(if transposed { found.transpose() } else { found }, id)
    }
}

/// Compares the gradients of a layer, and its running statistics after a step.
struct Compare<'a, 'c> {
    checks: &'a mut Checks<'c>,
    case: &'c Case,
    gradients: &'a Gradients,
    edges: bool,
    path: Vec<String>,
}

impl ModuleVisitor for Compare<'_, '_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let (name, transposed) = original(&self.path.join("."), self.edges);
        let buffer = format!("after_forward.buffer.{name}");
        if self.case.find(&buffer).is_some() {
            self.checks.tensor(&buffer, &param.val());
        }
        let name = format!("grad.weight.{name}");
        if self.case.find(&name).is_some() {
            let gradient = param.val().grad(self.gradients).expect("a gradient");
            self.checks.tensor(&name, &if transposed { gradient.transpose() } else { gradient });
        }
    }
}

/// The edges by target, and the index of each of them in the case.
fn edges(case: &Case) -> (Arc<EdgeList>, Vec<i64>) {
    let whole = |name: &str| case.get(name).data.iter().map(|&v| v as usize).collect::<Vec<_>>();
    let (sources, targets, nodes) = (whole("input.src"), whole("input.dst"), case.size("nodes"));
    let mut order: Vec<usize> = (0..sources.len()).collect();
    order.sort_by_key(|&edge| targets[edge]);
    let offsets = (0..=nodes).map(|node| targets.iter().filter(|&&target| target < node).count()).collect();
    let sorted = order.iter().map(|&edge| sources[edge] as u32).collect();
    (Arc::new(EdgeList::new(offsets, sorted)), order.into_iter().map(|edge| edge as i64).collect())
}

fn whole(all: &[i64], device: &Device) -> Tensor<1, Int> {
    Tensor::from_data(TensorData::new(all.to_vec(), [all.len()]), device)
}

/// The inverse of a permutation of edges.
fn inverse(order: &[i64]) -> Vec<i64> {
    let mut places = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, &edge)| places[edge as usize] = place as i64);
    places
}

fn layer(case: &Case, device: &Device) -> GraphLayer {
    let switch = |key: &str| case.config[key].as_bool() == Some(true);
    let edges = case.find("input.e").is_some();
    let layer = GraphLayerConfig::new(case.size("d"), case.size("n_heads"))
        .with_edges(edges)
        .with_bias(switch("use_bias"))
        .with_layer_norm(switch("layer_norm"))
        .with_batch_norm(switch("batch_norm"))
        .with_residual(switch("residual"))
        .init(device);
    layer.map(&mut Fill { case, edges, path: vec![] })
}

fn check(case: &Case, label: &str) {
    // In evaluation the running statistics are used, and gradients flow through them.
    let evaluated = case.config["mode"] == "eval";
    let device = if evaluated { Device::flex() } else { Device::flex().autodiff() };
    let (layer, (graph, order)) = (layer(case, &device), edges(case));
    let leaf = |name: &str| case.find(name).map(|values| values.tensor::<2>(&device));
    let leaf = |name: &str| leaf(name).map(|x| if evaluated { x } else { x.require_grad() });
    let (h, e) = (leaf("input.h").expect("nodes"), leaf("input.e"));
    let rows = GraphRows { nodes: h.clone(), edges: e.clone().map(|e| e.select(0, whole(&order, &device))) };
    let found = layer.forward(rows, None, &graph);
    let mut checks = Checks::new(case, label);
    checks.tensor("output.h", &found.nodes);
    let edges = found.edges.map(|edges| edges.select(0, whole(&inverse(&order), &device)));
    if let Some(edges) = &edges {
        checks.tensor("output.e", edges);
    }
    if case.find("grad.input.h").is_some() && !evaluated {
        let times = |rows: &Tensor<2>, name: &str| (rows.clone() * case.get(name).tensor(&device)).sum();
        let mut loss = times(&found.nodes, "input.Rh");
        if let Some(edges) = &edges {
            loss = loss + times(edges, "input.Re");
        }
        checks.tensor("output.loss", &loss);
        let gradients = loss.backward();
        checks.tensor("grad.input.h", &h.grad(&gradients).expect("a gradient"));
        if let Some(e) = &e {
            checks.tensor("grad.input.e", &e.grad(&gradients).expect("a gradient"));
        }
        let edges = e.is_some();
        layer.visit(&mut Compare { checks: &mut checks, case, gradients: &gradients, edges, path: vec![] });
    }
    checks.finish();
}
