//! `regard explain attention` as a page of text.

use regard::explain::{AttentionTrace, Step};

use super::{Align, Table};

/// Columns of one row that are printed; the rest is `…`.
const MOST_COLUMNS: usize = 16;

/// The whole page: one numbered block for each intermediate.
pub(crate) fn attention(trace: &AttentionTrace) -> String {
    let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let mut text = format!(
        "attention, step by step: {}, width {}, {} of width {}, {}\n",
        plural(trace.tokens.len(), "token"),
        trace.width,
        plural(trace.heads, "head"),
        trace.head_width,
        if trace.mask == "none" { "no mask".to_owned() } else { format!("{} mask", trace.mask) },
    );
    for (i, step) in trace.steps.iter().enumerate() {
        text += &format!("\n{}  {}\n", i + 1, title(step));
        let rows = match step.axes[..] {
            [_, _] => by_token(trace, step),
            ["head", ..] => by_pair(trace, step),
            _ => by_head(trace, step),
        };
        text += &rows;
    }
    text
}

/// `q = x Wq: what each token asks for   [2 tokens, 2 heads, head width 2]`.
fn title(step: &Step) -> String {
    let name = if step.formula.is_empty() { step.name } else { &step.formula };
    let axes = step.axes.iter().zip(&step.values.shape).map(|(axis, size)| extent(axis, *size));
    format!("{name}: {}   [{}]", step.meaning, axes.collect::<Vec<_>>().join(", "))
}

/// `2 tokens`, `1 query`, `width 4`.
fn extent(axis: &str, size: usize) -> String {
    match (axis, size) {
        ("width" | "head width", _) => format!("{axis} {size}"),
        (_, 1) => format!("1 {axis}"),
        ("query", _) => format!("{size} queries"),
        _ => format!("{size} {axis}s"),
    }
}

/// `[token, width]`: one row for each token.
fn by_token(trace: &AttentionTrace, step: &Step) -> String {
    let width = step.values.shape[1];
    let decimals = decimals(&step.values.data);
    let mut table = number_table(1, width);
    for (name, row) in trace.tokens.iter().zip(step.values.data.chunks(width)) {
        table.row([name.clone()].into_iter().chain(cells(row, decimals)));
    }
    table.render(4, 2)
}

/// `[token, head, head width]`: one block for each head, one row for each token.
fn by_head(trace: &AttentionTrace, step: &Step) -> String {
    let (heads, width) = (step.values.shape[1], step.values.shape[2]);
    let decimals = decimals(&step.values.data);
    let mut table = number_table(2, width);
    for head in 0..heads {
        for (token, name) in trace.tokens.iter().enumerate() {
            let start = (token * heads + head) * width;
            let label = if token == 0 { format!("head {}", head + 1) } else { String::new() };
            table
                .row([label, name.clone()].into_iter().chain(cells(&step.values.data[start..start + width], decimals)));
        }
    }
    table.render(4, 2)
}

/// `[head, query, key]`: one block for each head, a row for each query, a column for each key.
fn by_pair(trace: &AttentionTrace, step: &Step) -> String {
    let n = trace.tokens.len();
    let decimals = decimals(&step.values.data);
    let mut table = number_table(2, n);
    let keys = trace.tokens.iter().map(|name| format!("→ {name}")).take(MOST_COLUMNS);
    table.row([String::new(), String::new()].into_iter().chain(keys));
    for (i, row) in step.values.data.chunks(n).enumerate() {
        let label = if i % n == 0 { format!("head {}", i / n + 1) } else { String::new() };
        table.row([label, trace.tokens[i % n].clone()].into_iter().chain(cells(row, decimals)));
    }
    table.render(4, 2)
}

fn number_table(labels: usize, columns: usize) -> Table {
    let mut align = vec![Align::Left; labels];
    align.extend(vec![Align::Right; columns.min(MOST_COLUMNS + 1)]);
    Table::new(&align)
}

/// Number of decimals of a step: none if all its numbers are whole, else six, which
/// `f32` can keep.
fn decimals(values: &[f32]) -> usize {
    let whole = |value: &f32| value.fract() == 0.0 || !value.is_finite();
    if values.iter().all(whole) { 0 } else { 6 }
}

fn cells(row: &[f32], decimals: usize) -> Vec<String> {
    let cell = |&value: &f32| {
        // -0 and 0 look the same.
        let value = if value == 0.0 { 0.0 } else { value };
        if value == f32::NEG_INFINITY { "barred".to_owned() } else { format!("{value:.decimals$}") }
    };
    let mut cells: Vec<String> = row.iter().take(MOST_COLUMNS).map(cell).collect();
    if cells.len() < row.len() {
        cells.push("…".to_owned());
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_keeps_one_number_of_decimals() {
        assert_eq!(decimals(&[1.0, f32::NEG_INFINITY]), 0);
        assert_eq!(decimals(&[1.0, 0.5]), 6);
        assert_eq!(cells(&[-0.0, f32::NEG_INFINITY], 0), ["0", "barred"]);
        let long = cells(&[0.5; 20], 2);
        assert_eq!((long.len(), long[0].as_str(), long[16].as_str()), (17, "0.50", "…"));
    }

    #[test]
    fn axes_are_counted() {
        assert_eq!(extent("query", 2), "2 queries");
        assert_eq!(extent("head", 1), "1 head");
        assert_eq!(extent("width", 1), "width 1");
    }
}
