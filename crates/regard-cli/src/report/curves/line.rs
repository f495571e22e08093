//! Lines through many noisy values: smoothing, thinning, and cutting at the edge of a panel.

/// A place in the picture, or an abscissa and its value.
pub(super) type Point = (f64, f64);

/// A line has at most this many points; a picture is hardly wider.
const MOST_POINTS: usize = 800;

/// How many neighbours on each side take part in the running mean of `len` values.
fn reach(len: usize) -> usize {
    (len / 50).clamp(1, 100)
}

/// The running mean. Near the start it takes fewer neighbours, on both sides alike, lest it flatten
/// the slope there; near the end it takes those that there are.
pub(super) fn smooth(points: &[Point]) -> Vec<Point> {
    let reach = reach(points.len());
    let mut sums = Vec::with_capacity(points.len() + 1);
    sums.push(0.0);
    let mut sum = 0.0;
    for (_, value) in points {
        sum += value;
        sums.push(sum);
    }
    let mean = |i: usize| {
        let reach = reach.min(i);
        let (from, to) = (i - reach, (i + reach + 1).min(points.len()));
        (sums[to] - sums[from]) / (to - from) as f64
    };
    points.iter().enumerate().map(|(i, &(x, _))| (x, mean(i))).collect()
}

/// Fewer points that look the same: of each stretch its lowest and its highest.
pub(super) fn thin(points: Vec<Point>) -> Vec<Point> {
    if points.len() <= MOST_POINTS {
        return points;
    }
    let stretch = (2 * points.len()).div_ceil(MOST_POINTS);
    let mut thinned = Vec::with_capacity(MOST_POINTS + 2);
    for part in points.chunks(stretch) {
        let by_value = |&(_, a): &(usize, Point), &(_, b): &(usize, Point)| a.1.total_cmp(&b.1);
        let indexed = || part.iter().copied().enumerate();
        if let (Some(low), Some(high)) = (indexed().min_by(by_value), indexed().max_by(by_value)) {
            let (first, second) = if low.0 <= high.0 { (low, high) } else { (high, low) };
            thinned.push(first.1);
            if second.0 != first.0 {
                thinned.push(second.1);
            }
        }
    }
    thinned
}

/// The parts of a line with ordinates from `low` to `high`.
pub(super) fn cut(line: &[Point], low: f64, high: f64) -> Vec<Vec<Point>> {
    let mut parts: Vec<Vec<Point>> = Vec::new();
    for leg in line.windows(2) {
        let Some((from, to)) = inside(leg[0], leg[1], low, high) else { continue };
        match parts.last_mut() {
            Some(part) if part.last() == Some(&from) => part.push(to),
            _ => parts.push(vec![from, to]),
        }
    }
    parts
}

fn inside(a: Point, b: Point, low: f64, high: f64) -> Option<(Point, Point)> {
    if a.1.max(b.1) < low || a.1.min(b.1) > high {
        return None;
    }
    let end = |from: Point, to: Point| {
        let value = from.1.clamp(low, high);
        if value == from.1 {
            return from;
        }
        (from.0 + (value - from.1) / (to.1 - from.1) * (to.0 - from.0), value)
    };
    Some((end(a, b), end(b, a)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: impl IntoIterator<Item = f64>) -> Vec<Point> {
        values.into_iter().enumerate().map(|(i, value)| (i as f64, value)).collect()
    }

    #[test]
    fn smoothing_keeps_straight_lines_and_calms_noise() {
        let straight = points((0..500).map(|i| 3.0 - 0.01 * f64::from(i)));
        for (before, after) in straight.iter().zip(smooth(&straight)).take(490) {
            assert!((before.1 - after.1).abs() < 1e-9);
        }
        let noisy = points((0..500).map(|i| f64::from(i % 2)));
        assert!(smooth(&noisy)[20..480].iter().all(|point| (point.1 - 0.5).abs() < 0.1));
        assert!(smooth(&[]).is_empty());
    }

    #[test]
    fn thinning_keeps_the_extremes_and_the_order() {
        let many = points((0..10_000).map(|i| if i == 5000 { 9.0 } else { f64::from(i % 7) }));
        let thinned = thin(many);
        assert!(thinned.len() <= MOST_POINTS + 2);
        assert!(thinned.contains(&(5000.0, 9.0)));
        assert!(thinned.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(thin(points([1.0, 2.0])).len(), 2);
    }

    #[test]
    fn lines_end_at_the_edge() {
        let line = points([4.0, 0.0, 4.0, 1.0, 1.0]);
        let parts = cut(&line, 0.0, 2.0);
        assert_eq!(parts[0], [(0.5, 2.0), (1.0, 0.0), (1.5, 2.0)]);
        assert_eq!(parts[1].len(), 3);
        assert_eq!((parts[1][0].1, parts.len()), (2.0, 2));
        assert!(cut(&points([5.0, 5.0]), 0.0, 2.0).is_empty());
    }
}
