//! Sets as archives of numpy arrays (`numpy.savez`), as RL4CO writes them.

use std::collections::BTreeMap;

use super::{Per, RawInstance, RawSet, SetField, with_set_fields};
use crate::npz::{Array, tuple};
use crate::shown;
use regard_data::Fault;

/// Arrays of every problem.
const PLACES: [&str; 3] = ["locs", "loc", "depot"];

/// The set that the arrays are.
pub(super) fn read(arrays: &BTreeMap<String, Array>) -> Result<RawSet, Fault> {
    let layouts = with_set_fields();
    let mut known = PLACES.to_vec();
    for field in layouts.iter().copied().flatten() {
        known.push(field.name);
        known.extend(field.alias);
    }
    if let Some(unknown) = arrays.keys().find(|name| !known.contains(&name.as_str())) {
        let reason = format!("holds the array `{}`, expected some of {}", shown(unknown), known.join(", "));
        return Err(Fault::whole(reason).hint("unknown arrays may change the problem; remove them"));
    }
    let has = |name: &str| arrays.contains_key(name);
    let marked = |fields: &&[SetField]| fields.iter().any(|field| field.marks && has(field.name));
    let marks: Vec<String> = layouts
        .iter()
        .filter_map(|fields| fields.iter().find(|field| field.marks))
        .map(|field| format!("`{}`", field.name))
        .collect();
    let mut fitting: Vec<_> = layouts.iter().copied().filter(marked).collect();
    if fitting.len() > 1 {
        // A problem may have all fields of another one.
        let of = |field: &SetField, name: &str| field.name == name || field.alias == Some(name);
        let knows = |fields: &[SetField], name: &str| PLACES.contains(&name) || fields.iter().any(|f| of(f, name));
        let complete = |fields: &&[SetField]| arrays.keys().all(|name| knows(fields, name));
        let all: Vec<_> = fitting.iter().copied().filter(complete).collect();
        if all.len() == 1 {
            fitting = all;
        }
    }
    let set = Arrays::new(arrays)?;
    match (fitting.first().copied(), fitting.get(1)) {
        (Some(fields), None) => set.raw(fields),
        (None, _) if !has("depot") => set.raw(&[]),
        (None, _) => Err(Fault::whole(format!("has a depot, but none of {}", marks.join(", ")))),
        _ => {
            let marks = marks.join(", ");
            Err(Fault::whole(format!("has more than one of {marks}, which belong to different problems")))
        }
    }
}

/// The arrays, and how many instances and customers there are.
struct Arrays<'a> {
    arrays: &'a BTreeMap<String, Array>,
    places: &'a Array,
    depot: Option<&'a Array>,
    instances: usize,
    /// Rows of `places`.
    rows: usize,
}

impl<'a> Arrays<'a> {
    fn new(arrays: &'a BTreeMap<String, Array>) -> Result<Self, Fault> {
        let (places, name) = match (arrays.get("locs"), arrays.get("loc")) {
            (Some(places), None) => (places, "locs"),
            (None, Some(places)) => (places, "loc"),
            (None, None) => return Err(Fault::whole("has no array `locs`")),
            _ => return Err(Fault::whole("has both `locs` and `loc`, expected one of them")),
        };
        let [instances, rows, 2] = *places.shape else {
            return Err(wrong_shape(name, places, "(instances, nodes, 2)"));
        };
        if instances == 0 || rows == 0 {
            return Err(wrong_shape(name, places, "at least one instance of at least one node"));
        }
        let depot = arrays.get("depot");
        // A depot for each instance, with or without a dimension of its own.
        match depot {
            Some(depot) if depot.shape != [instances, 2] && depot.shape != [instances, 1, 2] => {
                Err(wrong_shape("depot", depot, &tuple(&[instances, 2])))
            }
            _ => Ok(Self { arrays, places, depot, instances, rows }),
        }
    }

    /// The places of an instance, the depot first where there is one.
    fn places(&self, at: usize) -> Vec<[f64; 2]> {
        let depot = self.depot.map_or(&[][..], |depot| &depot.values[2 * at..2 * at + 2]);
        let rows = &self.places.values[2 * at * self.rows..2 * (at + 1) * self.rows];
        depot.chunks_exact(2).chain(rows.chunks_exact(2)).map(|p| [p[0], p[1]]).collect()
    }

    fn customers(&self) -> usize {
        if self.depot.is_some() { self.rows } else { self.rows - 1 }
    }

    fn find(&self, name: &str) -> Result<&'a Array, Fault> {
        self.arrays.get(name).ok_or_else(|| Fault::whole(format!("has no array `{name}`")))
    }

    /// The values of customers, `[instances, customers]`.
    fn of_customers(&self, name: &str) -> Result<Vec<&'a [f64]>, Fault> {
        let array = self.find(name)?;
        let customers = self.customers();
        let with_depot = array.shape == [self.instances, customers + 1] && self.depot.is_none();
        if array.shape != [self.instances, customers] && !with_depot {
            return Err(wrong_shape(name, array, &tuple(&[self.instances, customers])));
        }
        if customers == 0 {
            return Err(Fault::whole("has no customers").within("locs"));
        }
        let all = array.values.chunks_exact(customers + usize::from(with_depot));
        let without_depot = |(at, values): (usize, &'a [f64])| match values {
            [depot, rest @ ..] if with_depot && *depot == 0.0 => Ok(rest),
            [depot, ..] if with_depot => {
                Err(Fault::of_instance(at, format!("`{name}` of the depot is {depot}, expected 0")))
            }
            _ => Ok(values),
        };
        all.enumerate().map(without_depot).collect()
    }

    /// One value for each instance.
    fn of_instances(&self, name: &str) -> Result<Vec<f64>, Fault> {
        let array = self.find(name)?;
        match array.values[..] {
            _ if array.shape == [self.instances] || array.shape == [self.instances, 1] => Ok(array.values.clone()),
            [one] => Ok(vec![one; self.instances]),
            _ => Err(wrong_shape(name, array, &tuple(&[self.instances]))),
        }
    }

    /// All instances with these fields.
    fn raw(&self, fields: &'static [SetField]) -> Result<RawSet, Fault> {
        let mut columns: Vec<Vec<&'a [f64]>> = Vec::new();
        let mut numbers: Vec<Vec<f64>> = Vec::new();
        for field in fields {
            let has = |name: &str| self.arrays.contains_key(name);
            let other = field.alias.or(field.fallback).filter(|_| !has(field.name));
            let name = other.unwrap_or(field.name);
            match field.per {
                Per::Customer => columns.push(self.of_customers(name)?),
                Per::Instance => numbers.push(self.of_instances(name)?),
            }
        }
        let instance = |at: usize| {
            let (mut columns, mut numbers) = (columns.iter(), numbers.iter());
            let value = |field: &SetField| match field.per {
                Per::Customer => columns.next().map_or(Vec::new(), |column| column[at].to_vec()),
                Per::Instance => numbers.next().map_or(Vec::new(), |number| vec![number[at]]),
            };
            let read = fields.iter().map(value).map(|values| (values, false)).collect();
            RawInstance {
                points: self.places(at),
                depot: !fields.is_empty(),
                fields: read,
                names: fields.iter().map(|field| field.name).collect(),
            }
        };
        Ok(RawSet { fields, instances: (0..self.instances).map(instance).collect() })
    }
}

fn wrong_shape(name: &str, array: &Array, expected: &str) -> Fault {
    Fault::whole(format!("has the shape {}, expected {expected}", tuple(&array.shape))).within(name)
}
