//! Ridge regression from the last values to the next ones, in closed form: all steps of the horizon at once, or one step
//! at a time, for all series together or each on its own. Look-back, normalisation, logarithms and penalty are chosen
//! by errors after the validation origins.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use regard_data::least_squares::LeastSquares;

use super::budget::{Progress, Stage};
use super::history::logarithms;
use super::members::Member;
use super::plan::Plan;
use super::simple::{naive, seasonal_naive};

const PENALTIES: [f64; 5] = [1e-4, 1e-3, 1e-2, 1e-1, 1.0];
/// The penalty by which anchors are compared, and that without validation. Solving takes most of the time of maps with
/// long look-backs.
const MIDDLE_PENALTY: f64 = 1e-2;
/// Multiplications for the normal equations of one map; beyond that only every other, third, … window is taken.
const MOST_PRODUCTS: f64 = 3e9;
const LONGEST_LOOK_BACK: usize = 512;
/// Rows that are added at once.
const BLOCK: usize = 256;

/// The number that is subtracted from a window, so that 0 is a fair forecast of what is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anchor {
    /// The last value.
    Last,
    /// The mean of the look-back.
    Mean,
    /// The value a season before each step; inputs are differences from the mean of the last season.
    Season(usize),
}

/// The rows a map is fitted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// Windows of all series.
    All,
    /// Windows of one series.
    Each,
}

#[derive(Clone, Copy, Debug)]
struct Config {
    scope: Scope,
    look_back: usize,
    anchor: Anchor,
    logarithm: bool,
    /// If true, the map gives one step, and is applied to its own forecasts.
    recursive: bool,
}

/// Forecasts of one configuration with each penalty, `[penalty][series][origin][steps]`.
type Found = Vec<Vec<Vec<Vec<f64>>>>;

/// A configuration, its forecasts `[series][origin][steps]` and their validation error.
type Best = (Config, Vec<Vec<Vec<f64>>>, f64);

/// The maps' members: the best for all series, the best for each series, and the best of one step. `None` if time
/// ran out before there was one.
pub(super) fn ridge_members(plan: &Plan, positive: bool, progress: Progress<'_>) -> Option<Vec<Member>> {
    let rows = typical_rows(plan);
    let horizon = plan.origins[0].steps;
    let mut members = vec![];
    let several = plan.len() > 1;
    for (scope, recursive, name) in [
        (Scope::Each, true, "AR ridge per series"),
        (Scope::All, false, "ridge over series"),
        (Scope::Each, false, "ridge per series"),
    ] {
        if scope == Scope::All && !several {
            continue;
        }
        let target = if recursive { 1 } else { horizon };
        let look_backs = look_backs(plan, rows, target, scope);
        let Some(&middle) = look_backs.get(look_backs.len() / 2) else { continue };
        let mut anchors = vec![Anchor::Last, Anchor::Mean];
        anchors.extend(plan.seasons.iter().filter(|season| **season <= middle).map(|season| Anchor::Season(*season)));
        let logarithms: &[bool] = if positive { &[false, true] } else { &[false] };
        let first: Vec<Config> = anchors
            .iter()
            .flat_map(|&anchor| {
                logarithms.iter().map(move |&logarithm| Config {
                    scope,
                    look_back: middle,
                    anchor,
                    logarithm,
                    recursive,
                })
            })
            .collect();
        // Maps that are compared: the anchors, and then the look-backs.
        let count = AtomicUsize::new(0);
        let maps = first.len() + look_backs.len();
        let seen = || progress(Stage { name, done: count.fetch_add(1, Ordering::Relaxed) + 1, of: maps });
        let Some((best, mut found, _)) = best_of(plan, &first, &[MIDDLE_PENALTY], &seen) else {
            return if members.is_empty() { None } else { Some(members) };
        };
        let mut second = vec![best];
        let others = look_backs.iter().filter(|look_back| **look_back != middle);
        second.extend(others.map(|&look_back| Config { look_back, ..best }));
        if let Some((_, better, _)) = best_of(plan, &second, &PENALTIES, &seen) {
            found = better;
        }
        members.push(Member { name: name.into(), forecasts: found });
    }
    Some(members)
}

/// The number of rows before the oldest origin that half of the series have.
fn typical_rows(plan: &Plan) -> usize {
    let rows = |series: usize| plan.series[series].history(0, &plan.origins[0]).map_or(0, <[f64]>::len);
    let mut all: Vec<usize> = (0..plan.len()).map(rows).collect();
    all.sort_unstable();
    all[all.len() / 2]
}

/// Look-backs that leave enough windows.
fn look_backs(plan: &Plan, rows: usize, target: usize, scope: Scope) -> Vec<usize> {
    let horizon = plan.origins[0].steps;
    let mut wanted: Vec<usize> = match plan.seasons[..] {
        [] => vec![4, 8, 16, 32, horizon],
        [season] => vec![season + 1, 2 * season, 3 * season, 4 * season],
        [short, long, ..] => vec![2 * short, long + short, 2 * long],
    };
    if scope == Scope::All {
        wanted.retain(|one| plan.seasons.is_empty() || *one > plan.seasons[0] + 1);
    }
    // So many windows remain: as many as inputs for a map of each series, fewer where all series share one.
    let most = match scope {
        Scope::Each => rows.saturating_sub(target) / 2,
        Scope::All => rows.saturating_sub(target) * 2 / 3,
    };
    let most = most.min(LONGEST_LOOK_BACK);
    wanted.retain(|one| (2..=most).contains(one));
    if wanted.is_empty() && most >= 3 {
        wanted.push(most);
    }
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}

/// The configuration and penalty with the smallest validation error; without validation the first configuration
/// with the middle penalty. `None` without configurations or time.
fn best_of(plan: &Plan, configs: &[Config], penalties: &[f64], seen: &(dyn Fn() + Sync)) -> Option<Best> {
    let one = |config: &Config| {
        let found = run(plan, *config, penalties);
        seen();
        found
    };
    let found: Vec<Option<Found>> = configs.par_iter().map(one).collect();
    let mut best: Option<Best> = None;
    for (config, found) in configs.iter().zip(found) {
        for (penalty, forecasts) in penalties.iter().zip(found?) {
            let unknown = if *penalty == MIDDLE_PENALTY { 0.0 } else { 1.0 };
            let error = plan.validation_error(&forecasts).unwrap_or(unknown);
            if best.as_ref().is_none_or(|best| error < best.2) {
                best = Some((*config, forecasts, error));
            }
        }
    }
    best
}

/// A series as the maps see it.
struct Input<'a> {
    values: Cow<'a, [f64]>,
    scale: f64,
}

impl Config {
    fn input<'a>(&self, values: &'a [f64], scale: Option<f64>) -> Input<'a> {
        let values: Cow<'a, [f64]> = if self.logarithm { logarithms(values).into() } else { values.into() };
        let scale = scale.unwrap_or_else(|| {
            let lag = if let Anchor::Season(season) = self.anchor { season } else { 1 };
            let pairs = values.iter().zip(values.get(lag..).unwrap_or(&[]));
            let (sum, count) = pairs.fold((0.0, 0.0), |(sum, count), (a, b)| (sum + (a - b).abs(), count + 1.0));
            if count > 0.0 && sum > 1e-12 * count { sum / count } else { 1.0 }
        });
        Input { values, scale }
    }

    /// Inputs from `look_back` values: normalised lags and a constant. Gives what steps are counted from.
    fn inputs(&self, lags: &[f64], scale: f64, x: &mut Vec<f64>) -> f64 {
        let tail = match self.anchor {
            Anchor::Last => 1,
            Anchor::Mean => lags.len(),
            Anchor::Season(season) => season.min(lags.len()),
        };
        let base = lags[lags.len() - tail..].iter().sum::<f64>() / tail as f64;
        x.extend(lags.iter().map(|lag| (lag - base) / scale));
        x.push(0.3);
        base
    }

    /// The forecast that a map of zeros gives for a step.
    fn zero(&self, lags: &[f64], base: f64, step: usize) -> f64 {
        match self.anchor {
            Anchor::Last | Anchor::Mean => base,
            Anchor::Season(season) if season <= lags.len() => lags[lags.len() - season + step % season],
            Anchor::Season(_) => base,
        }
    }
}

/// Fits and forecasts at all origins, the oldest first: each adds the windows that are new since the one before.
fn run(plan: &Plan, config: Config, penalties: &[f64]) -> Option<Found> {
    match config.scope {
        Scope::All => run_group(plan, config, penalties, &(0..plan.len()).collect::<Vec<_>>()),
        Scope::Each => {
            let one = |series: usize| run_group(plan, config, penalties, &[series]);
            let each: Option<Vec<Found>> = (0..plan.len()).into_par_iter().map(one).collect();
            let mut all: Found = vec![vec![]; penalties.len()];
            for found in each? {
                all.iter_mut().zip(found).for_each(|(all, found)| all.extend(found));
            }
            Some(all)
        }
    }
}

fn run_group(plan: &Plan, config: Config, penalties: &[f64], group: &[usize]) -> Option<Found> {
    let look_back = config.look_back;
    let block = if config.recursive { 1 } else { plan.origins[0].steps };
    let width = look_back + 1;
    let end = plan.origins.len() - 1;
    let rows: usize = group.iter().map(|&series| plan.series[series].whole().values.len()).sum();
    let stride = ((rows * width) as f64 * width as f64 / MOST_PRODUCTS).ceil().max(1.0) as usize;
    let mut equations = LeastSquares::new(width, block);
    // Windows whose targets end before these rows have been added.
    let mut added = vec![0; group.len()];
    let mut scales = vec![None; group.len()];
    let mut found: Found = vec![vec![vec![]; group.len()]; penalties.len()];
    let (mut x, mut y) = (vec![], vec![]);
    // The time of the last solution, so that none is begun that ends too late.
    let mut solving = Duration::ZERO;
    for (at, origin) in plan.origins.iter().enumerate() {
        for (member, &series) in group.iter().enumerate() {
            if plan.is_late() {
                return None;
            }
            let Some(history) = plan.series[series].history(at, origin) else { continue };
            let input = config.input(history, scales[member]);
            scales[member] = Some(input.scale);
            let first = added[member].max(look_back + block);
            for until in (first..=history.len()).filter(|until| until % stride == 0 || stride == 1) {
                let window = &input.values[until - block - look_back..until];
                let (lags, target) = window.split_at(look_back);
                let base = config.inputs(lags, input.scale, &mut x);
                y.extend(target.iter().enumerate().map(|(step, y)| (y - config.zero(lags, base, step)) / input.scale));
                if y.len() == BLOCK * block {
                    if plan.is_late() {
                        return None;
                    }
                    equations.add(&x, &y);
                    x.clear();
                    y.clear();
                }
            }
            added[member] = added[member].max(history.len() + 1);
        }
        if !y.is_empty() {
            equations.add(&x, &y);
            x.clear();
            y.clear();
        }
        for (penalty, found) in penalties.iter().zip(&mut found) {
            if plan.time_left().is_some_and(|left| left <= solving) {
                return None;
            }
            let begun = Instant::now();
            let weights = equations.solve(*penalty).ok();
            solving = begun.elapsed();
            for (member, &series) in group.iter().enumerate() {
                let history = plan.series[series].history(at, origin);
                let forecast = history.map_or_else(Vec::new, |history| {
                    let input = config.input(history, scales[member]);
                    let weights = weights.as_deref().filter(|_| history.len() >= look_back);
                    match weights {
                        Some(weights) => config.forecast(&input, weights, block, origin.steps),
                        None if plan.seasons.is_empty() => naive(history, origin.steps),
                        None => seasonal_naive(history, plan.season(), origin.steps),
                    }
                });
                found[member].push(forecast);
            }
        }
    }
    debug_assert!(found.iter().flatten().all(|series| series.len() == end + 1));
    Some(found)
}

impl Config {
    /// Applies a map `[look_back + 1, block]` until there are `horizon` steps.
    fn forecast(&self, input: &Input<'_>, weights: &[f64], block: usize, horizon: usize) -> Vec<f64> {
        let look_back = self.look_back;
        let mut values = input.values[input.values.len() - look_back..].to_vec();
        let mut x = vec![];
        while values.len() < look_back + horizon {
            let lags = &values[values.len() - look_back..];
            x.clear();
            let base = self.inputs(lags, input.scale, &mut x);
            let mut next: Vec<f64> = vec![0.0; block];
            for (x, row) in x.iter().zip(weights.chunks(block)) {
                next.iter_mut().zip(row).for_each(|(next, weight)| *next += x * weight);
            }
            for (step, next) in next.iter_mut().enumerate() {
                *next = self.zero(lags, base, step) + *next * input.scale;
            }
            values.extend(next);
        }
        values.truncate(look_back + horizon);
        let forecast = values.split_off(look_back);
        if self.logarithm { forecast.into_iter().map(f64::exp).collect() } else { forecast }
    }
}
