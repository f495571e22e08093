//! The keys by which a [`ProbAttention`](crate::ProbAttention) judges its queries.

use burn::tensor::{Device, Int, Tensor, TensorData};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Some keys for every query, the same in all items and heads; a key may come more than once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledKeys {
    queries: usize,
    keys: usize,
    /// Row-major, `[queries, samples]`.
    indices: Vec<usize>,
}

impl SampledKeys {
    /// Given keys: `rows[l]` are those of query `l`, each below `keys`.
    ///
    /// # Panics
    /// If the rows differ in length, or an index is not below `keys`.
    pub fn new(keys: usize, rows: &[Vec<usize>]) -> Self {
        let samples = rows.first().map_or(0, Vec::len);
        assert!(rows.iter().all(|row| row.len() == samples), "sampled keys: {samples} for every query");
        let indices = rows.concat();
        assert!(indices.iter().all(|&index| index < keys), "sampled keys: indices below {keys}");
        Self { queries: rows.len(), keys, indices }
    }

    /// `samples` of the `keys` for each of `queries`, uniform and independent; none where there is no key.
    pub fn draw(queries: usize, keys: usize, samples: usize, seed: u64) -> Self {
        let count = if keys == 0 { 0 } else { queries * samples };
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let indices = (0..count).map(|_| random.random_range(0..keys)).collect();
        Self { queries, keys, indices }
    }

    /// Number of queries and of keys they are made for.
    pub fn sizes(&self) -> [usize; 2] {
        [self.queries, self.keys]
    }

    /// Number of keys for each query.
    pub fn samples(&self) -> usize {
        self.indices.len() / self.queries.max(1)
    }

    /// The sample of that number of every query, `[queries]`.
    pub(crate) fn column(&self, sample: usize, device: &Device) -> Tensor<1, Int> {
        let column = self.indices.iter().skip(sample).step_by(self.samples()).map(|&index| index as i64);
        Tensor::from_data(TensorData::new(column.collect::<Vec<i64>>(), [self.queries]), device)
    }
}
