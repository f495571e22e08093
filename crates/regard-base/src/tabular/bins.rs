//! Columns cut into bins, for trees.

use rayon::prelude::*;

/// The code of a missing value.
pub(crate) const MISSING: u8 = u8::MAX;

/// The most bins a column has, that of missing values aside.
pub(crate) const MOST: usize = 128;

/// The values of columns as places among cuts.
///
/// Code `c` is a value above `cuts[c - 1]` and at most `cuts[c]`.
pub(crate) struct Bins {
    /// The columns that have cuts or missing values.
    pub(crate) columns: Vec<BinnedColumn>,
    /// Where the entries of each row in sparse columns begin.
    pub(crate) starts: Vec<usize>,
    /// Sparse columns row by row: the place in a histogram of all bins.
    pub(crate) entries: Vec<u32>,
    /// The column of each bin, by its place in `columns`.
    pub(crate) owners: Vec<u32>,
    /// The number of bins of all columns.
    pub(crate) total: usize,
}

/// One column.
pub(crate) struct BinnedColumn {
    /// The column of the view.
    pub(crate) at: u32,
    pub(crate) cuts: Vec<f32>,
    /// The code of each row.
    pub(crate) codes: Vec<u8>,
    pub(crate) has_missing: bool,
    /// Where the bins of this column begin in a histogram of all; the bin of missing values is the last.
    pub(crate) start: usize,
    /// The number of bins, that of missing values included.
    pub(crate) count: usize,
    /// The code that most rows have, if the column is stored by the rows that have another.
    pub(crate) common: Option<u8>,
}

impl BinnedColumn {
    /// The place of a code among the bins of this column.
    pub(crate) fn bin(&self, code: u8) -> usize {
        if code == MISSING { self.count - 1 } else { code as usize }
    }
}

impl Bins {
    /// Bins `values [rows, columns]`, with at most so many bins a column.
    pub(crate) fn of(values: &[f32], columns: usize, most: usize) -> Self {
        let rows = values.len() / columns.max(1);
        let binned = |at: usize| {
            let column: Vec<f32> = (0..rows).map(|row| values[row * columns + at]).collect();
            let cuts = cuts(&column, most);
            let code =
                |value: &f32| if value.is_nan() { MISSING } else { cuts.partition_point(|cut| cut < value) as u8 };
            let codes: Vec<u8> = column.iter().map(code).collect();
            let has_missing = codes.contains(&MISSING);
            let count = cuts.len() + 1 + usize::from(has_missing);
            let mut counts = [0usize; 256];
            codes.iter().for_each(|code| counts[*code as usize] += 1);
            let common = (0..256).max_by_key(|code| (counts[*code], 255 - code)).unwrap_or(0);
            let common = (counts[common] * 4 > rows * 3).then_some(common as u8);
            let constant = cuts.is_empty() && counts.iter().filter(|count| **count > 0).count() < 2;
            (!constant).then_some(BinnedColumn { at: at as u32, cuts, codes, has_missing, start: 0, count, common })
        };
        let mut columns: Vec<BinnedColumn> = (0..columns).into_par_iter().filter_map(binned).collect();
        let mut total = 0;
        for column in &mut columns {
            column.start = total;
            total += column.count;
        }
        let (mut starts, mut entries) = (vec![0], Vec::new());
        for row in 0..rows {
            for column in &columns {
                let code = column.codes[row];
                if column.common.is_some_and(|common| common != code) {
                    entries.push((column.start + column.bin(code)) as u32);
                }
            }
            starts.push(entries.len());
        }
        let owners = columns.iter().enumerate().flat_map(|(at, column)| vec![at as u32; column.count]).collect();
        Self { columns, starts, entries, owners, total }
    }
}

/// Cuts between the values of a column: between any two where there are few, else so that bins hold about the same
/// number of rows.
fn cuts(column: &[f32], most: usize) -> Vec<f32> {
    let mut sorted: Vec<f32> = column.iter().copied().filter(|value| !value.is_nan()).collect();
    sorted.sort_unstable_by(f32::total_cmp);
    let mut distinct: Vec<(f32, usize)> = Vec::new();
    for value in &sorted {
        match distinct.last_mut() {
            Some((last, count)) if *last == *value => *count += 1,
            _ => distinct.push((*value, 1)),
        }
    }
    let middle = |a: f32, b: f32| {
        let middle = 0.5 * a + 0.5 * b;
        // Rounding must not put the upper value below its cut.
        if middle >= b { a } else { middle.max(a) }
    };
    if distinct.len() <= most {
        return distinct.windows(2).map(|pair| middle(pair[0].0, pair[1].0)).collect();
    }
    let (mut cuts, mut left, mut bins) = (Vec::new(), sorted.len(), most);
    let mut held = 0;
    for pair in distinct.windows(2) {
        held += pair[0].1;
        // What is left is shared evenly among the bins that are left, so that a frequent value costs only one.
        if held * bins >= left && bins > 1 {
            cuts.push(middle(pair[0].0, pair[1].0));
            left -= held;
            bins -= 1;
            held = 0;
        }
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_respect_cuts() {
        let nan = f32::NAN;
        let bins = Bins::of(&[1.0, 7.0, nan, 3.0, 7.0, 0.0, 2.0, 7.0, 0.0, 1.0, 7.0, 0.0], 3, MOST);
        assert_eq!(bins.columns.len(), 2);
        assert_eq!(
            (bins.columns[0].cuts.as_slice(), bins.columns[0].codes.as_slice()),
            (&[1.5, 2.5][..], &[0, 2, 1, 0][..])
        );
        assert_eq!((bins.columns[1].has_missing, bins.columns[1].count), (true, 2));
    }

    #[test]
    fn many_values_have_bins_of_about_the_same_size() {
        let column: Vec<f32> = (0..10_000).map(|at| if at < 3000 { 0.0 } else { at as f32 }).collect();
        let bins = Bins::of(&column, 1, MOST);
        let mut counts = vec![0; bins.columns[0].count];
        bins.columns[0].codes.iter().for_each(|code| counts[*code as usize] += 1);
        assert!(counts.len() <= MOST && counts[0] == 3000 && counts[1..].iter().all(|count| (30..90).contains(count)));
        let cut = cuts(&[f32::MAX, -f32::MAX, 1.0, 1.000_000_1], MOST);
        assert!(cut.iter().all(|cut| cut.is_finite()) && cut.len() == 3);
    }
}
