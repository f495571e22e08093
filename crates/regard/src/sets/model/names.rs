//! Names and layouts of the authors' code (`models.py`, `modules.py` of juho-lee/set_transformer),
//! and names in their manner for what it does not have.

use super::config::SetTransformerConfig;
use super::switches::PoolingKind;
use crate::store::renamed::{Form, Renamed, Table};

/// Every array a network of these settings may have, ours and theirs.
pub(super) fn table(config: &SetTransformerConfig) -> Vec<Renamed> {
    let mut names = Table::default();
    names.linear("encoder.embed", "embed");
    for layer in 0..config.layers {
        names.block(config, &format!("encoder.sab.{layer}.mab"), &format!("enc.{layer}.mab"));
        for mab in ["mab0", "mab1"] {
            names.block(config, &format!("encoder.isab.{layer}.{mab}"), &format!("enc.{layer}.{mab}"));
        }
        names.add(format!("encoder.isab.{layer}.points"), format!("enc.{layer}.I"), Form::LeadingOne);
        // Between the linear maps of a `Sequential` stand ReLUs, which are counted.
        names.linear(&format!("encoder.rows.{layer}"), &format!("enc.{}", 2 * layer));
    }
    names.linear("pooling.before", "pool");
    names.add("pooling.dot.query".into(), "dot".into(), Form::Same);
    // The names of Ilse's code (AMLab-Amsterdam/AttentionDeepMIL).
    names.linear("pooling.gated.tanh", "attention_V.0");
    names.linear("pooling.gated.gate", "attention_U.0");
    names.add("pooling.gated.query".into(), "attention_w".into(), Form::Same);
    names.add("pooling.pma.seeds".into(), "dec.0.S".into(), Form::LeadingOne);
    names.block(config, "pooling.pma.mab", "dec.0.mab");
    for step in 0..config.seed_refinements {
        names.block(config, &format!("decoder.refine.{step}.items"), &format!("refine.{step}.items"));
        names.block(config, &format!("decoder.refine.{step}.seeds.mab"), &format!("refine.{step}.seeds.mab"));
    }
    for layer in 0..config.decoder_layers {
        names.block(config, &format!("decoder.sab.{layer}.mab"), &format!("dec.{}.mab", layer + 1));
        names.linear(&format!("decoder.rows.{layer}"), &format!("dec.{}", 2 * layer));
    }
    let last = match config.pooling {
        PoolingKind::Attention => config.decoder_layers + 1,
        _ => 2 * config.decoder_layers,
    };
    names.linear("head", &format!("dec.{last}"));
    names.linear("item_head", "items");
    names.0
}

impl Table {
    fn block(&mut self, config: &SetTransformerConfig, ours: &str, theirs: &str) {
        for (part, name) in [("query", "fc_q"), ("key", "fc_k"), ("value", "fc_v"), ("out", "fc_w")] {
            self.linear(&format!("{ours}.{part}"), &format!("{theirs}.{name}"));
        }
        for layer in 0..config.feedforward_layers {
            let name = if layer == 0 { "fc_o".to_owned() } else { format!("fc_o{}", layer + 1) };
            self.linear(&format!("{ours}.feed.{layer}"), &format!("{theirs}.{name}"));
        }
        for (part, name) in [("first_norm", "ln0"), ("second_norm", "ln1"), ("key_norm", "ln_k")] {
            self.add(format!("{ours}.{part}.gamma"), format!("{theirs}.{name}.weight"), Form::Same);
            self.add(format!("{ours}.{part}.beta"), format!("{theirs}.{name}.bias"), Form::Same);
        }
    }
}
