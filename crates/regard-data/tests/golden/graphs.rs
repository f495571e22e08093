//! Positions and accuracies of the Graph Transformer's code.

use regard_data::graphs::positions::{Encoding, Nulls, Positions};
use regard_data::graphs::{Graph, Graphs, Kinds};
use regard_data::metrics::{accuracy, accuracy_sbm, balanced_accuracy};
use regard_testing::{Case, Golden};

fn whole(case: &Case, tensor: &str) -> Vec<usize> {
    case.bytes::<8>(tensor).into_iter().map(|b| usize::try_from(i64::from_le_bytes(b)).unwrap()).collect()
}

fn doubles(case: &Case, tensor: &str) -> Vec<f64> {
    case.bytes::<8>(tensor).into_iter().map(f64::from_le_bytes).collect()
}

fn graph(nodes: usize, edges: impl Iterator<Item = (usize, usize)>) -> Graph {
    let mut graph = Graph::new("golden", nodes);
    edges.for_each(|(source, target)| graph.add(source as u32, target as u32, 0));
    graph
}

fn graphs(all: Vec<Graph>) -> Graphs {
    Graphs::new(Kinds::default(), Kinds::default(), all).unwrap()
}

/// Columns of one eigenvalue span the same space: their projector, and that of the columns that were cut off.
#[test]
fn golden_laplacian_positions() {
    let cases = Golden::open().cases("graph_transformer/lappe_");
    for case in &cases {
        let (n, k) = (case.size("n"), case.size("k"));
        let edges = whole(case, "input.src").into_iter().zip(whole(case, "input.dst"));
        let graphs = graphs(vec![graph(n, edges)]);
        let compute = |k| Positions::compute(&graphs, &Encoding::Laplacian { k, nulls: Nulls::SkipFirst }, &|_, _| ());
        let positions = compute(k);
        assert_eq!((positions.filled(), positions.unconverged()), (&[k.min(n - 1) as u32][..], 0), "{}", case.name);
        assert!(positions.values().iter().enumerate().all(|(at, v)| at % k < n - 1 || *v == 0.0));
        // All columns but the first: whole spaces are there to compare.
        let all = compute(n - 1);
        let group: Vec<usize> = whole(case, "output.group_of_eigenvalue");
        let projectors = doubles(case, "output.projectors");
        for wanted in (0..=group[n - 1]).filter(|wanted| *wanted != group[0]) {
            for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))) {
                let row = |node: usize, column: usize| f64::from(all.values()[node * (n - 1) + column - 1]);
                let columns = (1..n).filter(|column| group[*column] == wanted);
                let found: f64 = columns.map(|column| row(a, column) * row(b, column)).sum();
                let expected = projectors[(wanted * n + a) * n + b];
                // Positions are handed out in single precision.
                assert!((found - expected).abs() < 1e-6, "{} group {wanted} {a} {b}: {found} {expected}", case.name);
            }
        }
        let kept = |node: usize| &positions.values()[node * k..(node + 1) * k];
        let vectors = doubles(case, "output.eigenvectors");
        for column in case.config["columns_unique_up_to_sign"].as_array().unwrap() {
            let column = column.as_u64().unwrap() as usize;
            let dot: f64 = (0..n).map(|node| f64::from(kept(node)[column - 1]) * vectors[node * n + column]).sum();
            assert!((dot.abs() - 1.0).abs() < 1e-5, "{} column {column}: {dot}", case.name);
        }
    }
    assert!(cases.len() >= 3, "only {} cases", cases.len());
}

#[test]
fn golden_weisfeiler_lehman_indices() {
    let cases = Golden::open().cases("graph_transformer/wl_pe");
    for case in &cases {
        let sizes = whole(case, "input.sizes");
        let (sources, targets) = (whole(case, "input.src"), whole(case, "input.dst"));
        let mut start = 0;
        let all = sizes.iter().map(|size| {
            let range = start..start + size;
            start += size;
            let inside = |(s, t): (&usize, &usize)| range.contains(s).then(|| (s - range.start, t - range.start));
            graph(*size, sources.iter().zip(&targets).filter_map(inside))
        });
        let indices = |graphs: &Graphs| {
            let found = Positions::compute(graphs, &Encoding::WeisfeilerLehman, &|_, _| ());
            found.indices().iter().map(|index| *index as usize).collect::<Vec<_>>()
        };
        assert_eq!(indices(&graphs(all.collect())), whole(case, "output.wl_index"), "{}", case.name);
        for tensor in
            case.tensor_names().into_iter().filter(|name| name.starts_with("output.") && *name != "output.wl_index")
        {
            let expected = whole(case, tensor);
            let name = tensor.trim_start_matches("output.").trim_end_matches(|c: char| c.is_ascii_digit());
            let n = expected.len();
            let path = |nodes: usize| (1..nodes).flat_map(|v| [(v - 1, v), (v, v - 1)]).collect::<Vec<_>>();
            let edges = match name {
                "path" => path(n),
                "cycle" => path(n).into_iter().chain([(n - 1, 0), (0, n - 1)]).collect(),
                "star" => (1..n).flat_map(|v| [(0, v), (v, 0)]).collect(),
                "path_plus_isolated" => path(n - 1),
                _ => continue,
            };
            assert_eq!(indices(&graphs(vec![graph(n, edges.into_iter())])), expected, "{} {tensor}", case.name);
        }
    }
}

#[test]
fn golden_accuracy_of_block_models() {
    let cases = Golden::open().cases("graph_transformer/accuracy_sbm");
    for case in &cases {
        for (at, set) in case.config["sets"].as_array().unwrap().iter().enumerate() {
            let classes = set["classes"].as_u64().unwrap() as usize;
            let scores: Vec<f32> =
                case.bytes::<4>(&format!("input.scores{at}")).into_iter().map(f32::from_le_bytes).collect();
            let best = |row: &[f32]| (1..classes).fold(0, |best, at| if row[at] > row[best] { at } else { best });
            let predicted: Vec<usize> = scores.chunks_exact(classes).map(best).collect();
            let truth = whole(case, &format!("input.target{at}"));
            let expected = doubles(case, &format!("output.accuracy{at}"));
            let aligned = mean_recall(&predicted, &truth);
            for (found, expected) in
                [accuracy_sbm(&predicted, &truth), aligned, accuracy(&predicted, &truth)].into_iter().zip(expected)
            {
                // The code keeps its counts in single precision.
                assert!((100.0 * found - expected).abs() < 1e-4, "{} {at}: {found} {expected}", case.name);
            }
            if predicted.iter().all(|class| truth.contains(class)) {
                assert!((balanced_accuracy(&predicted, &truth) - aligned).abs() < 1e-12);
            }
        }
    }
}

/// Mean recall over the classes of predictions and truth; those that truth lacks count 0.
fn mean_recall(predicted: &[usize], truth: &[usize]) -> f64 {
    let classes: std::collections::BTreeSet<&usize> = predicted.iter().chain(truth).collect();
    let present: std::collections::BTreeSet<&usize> = truth.iter().collect();
    balanced_accuracy(predicted, truth) * present.len() as f64 / classes.len() as f64
}
