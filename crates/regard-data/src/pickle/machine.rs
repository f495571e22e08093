//! The machine of opcodes, and the rules of a reader.

use std::collections::HashMap;

use super::cursor::Cursor;
use super::value::{Heap, Value};
use crate::error::Fault;

/// A construct that a pickle may ask for beside numbers, text, lists and tuples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Construct {
    /// None.
    None,
    /// True or False.
    Bool,
    /// A dict.
    Dict,
    /// A set.
    Set,
    /// Bytes.
    Bytes,
    /// A buffer outside the pickle.
    Buffer,
    /// An object outside the pickle, by a text.
    PersistentText,
    /// An object outside the pickle, by a value.
    PersistentValue,
    /// A function that is called.
    Reduce,
    /// Attributes of an object.
    Build,
    /// An object of a class, on the stack.
    Obj,
    /// An object of a class.
    NewObj,
    /// An object of a class, with named arguments.
    NewObjEx,
    /// An object of the registry of extensions.
    Extension,
}

impl Construct {
    fn of(opcode: u8) -> Option<Self> {
        Some(match opcode {
            b'N' => Self::None,
            0x88 | 0x89 => Self::Bool,
            b'}' | b'd' | b's' | b'u' => Self::Dict,
            0x8f..=0x91 => Self::Set,
            b'B' | b'C' | 0x8e | 0x96 => Self::Bytes,
            0x97 | 0x98 => Self::Buffer,
            b'P' => Self::PersistentText,
            b'Q' => Self::PersistentValue,
            b'R' => Self::Reduce,
            b'b' => Self::Build,
            b'o' => Self::Obj,
            0x81 => Self::NewObj,
            0x92 => Self::NewObjEx,
            0x82..=0x84 => Self::Extension,
            _ => return None,
        })
    }

    /// The name of its opcodes in `pickletools.py`.
    #[must_use]
    pub fn opcode(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Bool => "BOOL",
            Self::Dict => "DICT",
            Self::Set => "SET",
            Self::Bytes => "BYTES",
            Self::Buffer => "BUFFER",
            Self::PersistentText | Self::PersistentValue => "PERSID",
            Self::Reduce => "REDUCE",
            Self::Build => "BUILD",
            Self::Obj => "OBJ",
            Self::NewObj => "NEWOBJ",
            Self::NewObjEx => "NEWOBJ_EX",
            Self::Extension => "EXT",
        }
    }
}

/// The constructs and names that a reader allows in its pickles. Faults get the byte at which they occur.
pub trait Rules<'a> {
    /// An object that stands for a name of Python, or that a call gives.
    type Object: Copy + PartialEq;

    /// The most values that one file may build.
    const MOST_VALUES: usize;
    /// The most bytes of an integer, at most 16.
    const INTEGER_BYTES: usize;

    /// The constructs that are allowed; the machine knows only those up to [`Construct::Dict`],
    /// [`Construct::PersistentValue`], [`Construct::Reduce`] and [`Construct::Build`] (which is ignored for dicts).
    const ALLOWED: &'static [Construct];

    /// The fault of a construct that is not allowed.
    fn refused(&self, construct: Construct) -> Fault;

    /// The object that a name of Python stands for; `None` where it stands for nothing and is refused.
    fn global(&mut self, module: &str, name: &str) -> Option<Self::Object>;

    /// The fault of a name that stands for nothing; both are as they stand in the file.
    fn refused_name(&self, module: &str, name: &str) -> Fault;

    /// The value that a call gives.
    ///
    /// # Errors
    /// A fault where the function is none, or its arguments do not fit.
    fn call(
        &mut self,
        heap: &mut Heap<'a, Self::Object>,
        callable: Value<Self::Object>,
        arguments: Value<Self::Object>,
    ) -> Result<Value<Self::Object>, Fault>;

    /// The object of a persistent id.
    ///
    /// # Errors
    /// A fault where the id is not understood.
    fn persistent(
        &mut self,
        heap: &mut Heap<'a, Self::Object>,
        id: Value<Self::Object>,
    ) -> Result<Value<Self::Object>, Fault>;
}

/// Runs the pickle that begins at `*at`, and moves `*at` behind its end.
///
/// # Errors
/// A fault with the byte where the pickle is cut, damaged, or asks for what the rules do not allow.
pub fn load<'a, R: Rules<'a>>(
    bytes: &'a [u8],
    at: &mut usize,
    heap: &mut Heap<'a, R::Object>,
    rules: &mut R,
) -> Result<Value<R::Object>, Fault> {
    let file = Cursor::new(bytes, *at);
    let mut machine = Machine { file, stack: Vec::new(), marks: Vec::new(), memo: HashMap::new(), heap, rules };
    loop {
        let start = machine.file.at();
        let opcode = machine.file.byte()?;
        machine.heap.charge(1, R::MOST_VALUES).map_err(|fault| at_byte(fault, start))?;
        if opcode == b'.' {
            let result = machine.pop()?;
            *at = machine.file.at();
            return Ok(result);
        }
        machine.step(opcode, start)?;
    }
}

/// A fault with its byte, where it has no place yet.
fn at_byte(fault: Fault, at: usize) -> Fault {
    if fault.place().is_empty() { fault.within(format!("byte {at}")) } else { fault }
}

struct Machine<'a, 'h, R: Rules<'a>> {
    file: Cursor<'a>,
    stack: Vec<Value<R::Object>>,
    /// Heights of the stack where marks stand.
    marks: Vec<usize>,
    memo: HashMap<u64, Value<R::Object>>,
    heap: &'h mut Heap<'a, R::Object>,
    rules: &'h mut R,
}

impl<'a, R: Rules<'a>> Machine<'a, '_, R> {
    /// One opcode, found at byte `start`.
    fn step(&mut self, opcode: u8, start: usize) -> Result<(), Fault> {
        if let Some(construct) = Construct::of(opcode) {
            self.check(construct, start)?;
        }
        match opcode {
            0x80 => match self.file.byte()? {
                0..=5 => Ok(()),
                version => Err(Fault::at_byte(start, format!("pickle protocol {version}, expected 0 to 5"))),
            },
            0x95 => self.file.take(8).map(drop), // FRAME: only a hint for buffers
            b'(' => {
                self.marks.push(self.stack.len());
                Ok(())
            }
            b'0' => self.pop().map(drop),
            b'1' => self.pop_mark().map(drop),
            b'2' => {
                let top = self.top()?;
                self.push(top)
            }
            b'N' => self.push(Value::None),
            0x88 | 0x89 => self.push(Value::Bool(opcode == 0x88)),
            b'I' | b'J' | b'K' | b'M' | b'L' | 0x8a | 0x8b | b'F' | b'G' | b'S' | b'T' | b'U' | b'V' | b'X' | 0x8c
            | 0x8d => {
                let value = self.file.literal(opcode, start, R::INTEGER_BYTES, self.heap)?;
                if matches!(value, Value::Bool(_)) {
                    self.check(Construct::Bool, start)?;
                }
                self.push(value)
            }
            b']' | b'l' | b'a' | b'e' => self.list(opcode),
            b')' | b't' | 0x85..=0x87 => self.tuple(opcode),
            b'}' | b'd' | b's' | b'u' => self.dict(opcode),
            b'p' | b'q' | b'r' | 0x94 | b'g' | b'h' | b'j' => self.memo(opcode),
            b'c' | b'i' | 0x93 => self.name(opcode, start),
            b'R' | b'b' | b'Q' => self.object(opcode, start),
            _ => {
                let reason =
                    format!("0x{opcode:02x} is not an opcode of a pickle: the file is damaged or of another kind");
                Err(Fault::at_byte(start, reason))
            }
        }
    }

    fn check(&self, construct: Construct, start: usize) -> Result<(), Fault> {
        match R::ALLOWED.contains(&construct) {
            true => Ok(()),
            false => Err(at_byte(self.rules.refused(construct), start)),
        }
    }

    fn list(&mut self, opcode: u8) -> Result<(), Fault> {
        let values = match opcode {
            b']' => Vec::new(),
            b'a' => vec![self.pop()?],
            _ => self.pop_mark()?,
        };
        if matches!(opcode, b']' | b'l') {
            let list = self.heap.add_list(values)?;
            return self.push(list);
        }
        let Value::List(list) = self.top()? else {
            return Err(self.file.fault("appends to something that is not a list"));
        };
        self.heap.extend(list, values);
        Ok(())
    }

    fn tuple(&mut self, opcode: u8) -> Result<(), Fault> {
        let values = match opcode {
            b')' => Vec::new(),
            b't' => self.pop_mark()?,
            _ => {
                let below = self.stack.len().checked_sub(usize::from(opcode - 0x84));
                let below = below.filter(|below| *below >= self.floor()).ok_or_else(|| self.underflow())?;
                self.stack.drain(below..).collect()
            }
        };
        let tuple = self.heap.add_tuple(values)?;
        self.push(tuple)
    }

    fn dict(&mut self, opcode: u8) -> Result<(), Fault> {
        let values = match opcode {
            b'}' => Vec::new(),
            b's' => {
                let value = self.pop()?;
                vec![self.pop()?, value]
            }
            _ => self.pop_mark()?,
        };
        let (pairs, []) = values.as_chunks::<2>() else {
            return Err(self.file.fault("a dict has a key without a value"));
        };
        let pairs = pairs.iter().map(|&[key, value]| (key, value));
        if matches!(opcode, b'}' | b'd') {
            let dict = self.heap.add_dict(pairs.collect())?;
            return self.push(dict);
        }
        let Value::Dict(dict) = self.top()? else {
            return Err(self.file.fault("sets items of something that is not a dict"));
        };
        pairs.for_each(|(key, value)| self.heap.insert(dict, key, value));
        Ok(())
    }

    fn memo(&mut self, opcode: u8) -> Result<(), Fault> {
        let index = match opcode {
            b'q' | b'h' => self.file.unsigned(1)?,
            b'r' | b'j' => self.file.unsigned(4)?,
            0x94 => self.memo.len() as u64,
            _ => self.file.line()?.parse().map_err(|_| self.file.fault("the number of a memo is not an integer"))?,
        };
        if matches!(opcode, b'p' | b'q' | b'r' | 0x94) {
            let top = self.top()?;
            self.memo.insert(index, top);
            return Ok(());
        }
        match self.memo.get(&index) {
            Some(&value) => self.push(value),
            None => Err(self.file.fault(format!("asks for memo {index}, which was never stored"))),
        }
    }

    /// GLOBAL, INST and STACK_GLOBAL: a name of Python.
    fn name(&mut self, opcode: u8, start: usize) -> Result<(), Fault> {
        let (module, name) = if opcode == 0x93 {
            let (name, module) = (self.pop()?, self.pop()?);
            let (Some(module), Some(name)) = (self.heap.text(module), self.heap.text(name)) else {
                return Err(self.file.fault("the name of an object is not a string"));
            };
            (module, name)
        } else {
            (self.file.line()?, self.file.line()?)
        };
        match self.rules.global(module, name) {
            Some(object) if opcode != b'i' => self.push(Value::Object(object)),
            _ => Err(at_byte(self.rules.refused_name(module, name), start)),
        }
    }

    /// REDUCE, BUILD and BINPERSID.
    fn object(&mut self, opcode: u8, start: usize) -> Result<(), Fault> {
        let argument = self.pop()?;
        let value = match opcode {
            b'Q' => self.rules.persistent(self.heap, argument),
            b'R' => {
                let callable = self.pop()?;
                self.rules.call(self.heap, callable, argument)
            }
            // The attributes of an OrderedDict (`_metadata`: versions of modules) say nothing about its entries.
            _ if matches!(self.top()?, Value::Dict(_)) => return Ok(()),
            _ => return Err(self.file.fault("sets attributes of something that is not a dict")),
        };
        let value = value.map_err(|fault| at_byte(fault, start))?;
        self.push(value)
    }

    fn push(&mut self, value: Value<R::Object>) -> Result<(), Fault> {
        self.stack.push(value);
        Ok(())
    }

    /// Height below which values belong to the mark before.
    fn floor(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    fn pop(&mut self) -> Result<Value<R::Object>, Fault> {
        let top = self.top()?;
        self.stack.pop();
        Ok(top)
    }

    fn top(&self) -> Result<Value<R::Object>, Fault> {
        self.stack.last().copied().filter(|_| self.stack.len() > self.floor()).ok_or_else(|| self.underflow())
    }

    fn pop_mark(&mut self) -> Result<Vec<Value<R::Object>>, Fault> {
        let mark = self.marks.pop().ok_or_else(|| self.file.fault("asks for a mark that was never set"))?;
        Ok(self.stack.drain(mark..).collect())
    }

    fn underflow(&self) -> Fault {
        self.file.fault("takes a value from an empty stack")
    }
}
