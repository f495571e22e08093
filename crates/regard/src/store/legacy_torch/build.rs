//! What the few allowed names build: ordered dicts, storages and tensors.

use super::fault::Fault;
use super::value::{Callable, Heap, StorageId, TensorId, Value, clip};

/// Most axes of a tensor, as in PyTorch.
const AXES: usize = 64;

/// Calls one of the allowed names.
pub(super) fn call<'a>(
    heap: &mut Heap<'a>,
    callable: Value<'a>,
    arguments: Value<'a>,
    at: usize,
) -> Result<Value<'a>, Fault> {
    let (Value::Callable(callable), Value::Tuple(arguments)) = (callable, arguments) else {
        return Err(Fault::new(at, "calls something that is not a function"));
    };
    let arguments: Vec<_> = heap.sequence(arguments).iter().take(8).copied().collect();
    match (callable, arguments.as_slice()) {
        (Callable::OrderedDict, []) => Ok(heap.add_dict(vec![])),
        (Callable::OrderedDict, [Value::List(pairs)]) => ordered_dict(heap, *pairs, at),
        (
            Callable::RebuildTensor,
            [Value::Storage(storage), Value::Int(offset), Value::Tuple(shape), Value::Tuple(stride), ..],
        ) => {
            let offset = size(*offset, at)?;
            let (shape, stride) = (sizes(heap, *shape, at)?, sizes(heap, *stride, at)?);
            if shape.len() != stride.len() {
                return Err(Fault::new(at, "a tensor has as many strides as axes; found another number"));
            }
            Ok(heap.add_tensor(TensorId { storage: *storage, offset, shape, stride }))
        }
        (Callable::RebuildParameter, [tensor @ Value::Tensor(_), ..]) => Ok(*tensor),
        (Callable::Size, [sizes @ Value::Tuple(_)]) => Ok(*sizes),
        _ => Err(Fault::new(at, format!("calls {callable:?} with arguments that do not fit"))),
    }
}

/// The storage of a persistent id: `("storage", type, key, location, count[, view])`.
pub(super) fn storage<'a>(heap: &mut Heap<'a>, id: Value<'a>, at: usize) -> Result<Value<'a>, Fault> {
    let parts = match id {
        Value::Tuple(id) => heap.sequence(id),
        _ => &[],
    };
    let [
        Value::Text("storage"),
        Value::Callable(Callable::Storage(kind)),
        Value::Text(key),
        Value::Text(_),
        Value::Int(elements),
        view @ ..,
    ] = parts
    else {
        return Err(Fault::new(at, "a persistent id is not that of a storage"));
    };
    let (kind, key, elements) = (*kind, *key, size(*elements, at)?);
    let view = match view {
        [] | [Value::None] => 0,
        [Value::Tuple(view)] => match heap.sequence(*view) {
            [_, Value::Int(offset), Value::Int(_)] => size(*offset, at)?,
            _ => {
                return Err(Fault::new(at, format!("the view of storage `{}` is not understood", clip(key))));
            }
        },
        _ => {
            return Err(Fault::new(at, format!("the view of storage `{}` is not understood", clip(key))));
        }
    };
    heap.add_storage(StorageId { key, kind, elements, view }, at)
}

/// `OrderedDict([[key, value], ...])`, as Python 2 writes it.
fn ordered_dict<'a>(heap: &mut Heap<'a>, pairs: usize, at: usize) -> Result<Value<'a>, Fault> {
    heap.charge(heap.sequence(pairs).len(), at)?;
    let entry = |pair: &Value<'a>| match pair {
        Value::List(pair) | Value::Tuple(pair) => match heap.sequence(*pair) {
            [key, value] => Ok((*key, *value)),
            _ => Err(Fault::new(at, "an entry of a dict is not a pair")),
        },
        _ => Err(Fault::new(at, "an entry of a dict is not a pair")),
    };
    let entries = heap.sequence(pairs).iter().map(entry).collect::<Result<_, _>>()?;
    Ok(heap.add_dict(entries))
}

fn sizes(heap: &Heap<'_>, tuple: usize, at: usize) -> Result<Vec<usize>, Fault> {
    let values = heap.sequence(tuple);
    if values.len() > AXES {
        return Err(Fault::new(at, format!("a tensor of {} axes; at most {AXES} are read", values.len())));
    }
    let integer = |value: &Value<'_>| match value {
        Value::Int(number) => size(*number, at),
        _ => Err(Fault::new(at, "the shape or stride of a tensor is not made of integers")),
    };
    values.iter().map(integer).collect()
}

fn size(number: i128, at: usize) -> Result<usize, Fault> {
    usize::try_from(number).map_err(|_| Fault::new(at, format!("{number} is not a size or position")))
}
