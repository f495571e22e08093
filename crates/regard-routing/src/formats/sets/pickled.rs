//! Sets as Kool's programs pickle them: a list of instances. An instance without a depot is a list of points, one with a
//! depot a tuple of the depot, the customers and what the problem adds ([`SetField`]).

use super::{Per, RawInstance, RawSet, SetField, with_set_fields};
use crate::pickle::{self, Construct, Rules};
use crate::shown;
use regard_data::Fault;

type Value = pickle::Value<NoObject>;
type Heap<'a> = pickle::Heap<'a, NoObject>;

/// Numbers that may be read for each byte of the file. A list can stand in many places at the cost
/// of two bytes each; without a bound a small file could fill the memory.
const NUMBERS_PER_BYTE: usize = 16;

/// The sets that the bytes of a pickle may be.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<RawSet>, Fault> {
    let (mut heap, mut at) = (Heap::default(), 0);
    let root = pickle::load(bytes, &mut at, &mut heap, &mut SetRules)?;
    match bytes.len() - at {
        0 => read(root, &heap, bytes.len()),
        left => Err(Fault::at_byte(at, format!("{left} bytes follow the end of the pickle"))),
    }
}

/// The rules of sets of instances: lists, tuples and numbers, and no name of Python.
struct SetRules;

/// The objects of a set of instances, of which there are none.
#[derive(Debug, Clone, Copy, PartialEq)]
enum NoObject {}

impl<'a> Rules<'a> for SetRules {
    type Object = NoObject;

    // What a pickle builds is bounded by its size.
    const MOST_VALUES: usize = usize::MAX;
    const INTEGER_BYTES: usize = 8;
    const ALLOWED: &'static [Construct] = &[];

    fn refused(&self, construct: Construct) -> Fault {
        let holds = |what: &str| format!("holds {what}, expected lists, tuples and numbers");
        Fault::whole(match construct {
            Construct::None => holds("None"),
            Construct::Bool => holds("True or False"),
            Construct::Dict => holds("a dict"),
            Construct::Set => holds("a set"),
            Construct::Bytes | Construct::Buffer => holds("bytes"),
            _ => format!("the opcode {} would call a function of Python, which is refused", construct.opcode()),
        })
    }

    fn global(&mut self, _: &str, _: &str) -> Option<NoObject> {
        None
    }

    fn refused_name(&self, module: &str, name: &str) -> Fault {
        let numpy = module == "numpy" || module.starts_with("numpy.");
        let (module, name) = (shown(module), shown(name));
        let fault = Fault::whole(format!("would call the function `{module}.{name}` of Python, which is refused"));
        fault.hint(if numpy {
            "write plain lists and numbers: `.tolist()` of an array, or an `.npz` file"
        } else {
            "a set of instances needs lists, tuples and numbers only; do not open this file in Python"
        })
    }

    fn call(&mut self, _: &mut Heap<'a>, _: Value, _: Value) -> Result<Value, Fault> {
        Err(self.refused(Construct::Reduce))
    }

    fn persistent(&mut self, _: &mut Heap<'a>, _: Value) -> Result<Value, Fault> {
        Err(self.refused(Construct::PersistentValue))
    }
}

/// The sets that `root` may be, one for each layout of fields with this number of parts.
fn read(root: Value, heap: &Heap<'_>, file_bytes: usize) -> Result<Vec<RawSet>, Fault> {
    let found = |value| heap.describe(value);
    let Some(instances) = heap.items(root) else {
        return Err(Fault::whole(format!("found {}, expected a list of instances", found(root))));
    };
    let Some(&first) = instances.first() else {
        return Err(Fault::whole("holds no instances"));
    };
    let mut reader = Reader { heap, left: file_bytes.saturating_mul(NUMBERS_PER_BYTE) };
    let layouts = reader.layouts(first).map_err(|reason| Fault::of_instance(0, reason))?;
    let mut all = Vec::with_capacity(instances.len());
    for (at, value) in instances.iter().enumerate() {
        all.push(reader.instance(*value, layouts[0]).map_err(|reason| Fault::of_instance(at, reason))?);
    }
    let named = |fields: &[SetField], one: &RawInstance| RawInstance {
        names: fields.iter().map(|field| field.name).collect(),
        ..one.clone()
    };
    let set =
        |fields: &'static [SetField]| RawSet { fields, instances: all.iter().map(|one| named(fields, one)).collect() };
    Ok(layouts.into_iter().map(set).collect())
}

struct Reader<'h, 'a> {
    heap: &'h Heap<'a>,
    /// Numbers that may still be read.
    left: usize,
}

impl<'h> Reader<'h, '_> {
    /// The layouts of fields that an instance may have, by the number of its parts.
    fn layouts(&self, first: Value) -> Result<Vec<&'static [SetField]>, String> {
        let parts = self.items(first, "a list of points or a tuple of a depot and more")?;
        let items = |at: usize| parts.get(at).and_then(|part| self.heap.items(*part));
        if items(0).is_none() {
            let what = parts.first().map_or("nothing".to_owned(), |part| self.heap.describe(*part));
            return Err(format!("starts with {what}, expected a point; a set of one instance is a list of one"));
        }
        // The second part of an instance with a depot is a list of points, else it is a point.
        let nested = items(1).and_then(|part| part.first()).is_some_and(|item| self.heap.items(*item).is_some());
        let parts = if nested { parts.len() } else { 2 };
        let known: Vec<&'static [SetField]> = with_set_fields();
        let fitting: Vec<_> = known.iter().copied().filter(|fields| fields.len() + 2 == parts).collect();
        if fitting.first().is_some_and(|fields| nested != fields.is_empty()) {
            return Ok(fitting);
        }
        let names = |fields: &[SetField]| fields.iter().map(|field| field.name).collect::<Vec<_>>().join(", ");
        let expected: Vec<String> = known
            .iter()
            .filter(|fields| !fields.is_empty())
            .map(|fields| format!("{} (depot, locs, {})", fields.len() + 2, names(fields)))
            .collect();
        Err(format!("has {parts} parts, expected {}", expected.join(" or ")))
    }

    fn instance(&mut self, value: Value, fields: &[SetField]) -> Result<RawInstance, String> {
        if fields.is_empty() {
            let points = self.points(value)?;
            return Ok(RawInstance { points, depot: false, fields: Vec::new(), names: Vec::new() });
        }
        let parts = self.items(value, "a tuple")?;
        if parts.len() != fields.len() + 2 {
            return Err(format!("has {} parts, expected {} as the first instance", parts.len(), fields.len() + 2));
        }
        let points = self.places(parts[0], parts[1])?;
        let mut read = Vec::with_capacity(fields.len());
        for (field, &part) in fields.iter().zip(&parts[2..]) {
            read.push(match field.per {
                Per::Customer => {
                    let integers =
                        self.heap.items(part).is_some_and(|all| all.iter().all(|v| matches!(v, Value::Int(_))));
                    (self.numbers(part)?, integers)
                }
                Per::Instance => (vec![self.number(part)?], matches!(part, Value::Int(_))),
            });
        }
        Ok(RawInstance { points, depot: true, fields: read, names: fields.iter().map(|field| field.name).collect() })
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
