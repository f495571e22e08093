//! Which problem the values of a pickle are instances of, and the instances.

use super::{KoolSet, NoObject, instance};
use crate::error::Fault;
use crate::pickle;
use crate::routes::drawn::DrawnPrizeCollecting;

type Value = pickle::Value<NoObject>;
type Heap<'a> = pickle::Heap<'a, NoObject>;

/// Numbers that may be read for each byte of the file. A list can stand in many places at the cost
/// of two bytes each; without a bound a small file could fill the memory.
const NUMBERS_PER_BYTE: usize = 16;

/// The set that `root` is.
pub(super) fn recognise(root: Value, heap: &Heap<'_>, file_bytes: usize) -> Result<KoolSet, Fault> {
    let found = |value| heap.describe(value);
    let Some(instances) = heap.items(root) else {
        return Err(Fault::whole(format!("found {}, expected a list of instances", found(root))));
    };
    let Some(&first) = instances.first() else {
        return Err(Fault::whole("holds no instances"));
    };
    let mut reader = Reader { heap, left: file_bytes.saturating_mul(NUMBERS_PER_BYTE) };
    match reader.layout(first).map_err(|reason| Fault::of_instance(0, reason))? {
        Layout::Points => reader.each(instances, Reader::tsp).map(KoolSet::Tsp),
        Layout::Four => reader.four(instances),
        Layout::Five => reader.each(instances, Reader::prize_collecting).map(KoolSet::PrizeCollecting),
    }
}

/// How an instance is laid out.
enum Layout {
    /// A list of points.
    Points,
    /// Vehicle routing or orienteering.
    Four,
    /// Prize collecting.
    Five,
}

/// An instance of [`Layout::Four`] before it is known which problem it is.
struct Four {
    places: Vec<[f64; 2]>,
    values: Vec<f64>,
    /// Whether all of `values` are Python integers.
    integers: bool,
    bound: f64,
}

impl Four {
    /// Whether the values are too large for the paper's prizes.
    fn above_one(&self) -> bool {
        self.values.iter().any(|v| *v > 1.0)
    }

    /// Whether the numbers are written as the paper's programs write demands and a capacity.
    fn counts(&self) -> bool {
        self.integers && self.bound.fract() == 0.0
    }
}

struct Reader<'h, 'a> {
    heap: &'h Heap<'a>,
    /// Numbers that may still be read.
    left: usize,
}

impl<'h> Reader<'h, '_> {
    fn layout(&self, first: Value) -> Result<Layout, String> {
        let parts = self.items(first, "a list of points or a tuple of a depot and more")?;
        let items = |at: usize| parts.get(at).and_then(|part| self.heap.items(*part));
        if items(0).is_none() {
            let what = parts.first().map_or("nothing".to_owned(), |part| self.heap.describe(*part));
            return Err(format!("starts with {what}, expected a point; a set of one instance is a list of one"));
        }
        // The second part of an instance with a depot is a list of points, else it is a point.
        let nested = items(1).and_then(|part| part.first()).is_some_and(|item| self.heap.items(*item).is_some());
        if !nested {
            return Ok(Layout::Points);
        }
        match parts.len() {
            4 => Ok(Layout::Four),
            5 => Ok(Layout::Five),
            other => Err(format!(
                "has {other} parts, expected 4 (depot, locs, demand, capacity or depot, locs, prize, max_length) or 5 \
                 (depot, locs, penalty, deterministic_prize, stochastic_prize)"
            )),
        }
    }

    /// Reads every instance, naming the one that is at fault.
    fn each<T>(&mut self, all: &[Value], read: fn(&mut Self, Value) -> Result<T, String>) -> Result<Vec<T>, Fault> {
        let named = |(at, value): (usize, &Value)| read(self, *value).map_err(|reason| Fault::of_instance(at, reason));
        all.iter().enumerate().map(named).collect()
    }

    fn tsp(&mut self, instance: Value) -> Result<Vec<[f32; 2]>, String> {
        instance::points(&self.points(instance)?)
    }

    fn prize_collecting(&mut self, instance: Value) -> Result<DrawnPrizeCollecting, String> {
        let [depot, locs, penalties, prizes, real] = self.parts(instance)?;
        let places = self.places(depot, locs)?;
        let [penalties, prizes, real] = [self.numbers(penalties)?, self.numbers(prizes)?, self.numbers(real)?];
        instance::prize_collecting(&places, &penalties, &prizes, &real)
    }

    fn four(&mut self, instances: &[Value]) -> Result<KoolSet, Fault> {
        let all = self.each(instances, Self::four_parts)?;
        if all.iter().any(Four::above_one) || all.iter().all(Four::counts) {
            return built(&all, |f| instance::cvrp(&f.places, &f.values, f.bound)).map(KoolSet::Cvrp);
        }
        built(&all, |f| instance::orienteering(&f.places, &f.values, f.bound)).map(KoolSet::Orienteering)
    }

    fn four_parts(&mut self, instance: Value) -> Result<Four, String> {
        let [depot, locs, values, bound] = self.parts(instance)?;
        let places = self.places(depot, locs)?;
        let integers = self.heap.items(values).is_some_and(|v| v.iter().all(|v| matches!(v, Value::Int(_))));
        let values = self.numbers(values)?;
        Ok(Four { places, values, integers, bound: self.number(bound)? })
    }

    fn parts<const N: usize>(&self, instance: Value) -> Result<[Value; N], String> {
        let parts = self.items(instance, "a tuple")?;
        parts.try_into().map_err(|_| format!("has {} parts, expected {N} as the first instance", parts.len()))
    }

    /// Depot and customers.
    fn places(&mut self, depot: Value, locs: Value) -> Result<Vec<[f64; 2]>, String> {
        let mut all = vec![self.point(depot)?];
        all.extend(self.points(locs)?);
        Ok(all)
    }

    fn points(&mut self, value: Value) -> Result<Vec<[f64; 2]>, String> {
        let points = self.items(value, "a list of points")?;
        if points.is_empty() {
            return Err("has an empty list of points".to_owned());
        }
        points.iter().map(|point| self.point(*point)).collect()
    }

    fn point(&mut self, value: Value) -> Result<[f64; 2], String> {
        match self.items(value, "a point [x, y]")? {
            &[x, y] => Ok([self.number(x)?, self.number(y)?]),
            other => Err(format!("a point has {} coordinates, expected 2", other.len())),
        }
    }

    fn numbers(&mut self, value: Value) -> Result<Vec<f64>, String> {
        self.items(value, "a list of numbers")?.iter().map(|number| self.number(*number)).collect()
    }

    fn number(&mut self, value: Value) -> Result<f64, String> {
        self.left = self.left.checked_sub(1).ok_or("repeats its lists too often for a file of its size")?;
        match value {
            Value::Int(number) => Ok(number as f64),
            Value::Float(number) => Ok(number),
            other => Err(format!("found {}, expected a number", self.heap.describe(other))),
        }
    }

    fn items(&self, value: Value, expected: &str) -> Result<&'h [Value], String> {
        self.heap.items(value).ok_or_else(|| format!("found {}, expected {expected}", self.heap.describe(value)))
    }
}

fn built<T>(all: &[Four], build: impl Fn(&Four) -> Result<T, String>) -> Result<Vec<T>, Fault> {
    let named = |(at, four)| build(four).map_err(|reason| Fault::of_instance(at, reason));
    all.iter().enumerate().map(named).collect()
}
