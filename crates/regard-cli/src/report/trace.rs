//! The trace of a model as a page of text.

use regard::explain::{Trace, TraceStep};

use super::{Align, Table, number};

/// Rows and columns of a step that are printed.
const MOST: usize = 16;

/// Everything that is printed of a trace: its steps, or their numbers too.
pub(crate) fn page(trace: &Trace, with_numbers: bool, full: bool) -> String {
    let plural = if trace.steps.len() == 1 { "" } else { "s" };
    let mut text = format!("{}: {}, {} step{plural}\n", trace.model, trace.input, number::count(trace.steps.len()));
    if !with_numbers {
        text += &decisions(trace);
        text += &super::learning::tables(trace, full);
        text += &list(trace);
        return text;
    }
    for step in &trace.steps {
        text += &format!("\n{}\n", heading(step));
        text += &numbers(step, if full { usize::MAX } else { MOST });
    }
    text
}

/// `layer.0.attention = softmax(x)   from layer.0.score   [edge 12, head 4]   Vaswani et al. 2017`.
fn heading(step: &TraceStep) -> String {
    let recorded = &step.recorded;
    let formula = recorded.operation.formula();
    let formula = if formula.is_empty() { "given".to_owned() } else { formula };
    let letters = ["x", "y", "z"].iter().map(|letter| (*letter).to_owned()).chain(std::iter::repeat("…".to_owned()));
    let from: Vec<String> =
        recorded.from.iter().zip(letters).map(|(from, letter)| format!("{letter} = {from}")).collect();
    let parts = [format!("{} = {formula}", recorded.name), from.join(", "), shape(step), recorded.source.to_owned()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("   ")
}

pub(super) fn shape(step: &TraceStep) -> String {
    let axes: Vec<String> = step.axes.iter().map(|axis| format!("{} {}", axis.name, axis.labels.len())).collect();
    if axes.is_empty() { "one number".to_owned() } else { format!("[{}]", axes.join(", ")) }
}

/// A line for each step.
fn list(trace: &Trace) -> String {
    let mut table = Table::new(&[Align::Left, Align::Left, Align::Left]);
    for step in &trace.steps {
        table.row([step.recorded.name.clone(), shape(step), step.recorded.operation.formula()]);
    }
    format!("\nsteps\n{}", table.render(2, 2))
}

/// The decisions of a policy: what was chosen with which probability, what it cost to take another node, and why nodes
/// were barred. Empty for other models.
fn decisions(trace: &Trace) -> String {
    let step = |at: usize, name: &str| trace.step(&format!("decode.{at}.{name}"));
    let mut table = Table::new(&[Align::Right, Align::Left, Align::Right, Align::Left, Align::Left]);
    table.row(["step", "chosen", "probability", "regret of others", "barred"]);
    let mut at = 0;
    while let (Some(probability), Some(choice)) = (step(at, "probability"), step(at, "choice")) {
        let node = choice.recorded.values[0] as usize;
        let names = &probability.axes[0].labels;
        let others = step(at, "regret").map_or_else(String::new, |regret| {
            let costs = regret.axes[0].labels.iter().zip(&regret.recorded.values);
            costs
                .map(|(name, cost)| format!("{name} {}{}", if *cost < 0.0 { "" } else { "+" }, short(*cost)))
                .collect::<Vec<_>>()
                .join(", ")
        });
        let barred = step(at, "mask").map_or_else(String::new, |mask| reasons(&mask.recorded.notes));
        let share = format!("{:.1} %", 100.0 * probability.recorded.values[node]);
        table.row([at.to_string(), names[node].clone(), share, others, barred]);
        at += 1;
    }
    if at == 0 {
        return String::new();
    }
    let likelihood = step(at - 1, "log_likelihood").map_or(f32::NAN, |step| step.recorded.values[0]);
    let mut text = format!("\ndecisions, log-probability {likelihood:.4} in all\n{}", table.render(2, 2));
    if let Some(stages) = trace.step("solution.cost") {
        let costs = stages.axes[0].labels.iter().zip(&stages.recorded.values);
        let costs: Vec<String> = costs.map(|(name, cost)| format!("{name} {}", short(*cost))).collect();
        text += &format!("\ncost after each stage of `regard solve`: {}\n", costs.join(", "));
    }
    text
}

/// `3 visited, 2 capacity`.
fn reasons(notes: &[String]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for note in notes.iter().filter(|note| !note.is_empty()) {
        match counts.iter_mut().find(|(known, _)| known == note) {
            Some((_, count)) => *count += 1,
            None => counts.push((note, 1)),
        }
    }
    counts.into_iter().map(|(note, count)| format!("{count} {note}")).collect::<Vec<_>>().join(", ")
}

/// The worked example as a text has it that rounds every step to three digits.
pub(crate) fn rounded_by_hand() -> String {
    let rounded = |value: f64| (value * 1000.0).round() / 1000.0;
    let score = rounded(1.0 / 2.0_f64.sqrt());
    let own = rounded(score.exp());
    let (total, share) = (own + 1.0, rounded(own / (own + 1.0)));
    format!(
        "\na text that rounds every step to three digits: 1/√2 = {score:.3}, e^{score:.3} = {own:.3}, {own:.3} / {total:.3} \
         = {share:.3}, and {:.3} for the other token\n",
        1.0 - share
    )
}

/// The values of a step: a table for each index of the axes before the last two.
fn numbers(step: &TraceStep, most: usize) -> String {
    let (recorded, axes) = (&step.recorded, &step.axes);
    match &axes[..] {
        [] => format!("  {}\n", cell(recorded.values[0])),
        [one] => {
            let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
            let mut rows: Vec<usize> = (0..one.labels.len()).collect();
            // Of many nodes those are printed that count most.
            let by_size = rows.len() > most && !is_ordered(one);
            rows.truncate(if by_size { usize::MAX } else { most });
            // What has a note is what a reader looks for: nodes that are barred, with the reason.
            let noted = |at: usize| recorded.notes.get(at).is_some_and(|note| !note.is_empty());
            let with_notes = rows.iter().any(|&at| noted(at));
            if by_size {
                let value = |at: usize| recorded.values[at];
                rows.sort_by(|&a, &b| noted(b).cmp(&noted(a)).then(value(b).total_cmp(&value(a))));
                rows.truncate(most);
            }
            for at in rows {
                let note = recorded.notes.get(at).cloned().unwrap_or_default();
                table.row([one.labels[at].clone(), cell(recorded.values[at]), note]);
            }
            let largest = match (by_size, with_notes) {
                (false, _) => String::new(),
                (true, true) => format!("  {most} of {}, those with a note first\n", one.labels.len()),
                (true, false) => format!("  the {most} largest\n"),
            };
            largest + &table.render(2, 2) + &left_out(one.labels.len(), most, &one.name)
        }
        // A line over time reads downwards.
        [rows, columns] if rows.labels.len() == 1 && is_ordered(columns) => {
            let mut table = Table::new(&[Align::Left, Align::Right]);
            table.row([&columns.name, &rows.labels[0]]);
            for (label, value) in columns.labels.iter().zip(&recorded.values).take(most) {
                table.row([label.clone(), cell(*value)]);
            }
            table.render(2, 2) + &left_out(columns.labels.len(), most, &columns.name)
        }
        [before @ .., rows, columns] => {
            let size = rows.labels.len() * columns.labels.len();
            let mut text = String::new();
            for (at, block) in recorded.values.chunks(size.max(1)).enumerate() {
                if !before.is_empty() {
                    text += &format!("  {}\n", place(before, at));
                }
                text += &matrix(block, rows, columns, most);
            }
            text
        }
    }
}

/// `head 2`, of the axes before a table.
pub(super) fn place(before: &[regard::explain::Axis], at: usize) -> String {
    let mut rest = at;
    let mut parts: Vec<String> = Vec::new();
    for axis in before.iter().rev() {
        let length = axis.labels.len().max(1);
        parts.push(format!("{} {}", axis.name, axis.labels[rest % length]));
        rest /= length;
    }
    parts.reverse();
    parts.join(", ")
}

/// If true, the indices of an axis follow each other in time, and their order says more than their numbers.
fn is_ordered(axis: &regard::explain::Axis) -> bool {
    ["lag", "step ahead"].contains(&axis.name.as_str())
}

fn matrix(values: &[f32], rows: &regard::explain::Axis, columns: &regard::explain::Axis, most: usize) -> String {
    // Of many places that have names those count most that a row looks at most.
    let of_items = ["node", "customer", "row", "key", "edge", "patch"].contains(&columns.name.as_str());
    let named = columns.labels.iter().any(|label| label.parse::<usize>().is_err());
    if columns.labels.len() > most && (of_items || named && !is_ordered(columns)) {
        return largest(values, rows, columns, most);
    }
    let shown = columns.labels.len().min(most);
    let mut align = vec![Align::Left];
    align.extend(vec![Align::Right; shown]);
    let mut table = Table::new(&align);
    let heads = columns.labels.iter().take(shown).cloned();
    table.row([format!("{} \\ {}", rows.name, columns.name)].into_iter().chain(heads));
    for (name, row) in rows.labels.iter().zip(values.chunks(columns.labels.len().max(1))).take(most) {
        table.row([name.clone()].into_iter().chain(row.iter().take(shown).map(|value| cell(*value))));
    }
    table.render(2, 2)
        + &left_out(rows.labels.len(), most, &rows.name)
        + &left_out(columns.labels.len(), most, &columns.name)
}

/// The largest numbers of each row, with the names of their columns.
fn largest(values: &[f32], rows: &regard::explain::Axis, columns: &regard::explain::Axis, most: usize) -> String {
    const SHOWN: usize = 5;
    let mut table = Table::new(&[Align::Left, Align::Left]);
    table.row([
        format!("{} \\ {}", rows.name, columns.name),
        format!("the {SHOWN} largest of {}", columns.labels.len()),
    ]);
    for (name, row) in rows.labels.iter().zip(values.chunks(columns.labels.len().max(1))).take(most) {
        let mut order: Vec<usize> = (0..row.len()).collect();
        order.sort_by(|&a, &b| row[b].total_cmp(&row[a]));
        let parts: Vec<String> =
            order.iter().take(SHOWN).map(|&at| format!("{} {}", columns.labels[at], cell(row[at]))).collect();
        table.row([name.clone(), parts.join(", ")]);
    }
    table.render(2, 2)
        + &left_out(rows.labels.len(), most, &rows.name)
        + &left_out(columns.labels.len(), SHOWN, &columns.name)
}

/// A line about rows or columns that are not printed.
fn left_out(count: usize, most: usize, what: &str) -> String {
    match count.checked_sub(most) {
        None | Some(0) => String::new(),
        Some(more) => format!("  … {more} more of `{what}`; --full prints them\n"),
    }
}

/// A cost with five digits or so.
fn short(value: f32) -> String {
    let value = if value.abs() < 5e-5 { 0.0 } else { value };
    match value.abs() {
        size if size >= 100.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}

fn cell(value: f32) -> String {
    if value == f32::NEG_INFINITY {
        return "barred".to_owned();
    }
    // -0 and 0 look the same.
    let value = if value == 0.0 { 0.0 } else { value };
    let text = if value.fract() == 0.0 && value.abs() < 1e6 { format!("{value:.0}") } else { format!("{value:.5}") };
    if text == "-0.00000" { "0.00000".to_owned() } else { text }
}
