//! Golden test of the blocks of the Set Transformer against the authors' code: outputs and every gradient.

use burn::module::Param;
use burn::nn::Linear;
use burn::tensor::{Device, Gradients, Tensor};
use regard_nn::Ragged;
use regard_nn::ops::{SetQueries, with_kernels};
use regard_nn::set::{
    AttentionPooling, AttentionPoolingConfig, BlockNorm, InducedSetBlock, InducedSetBlockConfig, RaggedNorm,
    SelfSetBlock, SelfSetBlockConfig, SetAttentionBlock, SetAttentionBlockConfig,
};
use regard_testing::{Case, Checks, Golden};

#[test]
fn golden_set_blocks_with_kernels() {
    with_kernels(true, || check_all("kernels"));
}

#[test]
fn golden_set_blocks_composed() {
    with_kernels(false, || check_all("composed"));
}

fn check_all(label: &str) {
    let golden = Golden::open();
    let names = golden.names("set_transformer/");
    assert!(!names.is_empty());
    for name in names {
        let case = golden.case(&name).expect("named by the manifest");
        // Whole networks are tested in another crate.
        if case.config.get("ln").is_some() && case.config.get("dim_hidden").is_none() {
            check(&case, label);
        }
    }
}

enum Block {
    Mab(Box<SetAttentionBlock>),
    Sab(Box<SelfSetBlock>),
    Isab(Box<InducedSetBlock>),
    Pma(Box<AttentionPooling>),
}

/// Blocks with the prefixes of their names, and learnt rows with their names.
type Parts<'a> = (Vec<(&'static str, &'a SetAttentionBlock)>, Vec<(&'static str, &'a Param<Tensor<2>>)>);

impl Block {
    /// The block of a case, with its weights.
    fn of(case: &Case, device: &Device) -> Self {
        let size = |key: &str| case.size(key);
        let norm = if case.config["ln"].as_bool() == Some(true) { BlockNorm::Post } else { BlockNorm::None };
        let heads = size("num_heads");
        let has = |key: &str| case.config.get(key).is_some();
        if has("dim_Q") {
            let config = SetAttentionBlockConfig::new(size("dim_Q"), size("dim_K"), size("dim_V"), heads);
            let mut mab = config.with_norm(norm).init(device);
            fill(&mut mab, case, "weight.", device);
            Self::Mab(Box::new(mab))
        } else if has("num_inds") {
            let mut config = InducedSetBlockConfig::new(size("dim_in"), size("dim_out"), heads, size("num_inds"));
            config.block.norm = norm;
            let mut isab = config.init(device);
            isab.points = rows(case, "weight.I", device);
            fill(&mut isab.mab0, case, "weight.mab0.", device);
            fill(&mut isab.mab1, case, "weight.mab1.", device);
            Self::Isab(Box::new(isab))
        } else if has("num_seeds") {
            let mut config = AttentionPoolingConfig::new(size("dim"), heads, size("num_seeds"));
            config.block.norm = norm;
            let mut pma = config.init(device);
            pma.seeds = rows(case, "weight.S", device);
            fill(&mut pma.mab, case, "weight.mab.", device);
            Self::Pma(Box::new(pma))
        } else {
            let mut config = SelfSetBlockConfig::new(size("dim_in"), size("dim_out"), heads);
            config.0.norm = norm;
            let mut sab = config.init(device);
            fill(&mut sab.mab, case, "weight.mab.", device);
            Self::Sab(Box::new(sab))
        }
    }

    fn forward(&self, inputs: &[Tensor<3>]) -> Tensor<3> {
        let sets = |at: usize| Ragged::uniform(inputs[at].clone());
        let y = match self {
            Self::Mab(mab) => mab.forward(SetQueries::Own(sets(0)), sets(1)),
            Self::Sab(sab) => sab.forward(sets(0)),
            Self::Isab(isab) => isab.forward(sets(0)),
            Self::Pma(pma) => pma.forward(sets(0)),
        };
        y.to_padded()
    }

    fn parts(&self) -> Parts<'_> {
        match self {
            Self::Mab(mab) => (vec![("", &**mab)], vec![]),
            Self::Sab(sab) => (vec![("mab.", &sab.mab)], vec![]),
            Self::Isab(isab) => (vec![("mab0.", &isab.mab0), ("mab1.", &isab.mab1)], vec![("I", &isab.points)]),
            Self::Pma(pma) => (vec![("mab.", &pma.mab)], vec![("S", &pma.seeds)]),
        }
    }
}

fn rows(case: &Case, name: &str, device: &Device) -> Param<Tensor<2>> {
    Param::from_tensor(case.get(name).tensor::<3>(device).squeeze_dim(0))
}

fn fill(mab: &mut SetAttentionBlock, case: &Case, prefix: &str, device: &Device) {
    let linear = |name: &str| Linear {
        weight: Param::from_tensor(case.get(&format!("{prefix}{name}.weight")).tensor(device).transpose()),
        bias: Some(Param::from_tensor(case.get(&format!("{prefix}{name}.bias")).tensor(device))),
    };
    (mab.query, mab.key, mab.value, mab.feed) = (linear("fc_q"), linear("fc_k"), linear("fc_v"), vec![linear("fc_o")]);
    let fill_norm = |norm: &mut Option<RaggedNorm>, name: &str| {
        let Some(norm) = norm else { return };
        norm.gamma = Param::from_tensor(case.get(&format!("{prefix}{name}.weight")).tensor(device));
        norm.beta = Param::from_tensor(case.get(&format!("{prefix}{name}.bias")).tensor(device));
    };
    fill_norm(&mut mab.first_norm, "ln0");
    fill_norm(&mut mab.second_norm, "ln1");
}

fn check(case: &Case, label: &str) {
    let device = Device::flex().autodiff();
    let block = Block::of(case, &device);
    let leaf = |name: &str| {
        let found = case.find(&format!("input.{name}"));
        found.map(|values| (name.to_owned(), values.tensor::<3>(&device).require_grad()))
    };
    let (names, inputs): (Vec<String>, Vec<Tensor<3>>) = ["Q", "K", "X"].into_iter().filter_map(leaf).unzip();
    let y = block.forward(&inputs);
    let loss = (y.clone() * case.get("input.R").tensor(&device)).sum();
    let grads = loss.backward();
    let mut checks = Checks::new(case, label);
    checks.tensor("output.y", &y);
    checks.tensor("output.loss", &loss);
    for (name, x) in names.iter().zip(&inputs) {
        checks.tensor(&format!("grad.input.{name}"), &x.grad(&grads).expect("a gradient"));
    }
    let (blocks, learnt) = block.parts();
    for (name, rows) in learnt {
        let gradient = rows.val().grad(&grads).expect("a gradient");
        checks.tensor(&format!("grad.weight.{name}"), &gradient.unsqueeze::<3>());
    }
    for (prefix, mab) in blocks {
        check_block(&mut checks, mab, &format!("grad.weight.{prefix}"), &grads);
    }
    checks.finish();
}

fn check_block(checks: &mut Checks<'_>, mab: &SetAttentionBlock, prefix: &str, grads: &Gradients) {
    let linears = [("fc_q", &mab.query), ("fc_k", &mab.key), ("fc_v", &mab.value), ("fc_o", &mab.feed[0])];
    for (name, linear) in linears {
        let weight = linear.weight.val().grad(grads).expect("a gradient");
        checks.tensor(&format!("{prefix}{name}.weight"), &weight.transpose());
        let bias = linear.bias.as_ref().expect("a bias").val();
        // The key bias adds the same number to all scores of a query: its gradient is zero.
        let bias = bias.grad(grads).unwrap_or_else(|| bias.zeros_like().inner());
        checks.tensor(&format!("{prefix}{name}.bias"), &bias);
    }
    for (name, norm) in [("ln0", &mab.first_norm), ("ln1", &mab.second_norm)] {
        let Some(norm) = norm else { continue };
        checks.tensor(&format!("{prefix}{name}.weight"), &norm.gamma.val().grad(grads).expect("a gradient"));
        checks.tensor(&format!("{prefix}{name}.bias"), &norm.beta.val().grad(grads).expect("a gradient"));
    }
}
