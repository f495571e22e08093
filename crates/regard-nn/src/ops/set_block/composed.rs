// The composed version: padded sets, and a mask of the padding.

use burn::tensor::{Tensor, activation};

use super::{Affine, Residual, SetBlockArgs, SetQueries};
use crate::Ragged;
use crate::ops::{AttentionOptions, attention_weights};

/// [`set_block`] in ordinary tensor operations.
pub fn set_block_composed(queries: SetQueries, keys: Ragged, args: SetBlockArgs) -> Ragged {
    block(queries, keys, args).0
}

/// The block and its attention weights, `[sets, heads, longest queries, longest keys]`; the weights of
/// padding are 0.
pub fn set_block_weights(queries: SetQueries, keys: Ragged, args: SetBlockArgs) -> (Ragged, Tensor<4>) {
    block(queries, keys, args)
}

fn block(queries: SetQueries, keys: Ragged, args: SetBlockArgs) -> (Ragged, Tensor<4>) {
    let queries = match queries {
        SetQueries::Own(own) => own,
        SetQueries::Shared(rows) => {
            let [each, width] = rows.dims();
            Ragged::uniform(rows.reshape([1, each, width]).expand([keys.count(), each, width]))
        }
    };
    let width = args.query.weight.dims()[1];
    let projected = queries.with_rows(affine(queries.rows.clone(), args.query));
    let options = AttentionOptions {
        scale: args.scale,
        mask: keys.mask(),
        ..AttentionOptions::new(args.heads, width / args.heads.max(1))
    };
    let padded = |linear: Affine| keys.with_rows(affine(keys.rows.clone(), linear)).to_padded();
    let (key, value) = (padded(args.key), padded(args.value));
    let (heads, weights) = attention_weights(projected.to_padded(), key, value, None, &options);
    let lengths: Vec<usize> = queries.lengths().collect();
    let mut attended = Ragged::from_padded(heads, &lengths).rows;
    if let Some(out) = args.out {
        attended = affine(attended, out);
    }
    let mut rows = match args.residual {
        Residual::Projected => projected.rows + attended,
        Residual::Raw => queries.rows.clone() + attended,
        Residual::None => attended,
    };
    if let Some(feed) = args.feed {
        rows = rows.clone() + activation::relu(affine(rows, feed));
    }
    (queries.with_rows(rows), weights)
}

/// `x · weight + bias`. Without rows the result is empty; matrix products do not guarantee this.
fn affine(x: Tensor<2>, Affine { weight, bias }: Affine) -> Tensor<2> {
    let columns = weight.dims()[1];
    if x.dims()[0] == 0 {
        return Tensor::zeros([0, columns], &x.device());
    }
    x.matmul(weight) + bias.reshape([1, columns])
}
