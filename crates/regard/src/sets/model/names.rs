//! Names and layouts of the authors' code (`models.py`, `modules.py` of juho-lee/set_transformer),
//! and names in their manner for what it does not have.

use std::collections::BTreeMap;

use super::config::{PoolingKind, SetTransformerConfig};
use crate::store::layout::Slot;
use crate::store::{Array, Weights};

/// Our paths with the names in files; linear weights are transposed on the way.
fn table(config: &SetTransformerConfig) -> Vec<(String, String)> {
    let mut names = Vec::new();
    let mut add = |ours: String, theirs: String| names.push((ours, theirs));
    let linear = |add: &mut dyn FnMut(String, String), ours: &str, theirs: &str| {
        for part in ["weight", "bias"] {
            add(format!("{ours}.{part}"), format!("{theirs}.{part}"));
        }
    };
    let block = |add: &mut dyn FnMut(String, String), ours: &str, theirs: &str| {
        for (part, name) in [("query", "fc_q"), ("key", "fc_k"), ("value", "fc_v"), ("out", "fc_w")] {
            linear(add, &format!("{ours}.{part}"), &format!("{theirs}.{name}"));
        }
        for layer in 0..config.feed_forward {
            let name = if layer == 0 { "fc_o".to_owned() } else { format!("fc_o{}", layer + 1) };
            linear(add, &format!("{ours}.feed.{layer}"), &format!("{theirs}.{name}"));
        }
        for (part, name) in [("first_norm", "ln0"), ("second_norm", "ln1"), ("key_norm", "ln_k")] {
            add(format!("{ours}.{part}.gamma"), format!("{theirs}.{name}.weight"));
            add(format!("{ours}.{part}.beta"), format!("{theirs}.{name}.bias"));
        }
    };
    linear(&mut add, "encoder.embed", "embed");
    for layer in 0..config.layers {
        block(&mut add, &format!("encoder.sab.{layer}.mab"), &format!("enc.{layer}.mab"));
        for mab in ["mab0", "mab1"] {
            block(&mut add, &format!("encoder.isab.{layer}.{mab}"), &format!("enc.{layer}.{mab}"));
        }
        add(format!("encoder.isab.{layer}.points"), format!("enc.{layer}.I"));
        // Between the linear maps of a `Sequential` stand ReLUs, which are counted.
        linear(&mut add, &format!("encoder.rows.{layer}"), &format!("enc.{}", 2 * layer));
    }
    linear(&mut add, "pooling.before", "pool");
    add("pooling.dot.query".into(), "dot".into());
    add("pooling.pma.seeds".into(), "dec.0.S".into());
    block(&mut add, "pooling.pma.mab", "dec.0.mab");
    for layer in 0..config.decoder {
        block(&mut add, &format!("decoder.sab.{layer}.mab"), &format!("dec.{}.mab", layer + 1));
        linear(&mut add, &format!("decoder.rows.{layer}"), &format!("dec.{}", 2 * layer));
    }
    let last = match config.pooling {
        PoolingKind::Attention => config.decoder + 1,
        _ => 2 * config.decoder,
    };
    linear(&mut add, "head", &format!("dec.{last}"));
    names
}

/// Every tensor of a file, from the shapes of our parameters.
pub(super) fn slots(config: &SetTransformerConfig, shapes: Vec<(String, Vec<usize>)>) -> Vec<Slot> {
    let names: BTreeMap<String, String> = table(config).into_iter().collect();
    let slot = |(path, shape): (String, Vec<usize>)| {
        let shape = match (is_learnt(&path), shape.as_slice()) {
            (true, &[rows, width]) => vec![1, rows, width],
            (false, &[inputs, outputs]) => vec![outputs, inputs],
            _ => shape,
        };
        names.get(&path).map(|name| Slot { name: name.clone(), shape, trainable: true })
    };
    shapes.into_iter().filter_map(slot).collect()
}

/// Our weights, named and laid out as in files.
pub(super) fn to_original(config: &SetTransformerConfig, mut ours: Weights) -> Weights {
    let found = table(config).into_iter().filter_map(|(path, name)| {
        let array = ours.remove(&path)?;
        Some((name, turned(&path, array)))
    });
    found.collect()
}

/// Weights of a file under our paths.
pub(super) fn to_ours(config: &SetTransformerConfig, original: &Weights) -> Weights {
    let found = table(config).into_iter().filter_map(|(path, name)| {
        let array = original.get(&name)?;
        Some((path.clone(), back(&path, array)))
    });
    found.collect()
}

/// Learnt rows have a leading axis of 1 in files; matrices are `[out, in]`.
fn turned(path: &str, array: Array) -> Array {
    match (is_learnt(path), array.shape.as_slice()) {
        (true, &[rows, width]) => Array { shape: vec![1, rows, width], data: array.data },
        (false, &[_, _]) => transposed(&array),
        _ => array,
    }
}

fn back(path: &str, array: &Array) -> Array {
    match (is_learnt(path), array.shape.as_slice()) {
        (true, &[1, rows, width]) => Array { shape: vec![rows, width], data: array.data.clone() },
        (false, &[_, _]) => transposed(array),
        _ => array.clone(),
    }
}

fn is_learnt(path: &str) -> bool {
    path.ends_with(".points") || path.ends_with(".seeds")
}

fn transposed(array: &Array) -> Array {
    let (rows, columns) = (array.shape[0], array.shape[1]);
    let data = (0..columns).flat_map(|column| (0..rows).map(move |row| array.data[row * columns + column]));
    Array { shape: vec![columns, rows], data: data.collect() }
}
