//! Importing checkpoints of Kool's code, made by hand.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::checkpoint::{checkpoint, small, weights};
use regard::Error;
use regard::routes::import::kool;
use regard::routes::model::{AttentionModelConfig, Norm};
use regard::store::{Array, Weights, safetensors};

/// Writes a checkpoint into a folder of its own.
fn file(root: &Path, name: &str, weights: &Weights) -> PathBuf {
    let path = root.join(name);
    if name.ends_with(".pt") {
        fs::write(&path, checkpoint(weights)).unwrap();
    } else {
        safetensors::write(&path, weights, &BTreeMap::new()).unwrap();
    }
    path
}

fn imported(weights: &Weights, args: &str) -> Result<AttentionModelConfig, Error> {
    let root = tempfile::tempdir().unwrap();
    if !args.is_empty() {
        fs::write(root.path().join("args.json"), args).unwrap();
    }
    kool(&file(root.path(), "epoch-9.pt", weights), None).map(|(config, ..)| config)
}

#[test]
fn sizes_come_from_the_shapes() {
    let wide = AttentionModelConfig { width: 12, heads: 3, layers: 3, feedforward_width: 20, ..small() };
    for config in [small(), wide, AttentionModelConfig { norm: Norm::Instance, layers: 1, ..small() }] {
        assert_eq!(imported(&weights(&config), "").unwrap(), config);
    }
}

#[test]
fn both_formats_give_the_same_weights_and_say_where_they_come_from() {
    let root = tempfile::tempdir().unwrap();
    let given = weights(&small());
    let (a, b) = (file(root.path(), "tsp_9.epoch-99.pt", &given), file(root.path(), "tsp_9.safetensors", &given));
    fs::write(root.path().join("tsp_9.args.json"), r#"{"tanh_clipping": 5, "graph_size": 9, "seed": null}"#).unwrap();
    fs::write(root.path().join("args.json"), r#"{"tanh_clipping": 7}"#).unwrap();
    for path in [&a, &b] {
        let (config, weights, provenance) = kool(path, None).unwrap();
        assert_eq!((config.tanh_clipping, &weights), (5.0, &given));
        assert_eq!(provenance.file, path.file_name().unwrap().to_str().unwrap());
        assert_eq!(provenance.sha256.len(), 64);
        assert_eq!(provenance.training.keys().collect::<Vec<_>>(), ["graph_size"]);
    }
}

#[test]
fn the_last_epoch_of_a_folder_is_taken() {
    let root = tempfile::tempdir().unwrap();
    let message = kool(root.path(), None).unwrap_err().to_string();
    assert!(message.ends_with("has no checkpoint `epoch-N.pt`"), "{message}");
    file(root.path(), "epoch-9.pt", &weights(&small()));
    file(root.path(), "epoch-10.pt", &weights(&small()));
    assert_eq!(kool(root.path(), None).unwrap().2.file, "epoch-10.pt");
}

#[test]
fn counters_and_the_prefix_of_data_parallel_are_tolerated() {
    let mut given: Weights =
        weights(&small()).into_iter().map(|(name, array)| (format!("module.{name}"), array)).collect();
    let counter = "module.embedder.layers.0.1.normalizer.num_batches_tracked";
    given.insert(counter.into(), Array::new(vec![], vec![1000.0]).unwrap());
    assert_eq!(imported(&given, "").unwrap(), small());
}

#[test]
fn the_problem_comes_from_the_caller_the_arguments_the_names_or_the_shapes() {
    let of = |problem: &str| weights(&AttentionModelConfig { problem: problem.into(), ..small() });
    let read = |given: &Weights, name: &str, args: &str, asked: Option<&str>| {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if !args.is_empty() {
            fs::write(path.with_file_name("args.json"), args).unwrap();
        }
        let path = file(path.parent().unwrap(), path.file_name().unwrap().to_str().unwrap(), given);
        kool(&path, asked).map(|(config, ..)| config.problem)
    };
    for (given, name, args, asked, expected) in [
        (of("sdvrp"), "epoch-9.pt", "", None, "sdvrp"),
        (of("op"), "epoch-9.pt", r#"{"problem": "op"}"#, None, "op"),
        (of("op"), "epoch-9.pt", "", Some("cvrp"), "cvrp"),
        (of("op"), "op_dist_20/epoch-9.pt", "", None, "op"),
        (of("cvrp"), "cvrp_20.safetensors", "", None, "cvrp"),
        (of("pctsp"), "pctsp_stoch_20.safetensors", "", None, "spctsp"),
        (of("pctsp"), "epoch-9.pt", r#"{"problem": "pctsp_det"}"#, None, "pctsp"),
        (of("pctsp"), "epoch-9.pt", "", Some("spctsp"), "spctsp"),
    ] {
        assert_eq!(read(&given, name, args, asked).unwrap(), expected, "{name} {args} {asked:?}");
    }
    let open = read(&of("op"), "epoch-9.pt", "", None).unwrap_err();
    assert!(matches!(open.root(), Error::Unsupported { .. }), "{open:?}");
    assert!(open.to_string().ends_with("networks for `cvrp`, `op` have the same tensors"), "{open}");
    assert_eq!(open.hint(), Some("give it with --problem cvrp or --problem op"));
    let wrong = read(&of("op"), "epoch-9.pt", "", Some("tsp")).unwrap_err().to_string();
    assert!(wrong.ends_with("`problem`: is `tsp`, but the weights are those of a model for `cvrp`, `op`"), "{wrong}");
    let unknown = read(&of("op"), "epoch-9.pt", "", Some("oop")).unwrap_err().to_string();
    assert!(unknown.contains("`oop` is not a problem (did you mean `op`?)"), "{unknown}");
}

#[test]
fn what_does_not_fit_is_refused_with_words() {
    let good = weights(&small());
    let without = |name: &str| {
        let mut given = good.clone();
        given.remove(name);
        given
    };
    let changed = |name: &str, shape: &[usize]| {
        let array = Array { shape: shape.to_vec(), data: vec![0.0; shape.iter().product()] };
        let mut given = good.clone();
        given.insert(name.into(), array);
        given
    };
    let other = Weights::from([("fc.weight".to_owned(), Array::new(vec![1], vec![0.0]).unwrap())]);
    let query = "embedder.layers.0.0.module.W_query";
    for (given, args, expected) in [
        (other, "", "not a checkpoint of Kool's Attention Model"),
        (without("project_out.weight"), "", "missing: project_out.weight [8, 8]"),
        (without(query), "", "missing: embedder.layers.0.0.module.W_query [8, 8, 1]"),
        (changed("surplus", &[3]), "", "not expected: surplus [3]"),
        (changed("project_out.weight", &[8, 9]), "", "wrong: project_out.weight: expected shape [8, 8], found [8, 9]"),
        (changed(query, &[3, 8, 2]), "", "`heads`: 3 heads do not divide width 8"),
        (changed(query, &[0, 8, 2]), "", "`heads`: is 0; expected 1 to 8"),
        (changed("embedder.layers.4000000000.x", &[1]), "", "`layers`: is 4000000001; expected 1 to 64"),
        (
            good.clone(),
            r#"{"problem": "cvrp"}"#,
            "`problem`: is `cvrp`, but the weights are those of a model for `tsp`",
        ),
        (
            good.clone(),
            r#"{"normalization": "instance"}"#,
            "`normalization`: is `instance`, but the weights are those of batch",
        ),
        (good.clone(), r#"{"tanh_clipping": 0}"#, "`tanh_clipping`: is 0; expected a number above 0"),
        (good.clone(), r#"{"tanh_clipping": "ten"}"#, "`tanh_clipping`: is \"ten\"; expected a number above 0"),
        (good.clone(), "{\n\"problem\": ", "args.json:2: "),
        (good.clone(), "[]", "args.json:1: invalid type"),
    ] {
        let found = imported(&given, args).unwrap_err().to_string();
        assert!(found.contains(expected), "expected `{expected}`, found `{found}`");
    }
}

#[test]
fn a_file_that_is_not_there_is_an_error_with_a_hint() {
    let error = kool(Path::new("no/such/epoch-1.pt"), None).unwrap_err();
    assert!(error.to_string().starts_with("no/such/epoch-1.pt: ") && error.hint().is_some(), "{error}");
}
