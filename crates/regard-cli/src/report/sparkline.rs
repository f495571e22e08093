//! A series and its forecast in one line of text.

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Largest number of bars for observed values, and for forecast ones.
const OBSERVED: usize = 48;
const FORECAST: usize = 32;

/// A name, the end of a series, and its forecast.
pub(crate) fn line(name: &str, observed: &[f32], forecast: &[f32]) -> String {
    let window = &observed[observed.len() - observed.len().min(OBSERVED.max(3 * forecast.len()))..];
    let (observed, forecast) = (pooled(window, OBSERVED), pooled(forecast, FORECAST));
    let known = || observed.iter().chain(&forecast).copied().filter(|value| value.is_finite());
    let (low, high) = known().fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    let bar = |&value: &f32| match value.is_finite() {
        false => ' ',
        true if high > low => BARS[(((value - low) / (high - low)) * 7.0).round() as usize],
        true => BARS[3],
    };
    let text = |values: &[f32]| values.iter().map(bar).collect::<String>();
    format!("{name}  {}│{}", text(&observed), text(&forecast))
}

/// At most `most` means of neighbours; missing values are left out.
fn pooled(values: &[f32], most: usize) -> Vec<f32> {
    let of = values.len().div_ceil(most).max(1);
    let mean = |part: &[f32]| {
        let known = part.iter().filter(|value| value.is_finite());
        let (sum, count) = known.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
        sum / count
    };
    values.chunks(of).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rising_line_rises() {
        assert_eq!(line("a", &[0.0, 1.0, 2.0], &[3.0, 7.0]), "a  ▁▂▃│▄█");
        assert_eq!(line("b", &[5.0, f32::NAN, 5.0], &[5.0]), "b  ▄ ▄│▄");
        let long: Vec<f32> = (0..1000).map(|x| x as f32).collect();
        assert_eq!(line("c", &long, &[999.0]).chars().count(), 3 + OBSERVED + 1 + 1);
    }
}
