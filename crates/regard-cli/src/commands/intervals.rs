//! Prediction intervals of `regard predict`, for models of sets and graphs that predict numbers.

use regard::data::predictions::{Intervals, Predicted};
use regard::supervised::intervals::examples_needed;
use regard::supervised::{Family, Model};

use crate::args::PredictArgs;
use crate::failure::Failure;
use crate::report::Printer;

/// Levels in per cent where none are given.
const LEVELS: [f64; 2] = [80.0, 95.0];

/// Predictions of a model with the intervals that the arguments ask for; `numeric` if the model predicts numbers.
pub(super) fn with_intervals<F: Family>(
    predicted: Predicted,
    model: &Model<F>,
    numeric: bool,
    args: &PredictArgs,
    printer: &Printer,
) -> anyhow::Result<Predicted> {
    let levels = if args.levels.is_empty() { &LEVELS[..] } else { &args.levels };
    let (tasks, values) = match predicted {
        Predicted::Numbers { tasks, values, .. } if numeric => (tasks, values),
        other if args.levels.is_empty() => return Ok(other),
        _ => {
            let what = format!("--levels: `{}` predicts no numbers, so it has no intervals", args.model.display());
            return Err(Failure::new(what).hint("leave it out; the probabilities are written").into());
        }
    };
    if let Some(level) = levels.iter().find(|level| !(**level > 0.0 && **level <= 99.9)) {
        return Err(Failure::new(format!("--levels has {level}; expected percentages above 0 and at most 99.9"))
            .hint("for example --levels 80,95")
            .into());
    }
    let Some(errors) = &model.errors else {
        printer.note(&format!(
            "no prediction intervals: `{}` has no errors of validation examples; train it again, with validation \
             examples, to have them",
            args.model.display()
        ));
        return Ok(Predicted::Numbers { tasks, values, intervals: vec![] });
    };
    let counts = errors.counts();
    if counts.len() != tasks.len() {
        let what = format!(
            "{}: validation_errors.json has {} tasks, the model {}",
            args.model.display(),
            counts.len(),
            tasks.len()
        );
        return Err(Failure::new(what).hint("the file is that of another model; remove it").into());
    }
    let mut intervals = Vec::new();
    for &level in levels {
        let Some(half_widths) = errors.half_widths(level) else {
            let needed = examples_needed(level);
            let (at, found) = counts.iter().enumerate().min_by_key(|(_, count)| **count).unwrap_or((0, &0));
            let need = format!("intervals of {level} % need {needed} validation examples");
            let what = match &tasks[..] {
                [_] => format!("{need} with a target; the model has {found}"),
                several => format!("{need} of every target; the model has {found} of `{}`", several[at]),
            };
            if !args.levels.is_empty() {
                let hint = "give a lower level, or train with more validation examples";
                return Err(Failure::new(format!("--levels: {what}")).hint(hint).into());
            }
            printer.note(&format!("{what}: left out; --levels gives other levels"));
            continue;
        };
        intervals.push(Intervals { level, half_widths });
    }
    Ok(Predicted::Numbers { tasks, values, intervals })
}
