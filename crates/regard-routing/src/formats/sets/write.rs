//! Sets written as Kool's programs pickle them, or as RL4CO's arrays.

use super::{Per, SetField};
use crate::npz::{self, Array};
use crate::problem::Problem;
use crate::{Error, Result};

/// The bytes of a file of this ending with the instances: `pkl` (also `pickle`) or `npz`.
///
/// # Errors
/// [`Error::Invalid`] for a problem that no such file holds, instances of different sizes as arrays, and other endings.
pub fn render<P: Problem>(problems: &[P], ending: &str) -> Result<Vec<u8>> {
    let refused = |reason: String| Err(Error::invalid(format!("a .{ending} file"), reason));
    let Some(fields) = P::SET_FIELDS.filter(|_| !problems.is_empty()) else {
        return refused(format!("cannot hold instances of `{}`", P::NAME));
    };
    match ending {
        "pkl" | "pickle" => Ok(pickled(problems, fields)),
        "npz" if problems.iter().any(|problem| problem.nodes() != problems[0].nodes()) => {
            refused("holds instances of one size; a .pkl file holds any".to_owned())
        }
        "npz" => npz::render(&arrays(problems, fields)).map_err(|reason| Error::invalid("archive", reason)),
        _ => refused("holds no set of instances; expected .pkl or .npz".to_owned()),
    }
}

/// A list of instances: of points, or with a depot tuples `(depot, locs, ...)`. Protocol 2 without memo.
fn pickled<P: Problem>(problems: &[P], fields: &[SetField]) -> Vec<u8> {
    let mut out = b"\x80\x02".to_vec();
    list(&mut out, problems, |out, problem| {
        let points = problem.points();
        let point = |out: &mut Vec<u8>, point: &[f32; 2]| list(out, point, |out, value| float(out, f64::from(*value)));
        if fields.is_empty() {
            return list(out, points, point);
        }
        out.push(b'(');
        point(out, &points[0]);
        list(out, &points[1..], point);
        for (field, values) in fields.iter().zip(problem.set_values()) {
            let number = |out: &mut Vec<u8>, value: &f64| match integer_of(*value).filter(|_| field.whole) {
                Some(value) => integer(out, value),
                None => float(out, *value),
            };
            match field.per {
                Per::Customer => list(out, &values, number),
                Per::Instance => values.first().into_iter().for_each(|value| number(out, value)),
            }
        }
        out.push(b't');
    });
    out.push(b'.');
    out
}

/// `MARK`, items and `APPENDS` after an empty list.
fn list<T>(out: &mut Vec<u8>, items: &[T], item: impl Fn(&mut Vec<u8>, &T)) {
    out.extend(b"](");
    items.iter().for_each(|one| item(out, one));
    out.push(b'e');
}

fn float(out: &mut Vec<u8>, value: f64) {
    out.push(b'G');
    out.extend(value.to_be_bytes());
}

/// The integer of four bytes that a number is; others are written as floats, which readers take as well.
fn integer_of(value: f64) -> Option<i32> {
    let whole = value as i32;
    (f64::from(whole) == value).then_some(whole)
}

fn integer(out: &mut Vec<u8>, value: i32) {
    out.push(b'J');
    out.extend(value.to_le_bytes());
}

/// The arrays by name.
fn arrays<P: Problem>(problems: &[P], fields: &[SetField]) -> Vec<(&'static str, Array)> {
    let (instances, nodes) = (problems.len(), problems[0].nodes());
    let coordinates = |from: usize, to: usize| {
        problems.iter().flat_map(move |problem| problem.points()[from..to].iter().flatten().copied().map(f64::from))
    };
    if fields.is_empty() {
        return vec![("locs", Array { shape: vec![instances, nodes, 2], values: coordinates(0, nodes).collect() })];
    }
    let mut all = vec![
        ("depot", Array { shape: vec![instances, 2], values: coordinates(0, 1).collect() }),
        ("locs", Array { shape: vec![instances, nodes - 1, 2], values: coordinates(1, nodes).collect() }),
    ];
    let values: Vec<Vec<Vec<f64>>> = problems.iter().map(Problem::set_values).collect();
    for (at, field) in fields.iter().enumerate() {
        let shape = match field.per {
            Per::Customer => vec![instances, nodes - 1],
            Per::Instance => vec![instances],
        };
        let values = values.iter().flat_map(|values| values.get(at).into_iter().flatten().copied()).collect();
        all.push((field.name, Array { shape, values }));
    }
    all
}
