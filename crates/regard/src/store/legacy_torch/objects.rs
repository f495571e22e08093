//! The objects that files of weights are made of, beside plain values: the few names of Python that they may ask for,
//! storages, and tensors as views of storages.

use std::collections::HashMap;

use regard_data::pickle::{Construct, Fault, Heap, Rules, Value};

/// Most values that one file may build; a state dict needs about thirty for a tensor.
const MOST_VALUES: usize = 4_000_000;
/// Most axes of a tensor, as in PyTorch.
const AXES: usize = 64;

/// An object, by its place among [`Objects`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Object {
    Callable(Callable),
    Storage(u32),
    Tensor(u32),
}

/// The only names a file may ask for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Callable {
    OrderedDict,
    RebuildTensor,
    RebuildParameter,
    Size,
    Storage(Kind),
}

impl Callable {
    /// The callable of a name, if it is one of ours.
    pub(super) fn find(module: &str, name: &str) -> Option<Self> {
        Some(match (module, name) {
            ("collections", "OrderedDict") => Self::OrderedDict,
            ("torch._utils", "_rebuild_tensor" | "_rebuild_tensor_v2") => Self::RebuildTensor,
            ("torch._utils", "_rebuild_parameter") => Self::RebuildParameter,
            ("torch", "Size") => Self::Size,
            ("torch" | "torch.cuda", _) => Self::Storage(Kind::of_storage(name)?),
            _ => return None,
        })
    }
}

/// Type of the numbers of a storage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    F64,
    F32,
    F16,
    Bf16,
    I64,
    I32,
    I16,
    I8,
    U8,
    Bool,
}

impl Kind {
    fn of_storage(name: &str) -> Option<Self> {
        Some(match name {
            "DoubleStorage" => Self::F64,
            "FloatStorage" => Self::F32,
            "HalfStorage" => Self::F16,
            "BFloat16Storage" => Self::Bf16,
            "LongStorage" => Self::I64,
            "IntStorage" => Self::I32,
            "ShortStorage" => Self::I16,
            "CharStorage" => Self::I8,
            "ByteStorage" => Self::U8,
            "BoolStorage" => Self::Bool,
            _ => return None,
        })
    }

    /// Bytes of one number.
    pub(super) fn size(self) -> usize {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 | Self::I32 => 4,
            Self::F16 | Self::Bf16 | Self::I16 => 2,
            Self::I8 | Self::U8 | Self::Bool => 1,
        }
    }
}

/// A storage that the file declares: where raw numbers will be found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct StorageId<'a> {
    pub(super) key: &'a str,
    pub(super) kind: Kind,
    /// Numbers in the storage.
    pub(super) elements: usize,
    /// First number of the part in view (old files share storages this way).
    pub(super) view: usize,
}

/// A tensor that the file declares: a strided view of a storage.
#[derive(Debug)]
pub(super) struct TensorId {
    pub(super) storage: usize,
    pub(super) offset: usize,
    pub(super) shape: Vec<usize>,
    pub(super) stride: Vec<usize>,
}

/// The storages and tensors of one file.
#[derive(Debug, Default)]
pub(super) struct Objects<'a> {
    storages: Vec<StorageId<'a>>,
    by_key: HashMap<&'a str, usize>,
    tensors: Vec<TensorId>,
}

impl<'a> Objects<'a> {
    pub(super) fn storage(&self, id: usize) -> &StorageId<'a> {
        &self.storages[id]
    }

    /// Every storage, once for each key.
    pub(super) fn storages(&self) -> impl Iterator<Item = &StorageId<'a>> {
        self.by_key.values().map(|&id| &self.storages[id])
    }

    pub(super) fn storage_of_key(&self, key: &str) -> Option<&StorageId<'a>> {
        self.by_key.get(key).map(|&id| &self.storages[id])
    }

    pub(super) fn tensor(&self, id: u32) -> &TensorId {
        &self.tensors[id as usize]
    }

    /// Adds a storage; two that share a key must agree in type and size.
    fn add_storage(&mut self, storage: StorageId<'a>) -> Result<Value<Object>, Fault> {
        let first = *self.by_key.entry(storage.key).or_insert(self.storages.len());
        if let Some(known) = self.storages.get(first)
            && (known.kind, known.elements) != (storage.kind, storage.elements)
        {
            return Err(Fault::whole(format!("storage `{}` is declared twice, differently", clip(storage.key))));
        }
        self.storages.push(storage);
        Ok(Value::Object(Object::Storage(self.storages.len() as u32 - 1)))
    }

    fn add_tensor(&mut self, storage: u32, view: &View<'_, 'a>) -> Result<Value<Object>, Fault> {
        let offset = view.heap.whole(view.offset).map_or_else(|| Err(view.misfit()), size)?;
        let (shape, stride) = (sizes(view.heap, view.shape)?, sizes(view.heap, view.stride)?);
        if shape.len() != stride.len() {
            return Err(Fault::whole("a tensor has as many strides as axes; found another number"));
        }
        self.tensors.push(TensorId { storage: storage as usize, offset, shape, stride });
        Ok(Value::Object(Object::Tensor(self.tensors.len() as u32 - 1)))
    }
}

/// The arguments of a tensor beside its storage.
struct View<'h, 'a> {
    heap: &'h Heap<'a, Object>,
    offset: Value<Object>,
    shape: Value<Object>,
    stride: Value<Object>,
}

impl View<'_, '_> {
    fn misfit(&self) -> Fault {
        misfit(Callable::RebuildTensor)
    }
}

impl<'a> Rules<'a> for Objects<'a> {
    type Object = Object;

    const MOST_VALUES: usize = MOST_VALUES;
    const INTEGER_BYTES: usize = 16;
    const ALLOWED: &'static [Construct] = &[
        Construct::None,
        Construct::Bool,
        Construct::Dict,
        Construct::PersistentValue,
        Construct::Reduce,
        Construct::Build,
    ];

    fn refused(&self, construct: Construct) -> Fault {
        let name = construct.opcode();
        Fault::whole(format!("the file uses the pickle opcode {name}, which a weights file has no use for"))
    }

    fn global(&mut self, module: &str, name: &str) -> Option<Object> {
        Callable::find(module, name).map(Object::Callable)
    }

    fn refused_name(&self, module: &str, name: &str) -> Fault {
        const HINT: &str = "if you trust the file, open it in PyTorch and save the weights alone: \
                            torch.save(model.state_dict(), \"weights.pt\")";
        let name = format!("{}.{}", clip(module), clip(name));
        Fault::whole(format!("the file asks for `{name}`, which a weights file has no use for")).hint(HINT)
    }

    fn call(
        &mut self,
        heap: &mut Heap<'a, Object>,
        callable: Value<Object>,
        arguments: Value<Object>,
    ) -> Result<Value<Object>, Fault> {
        let (Value::Object(Object::Callable(callable)), Value::Tuple(_)) = (callable, arguments) else {
            return Err(Fault::whole("calls something that is not a function"));
        };
        let arguments: Vec<_> = heap.items(arguments).unwrap_or_default().iter().take(8).copied().collect();
        match (callable, arguments.as_slice()) {
            (Callable::OrderedDict, []) => heap.add_dict(Vec::new()),
            (Callable::OrderedDict, [pairs @ Value::List(_)]) => ordered_dict(heap, *pairs),
            (
                Callable::RebuildTensor,
                [
                    Value::Object(Object::Storage(storage)),
                    offset @ (Value::Int(_) | Value::Long(_)),
                    shape @ Value::Tuple(_),
                    stride @ Value::Tuple(_),
                    ..,
                ],
            ) => self.add_tensor(*storage, &View { heap, offset: *offset, shape: *shape, stride: *stride }),
            (Callable::RebuildParameter, [tensor @ Value::Object(Object::Tensor(_)), ..]) => Ok(*tensor),
            (Callable::Size, [sizes @ Value::Tuple(_)]) => Ok(*sizes),
            _ => Err(misfit(callable)),
        }
    }

    /// The storage of a persistent id: `("storage", type, key, location, count[, view])`.
    fn persistent(&mut self, heap: &mut Heap<'a, Object>, id: Value<Object>) -> Result<Value<Object>, Fault> {
        let other = || Fault::whole("a persistent id is not that of a storage");
        let parts = match id {
            Value::Tuple(_) => heap.items(id).unwrap_or_default(),
            _ => &[],
        };
        let [name, Value::Object(Object::Callable(Callable::Storage(kind))), key, Value::Text(_), elements, view @ ..] =
            parts
        else {
            return Err(other());
        };
        let (Some("storage"), Some(key)) = (heap.text(*name), heap.text(*key)) else {
            return Err(other());
        };
        let elements = size(heap.whole(*elements).ok_or_else(other)?)?;
        let view = match view {
            [] | [Value::None] => Some(0),
            [view @ Value::Tuple(_)] => match heap.items(*view) {
                Some([_, offset, Value::Int(_)]) => heap.whole(*offset).map(size).transpose()?,
                _ => None,
            },
            _ => None,
        };
        let unknown = || Fault::whole(format!("the view of storage `{}` is not understood", clip(key)));
        self.add_storage(StorageId { key, kind: *kind, elements, view: view.ok_or_else(unknown)? })
    }
}

fn misfit(callable: Callable) -> Fault {
    Fault::whole(format!("calls {callable:?} with arguments that do not fit"))
}

/// `OrderedDict([[key, value], ...])`, as Python 2 writes it.
fn ordered_dict(heap: &mut Heap<'_, Object>, pairs: Value<Object>) -> Result<Value<Object>, Fault> {
    let pairs = heap.items(pairs).unwrap_or_default();
    let entry = |pair: &Value<Object>| match heap.items(*pair) {
        Some([key, value]) => Ok((*key, *value)),
        _ => Err(Fault::whole("an entry of a dict is not a pair")),
    };
    let entries: Vec<_> = pairs.iter().map(entry).collect::<Result<_, _>>()?;
    heap.charge(entries.len(), MOST_VALUES)?;
    heap.add_dict(entries)
}

fn sizes(heap: &Heap<'_, Object>, tuple: Value<Object>) -> Result<Vec<usize>, Fault> {
    let values = heap.items(tuple).unwrap_or_default();
    if values.len() > AXES {
        return Err(Fault::whole(format!("a tensor of {} axes; at most {AXES} are read", values.len())));
    }
    let integer = |value: &Value<Object>| match heap.whole(*value) {
        Some(number) => size(number),
        None => Err(Fault::whole("the shape or stride of a tensor is not made of integers")),
    };
    values.iter().map(integer).collect()
}

fn size(number: i128) -> Result<usize, Fault> {
    usize::try_from(number).map_err(|_| Fault::whole(format!("{number} is not a size or position")))
}

/// A name from the file, made safe to print: control characters escaped, at most 60 characters.
pub(super) fn clip(name: &str) -> String {
    let mut text: String = name.chars().take(60).flat_map(char::escape_debug).collect();
    if name.chars().nth(60).is_some() {
        text.push('…');
    }
    text
}
