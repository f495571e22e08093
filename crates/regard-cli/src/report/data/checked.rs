//! What checkers found: instances that were read, solutions that keep the rules or not.

use std::path::Path;

use regard::routing::formats::solution::SolutionFormat;
use regard::routing::{Instance, registry};
use serde::Serialize;

use super::duplicates;
use crate::report::number;

/// What a checker says of a solution.
#[derive(Debug)]
pub(crate) enum CheckedSolution {
    /// It keeps all rules.
    Kept {
        /// Its cost, or prize.
        value: f64,
        /// The cost its file says.
        stated: Option<f64>,
        /// Number of closed ways.
        routes: usize,
    },
    /// The rule it breaks.
    Violates(String),
}

/// The result of `regard data check` for one file.
#[derive(Debug, Serialize)]
pub(crate) struct Checked {
    file: String,
    problem: &'static str,
    n: usize,
    metric: &'static str,
    unit: &'static str,
    ok: bool,
    /// Cost (or prize) of the solution, when one was given and is right.
    cost: Option<f64>,
    best_known: Option<f64>,
    gap: Option<f64>,
    /// The constraint that the solution violates.
    violated: Option<String>,
    /// Places that lie where another one lies.
    duplicates: usize,
    #[serde(skip)]
    format: SolutionFormat,
}

impl Checked {
    pub(crate) fn new(file: &Path, instance: &Instance, found: Option<CheckedSolution>) -> Self {
        let sites = instance.sites();
        let (cost, violated) = match found {
            Some(CheckedSolution::Kept { value, .. }) => (Some(value), None),
            Some(CheckedSolution::Violates(rule)) => (None, Some(rule)),
            None => (None, None),
        };
        Self {
            file: file.display().to_string(),
            problem: instance.problem(),
            n: sites.len(),
            metric: sites.metric_name(),
            unit: sites.unit(),
            ok: violated.is_none(),
            cost,
            best_known: instance.best_known(),
            gap: cost.and_then(|cost| instance.gap(cost)),
            violated,
            duplicates: duplicates(sites),
            format: instance.solution_format(),
        }
    }

    /// Whether nothing is wrong.
    pub(crate) fn ok(&self) -> bool {
        self.ok
    }

    pub(crate) fn plain(&self) -> String {
        let Self { file, metric, .. } = self;
        let mut text = format!("{file}   {} places   {metric}", number::count(self.n));
        if self.problem != registry::DEFAULT {
            text += &format!("   {}", self.problem);
        }
        if self.duplicates > 0 {
            text += &format!("   {} in the place of another", number::count(self.duplicates));
        }
        let what = if self.format == SolutionFormat::Tour { "tour" } else { "solution" };
        match (&self.violated, self.cost) {
            (Some(violated), _) => text += &format!("   not a {what}: {violated}"),
            (None, Some(cost)) => text += &format!("   {what} {}, ok", number::quantity(cost, self.unit)),
            (None, None) => text += "   ok",
        }
        if let Some(gap) = self.gap {
            text += &format!(", gap {}", number::gap(gap));
        }
        text
    }
}

/// The result of `regard data verify`.
#[derive(Debug, Serialize)]
pub(crate) struct Verified {
    instance: String,
    solution: String,
    problem: &'static str,
    ok: bool,
    /// Cost in the file's own metric, or the prize.
    cost: Option<f64>,
    /// The cost that the solution file says.
    stated_cost: Option<f64>,
    routes: Option<usize>,
    best_known: Option<f64>,
    gap: Option<f64>,
    /// The constraint that is violated.
    violated: Option<String>,
    #[serde(skip)]
    unit: &'static str,
    #[serde(skip)]
    format: SolutionFormat,
}

impl Verified {
    pub(crate) fn new(file: &Path, solution: &Path, instance: &Instance, found: CheckedSolution) -> Self {
        let (cost, stated_cost, routes, violated) = match found {
            CheckedSolution::Kept { value, stated, routes } => (Some(value), stated, Some(routes), None),
            CheckedSolution::Violates(rule) => (None, None, None, Some(rule)),
        };
        Self {
            instance: file.display().to_string(),
            solution: solution.display().to_string(),
            problem: instance.problem(),
            ok: violated.is_none(),
            cost,
            stated_cost,
            routes,
            best_known: instance.best_known(),
            gap: cost.and_then(|cost| instance.gap(cost)),
            violated,
            unit: if instance.maximises() { "" } else { instance.sites().unit() },
            format: instance.solution_format(),
        }
    }

    /// Whether the solution keeps all rules.
    pub(crate) fn ok(&self) -> bool {
        self.ok
    }

    pub(crate) fn plain(&self) -> String {
        let Some(cost) = self.cost else {
            return format!("{}   violated: {}", self.solution, self.violated.as_deref().unwrap_or_default());
        };
        let mut text = format!("{}   {} {}", self.solution, self.problem, number::quantity(cost, self.unit));
        if let Some(routes) = self.routes.filter(|_| self.format == SolutionFormat::Routes) {
            text += &format!(" in {} routes", number::count(routes));
        }
        text += ", all rules kept";
        if let Some(stated) = self.stated_cost.filter(|stated| (stated - cost).abs() > 1e-6 * cost.abs()) {
            text += &format!("; the file says {}", number::quantity(stated, self.unit));
        }
        if let Some((best, gap)) = self.best_known.zip(self.gap) {
            text += &format!("; best known {}, gap {}", number::quantity(best, self.unit), number::gap(gap));
        }
        text
    }
}
