//! Views of sets: pooled columns, the items themselves, and totals of columns.

use regard_data::Result;

use super::pool;
use crate::tabular::View;

/// The name of the view of pooled columns.
pub const POOLED: &str = "pooled columns";
/// The name of the view of items.
pub const ITEMS: &str = "items";
/// The name of the view of totals.
pub const TOTALS: &str = "column totals";

/// The most values of a view of items, 512 MB: with more there is none.
const MOST_VALUES: usize = 1 << 27;

/// Statistics of a column of which a set has no value: their sum is 0, the others are missing.
const NO_VALUES: [f32; 5] = [f32::NAN, f32::NAN, f32::NAN, f32::NAN, 0.0];

/// Views of sets with the items `features [items, width]`, NaN where a value is missing; set `i` owns the items
/// `offsets[i]..offsets[i + 1]`.
///
/// The view [`POOLED`] has for each column its mean, smallest and largest value and standard deviation in a set, and
/// at the end the number of items and its logarithm: `[sets, 4 · width + 2]`. The view [`ITEMS`] has the items. The view
/// [`TOTALS`] has the sum of each column in a set and the number of items, `[sets, width + 1]`. The value of an order is
/// such a sum over its items; if sets differ in size, their means do not give it.
///
/// ```
/// use regard_base::features::sets::views;
///
/// let views = views(&[1.0, 3.0, 5.0], 1, &[0, 2, 3])?;
/// assert_eq!(views[0].row(0), [2.0, 1.0, 3.0, 1.0, 2.0, 2f32.ln_1p()]);
/// assert_eq!(views[2].row(0), [4.0, 2.0]);
/// # Ok::<(), regard_data::Error>(())
/// ```
///
/// # Errors
/// [`Error::Invalid`](regard_data::Error::Invalid) when values or offsets do not fit together.
pub fn views(features: &[f32], width: usize, offsets: &[usize]) -> Result<Vec<View>> {
    let sets = offsets.len().saturating_sub(1);
    let mut pooled = Vec::with_capacity(sets * (4 * width + 2));
    let mut totals = Vec::with_capacity(sets * (width + 1));
    for pair in offsets.windows(2) {
        let items = &features[pair[0] * width..pair[1] * width];
        for column in 0..width {
            let values = items.iter().skip(column).step_by(width).copied().filter(|value| value.is_finite());
            let [statistics @ .., total] = pool(values).unwrap_or(NO_VALUES);
            pooled.extend(statistics);
            totals.push(total);
        }
        let count = (pair[1] - pair[0]) as f32;
        totals.push(count);
        pooled.extend([count, count.ln_1p()]);
    }
    let mut views = vec![View::new(POOLED, pooled, 4 * width + 2)?];
    if width > 0 && features.len() <= MOST_VALUES {
        views.push(View::instances(ITEMS, features.to_vec(), width, offsets.to_vec())?);
    }
    views.push(View::new(TOTALS, totals, width + 1)?);
    Ok(views)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_values_are_left_out_of_the_pools() {
        let views = views(&[f32::NAN, 2.0, 4.0, f32::NAN], 1, &[0, 3, 4, 4]).unwrap();
        assert_eq!(&views[0].row(0)[..4], [3.0, 2.0, 4.0, 1.0]);
        assert!(views[0].row(1)[..4].iter().all(|value| value.is_nan()));
        assert_eq!(views[0].row(2)[4], 0.0);
        assert_eq!((views[1].examples(), views[1].rows()), (3, 4));
    }

    #[test]
    fn the_order_of_items_does_not_matter() {
        let one = views(&[1.0, 10.0, 2.0, 20.0, 4.0, 5.0], 2, &[0, 3]).unwrap();
        let other = views(&[4.0, 5.0, 2.0, 20.0, 1.0, 10.0], 2, &[0, 3]).unwrap();
        assert_eq!(one[0].values(), other[0].values());
    }
}
