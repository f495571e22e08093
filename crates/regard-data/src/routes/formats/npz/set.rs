//! Instances from arrays.

use std::collections::BTreeMap;

use super::super::kool::{KoolSet, instance};
use crate::error::{Fault, shown};
use crate::npz::{Array, tuple};

/// All arrays that mean something.
const KNOWN: [&str; 11] = [
    "locs",
    "loc",
    "depot",
    "demand",
    "capacity",
    "vehicle_capacity",
    "prize",
    "max_length",
    "penalty",
    "deterministic_prize",
    "stochastic_prize",
];

/// The set that the arrays are.
pub(super) fn assemble(arrays: BTreeMap<String, Array>) -> Result<KoolSet, Fault> {
    if let Some(unknown) = arrays.keys().find(|name| !KNOWN.contains(&name.as_str())) {
        let reason = format!("holds the array `{}`, expected some of {}", shown(unknown), KNOWN.join(", "));
        return Err(Fault::whole(reason).hint("what is not understood may change the problem; leave such arrays out"));
    }
    let has = |name: &str| arrays.contains_key(name);
    let problems = [has("demand"), has("prize") || has("max_length"), has("penalty")];
    let set = Set::new(&arrays)?;
    match problems {
        [false, false, false] if !has("depot") => set.tsp(),
        [true, false, false] => set.cvrp(),
        [false, true, false] => set.orienteering(),
        [false, false, true] => set.prize_collecting(),
        [false, false, false] => Err(Fault::whole("has a depot, but neither `demand` nor `prize` nor `penalty`")),
        _ => Err(Fault::whole("has more than one of `demand`, `prize` and `penalty`, which are of different problems")),
    }
}

/// The arrays, and how many instances and customers there are.
struct Set<'a> {
    arrays: &'a BTreeMap<String, Array>,
    places: &'a Array,
    depot: Option<&'a Array>,
    instances: usize,
    /// Rows of `places`.
    rows: usize,
}

impl<'a> Set<'a> {
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

    /// Builds every instance, naming the one that is at fault.
    fn each<T>(&self, build: impl Fn(usize, &[[f64; 2]]) -> Result<T, String>) -> Result<Vec<T>, Fault> {
        let named = |at| build(at, &self.places(at)).map_err(|reason| Fault::of_instance(at, reason));
        (0..self.instances).map(named).collect()
    }

    fn tsp(&self) -> Result<KoolSet, Fault> {
        self.each(|_, places| instance::points(places)).map(KoolSet::Tsp)
    }

    fn cvrp(&self) -> Result<KoolSet, Fault> {
        let demands = self.of_customers("demand")?;
        let name = if self.arrays.contains_key("capacity") { "capacity" } else { "vehicle_capacity" };
        let capacities = self.of_instances(name)?;
        let shares = demands.iter().copied().flatten().any(|d| d.fract() != 0.0)
            && demands.iter().copied().flatten().all(|d| (0.0..=1.0).contains(d));
        let build = |at: usize, places: &[[f64; 2]]| {
            let capacity = capacities[at];
            if !shares {
                return instance::cvrp(places, demands[at], capacity);
            }
            let goods: Vec<f64> = demands[at].iter().map(|share| near_whole(share * capacity)).collect();
            instance::cvrp(places, &goods, capacity)
                .map_err(|reason| format!("{reason} (shares of the capacity are read)"))
        };
        self.each(build).map(KoolSet::Cvrp)
    }

    fn orienteering(&self) -> Result<KoolSet, Fault> {
        let (prizes, lengths) = (self.of_customers("prize")?, self.of_instances("max_length")?);
        self.each(|at, places| instance::orienteering(places, prizes[at], lengths[at])).map(KoolSet::Orienteering)
    }

    fn prize_collecting(&self) -> Result<KoolSet, Fault> {
        let (penalties, prizes) = (self.of_customers("penalty")?, self.of_customers("deterministic_prize")?);
        let real = match self.arrays.contains_key("stochastic_prize") {
            true => self.of_customers("stochastic_prize")?,
            false => prizes.clone(),
        };
        let build = |at: usize, places: &[_]| instance::prize_collecting(places, penalties[at], prizes[at], real[at]);
        self.each(build).map(KoolSet::PrizeCollecting)
    }
}

/// The whole number that a share of the capacity in single precision stands for.
fn near_whole(goods: f64) -> f64 {
    let whole = goods.round();
    if (goods - whole).abs() <= 1e-3 { whole } else { goods }
}

fn wrong_shape(name: &str, array: &Array, expected: &str) -> Fault {
    Fault::whole(format!("has the shape {}, expected {expected}", tuple(&array.shape))).within(name)
}
