//! A pickle machine that can build weights and nothing else.
//!
//! Opcodes of protocols 0 to 5 (Python's `pickletools.py`) that make numbers, strings, lists,
//! tuples and dicts are followed; the ones that name, call or make other objects are refused,
//! except for the names in [`Callable`]. Every read is checked against the end of the file.

use std::collections::HashMap;

use super::build;
use super::cursor::Cursor;
use super::fault::Fault;
use super::literal;
use super::value::{Callable, Heap, Value, clip};

/// Runs the pickle that begins at `*at`, and moves `*at` behind its end.
pub(super) fn load<'a>(bytes: &'a [u8], at: &mut usize, heap: &mut Heap<'a>) -> Result<Value<'a>, Fault> {
    let file = Cursor::new(bytes, *at);
    let mut machine = Machine { file, stack: vec![], marks: vec![], memo: HashMap::new(), heap };
    loop {
        let start = machine.file.at();
        let opcode = machine.file.byte()?;
        machine.heap.charge(1, start)?;
        if opcode == b'.' {
            let result = machine.pop()?;
            *at = machine.file.at();
            return Ok(result);
        }
        machine.step(opcode, start)?;
    }
}

struct Machine<'a, 'h> {
    file: Cursor<'a>,
    stack: Vec<Value<'a>>,
    /// Heights of the stack where marks stand.
    marks: Vec<usize>,
    memo: HashMap<u64, Value<'a>>,
    heap: &'h mut Heap<'a>,
}

impl<'a> Machine<'a, '_> {
    /// One opcode, found at byte `start`.
    fn step(&mut self, opcode: u8, start: usize) -> Result<(), Fault> {
        match opcode {
            0x80 => self.protocol(),
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
            b'N' | 0x88 | 0x89 | b'I' | b'J' | b'K' | b'M' | b'L' | 0x8a | 0x8b | b'F' | b'G' | b'S' | b'T' | b'U'
            | b'V' | b'X' | 0x8c | 0x8d => {
                let value = literal::read(&mut self.file, opcode)?;
                self.push(value)
            }
            b']' | b'l' | b'a' | b'e' => self.list(opcode),
            b')' | b't' | 0x85..=0x87 => self.tuple(opcode),
            b'}' | b'd' | b's' | b'u' => self.dict(opcode),
            b'p' | b'q' | b'r' | 0x94 | b'g' | b'h' | b'j' => self.memo(opcode),
            b'c' | b'i' | 0x93 => self.name(opcode, start),
            b'R' | b'b' | b'Q' => self.object(opcode, start),
            _ => Err(refused(opcode, start)),
        }
    }

    fn protocol(&mut self) -> Result<(), Fault> {
        match self.file.byte()? {
            0..=5 => Ok(()),
            version => Err(self.fault(format!("pickle protocol {version}; 0 to 5 are known"))),
        }
    }

    fn list(&mut self, opcode: u8) -> Result<(), Fault> {
        let values = match opcode {
            b']' => vec![],
            b'a' => vec![self.pop()?],
            _ => self.pop_mark()?,
        };
        if matches!(opcode, b']' | b'l') {
            let list = Value::List(self.heap.add_sequence(values));
            return self.push(list);
        }
        let Value::List(id) = self.top()? else {
            return Err(self.fault("appends to something that is not a list"));
        };
        self.heap.append(id, &values);
        Ok(())
    }

    fn tuple(&mut self, opcode: u8) -> Result<(), Fault> {
        let values = match opcode {
            b')' => vec![],
            b't' => self.pop_mark()?,
            _ => {
                let below = self.stack.len().checked_sub(usize::from(opcode - 0x84));
                match below.filter(|&below| below >= self.floor()) {
                    Some(below) => self.stack.split_off(below),
                    None => return Err(self.underflow()),
                }
            }
        };
        let tuple = Value::Tuple(self.heap.add_sequence(values));
        self.push(tuple)
    }

    fn dict(&mut self, opcode: u8) -> Result<(), Fault> {
        let values = match opcode {
            b'}' => vec![],
            b's' => {
                let value = self.pop()?;
                vec![self.pop()?, value]
            }
            _ => self.pop_mark()?,
        };
        let (pairs, []) = values.as_chunks::<2>() else {
            return Err(self.fault("a dict has a key without a value"));
        };
        let pairs = pairs.iter().map(|&[key, value]| (key, value));
        if matches!(opcode, b'}' | b'd') {
            let dict = self.heap.add_dict(pairs.collect());
            return self.push(dict);
        }
        let Value::Dict(id) = self.top()? else {
            return Err(self.fault("sets items of something that is not a dict"));
        };
        pairs.for_each(|(key, value)| self.heap.insert(id, key, value));
        Ok(())
    }

    fn memo(&mut self, opcode: u8) -> Result<(), Fault> {
        let index = match opcode {
            b'q' | b'h' => self.file.unsigned(1)?,
            b'r' | b'j' => self.file.unsigned(4)?,
            0x94 => self.memo.len() as u64,
            _ => self.file.line()?.parse().map_err(|_| self.fault("the number of a memo is not an integer"))?,
        };
        if matches!(opcode, b'p' | b'q' | b'r' | 0x94) {
            let top = self.top()?;
            self.memo.insert(index, top);
            return Ok(());
        }
        match self.memo.get(&index) {
            Some(&value) => self.push(value),
            None => Err(self.fault(format!("asks for memo {index}, which was never stored"))),
        }
    }

    /// GLOBAL, INST and STACK_GLOBAL: the name of something of Python's.
    fn name(&mut self, opcode: u8, start: usize) -> Result<(), Fault> {
        let (module, name) = if opcode == 0x93 {
            let (name, module) = (self.pop()?, self.pop()?);
            let (Value::Text(module), Value::Text(name)) = (module, name) else {
                return Err(self.fault("the name of an object is not a string"));
            };
            (module, name)
        } else {
            (self.file.line()?, self.file.line()?)
        };
        match Callable::find(module, name) {
            Some(callable) if opcode != b'i' => self.push(Value::Callable(callable)),
            _ => Err(forbidden(module, name, start)),
        }
    }

    /// REDUCE, BUILD and BINPERSID, as far as weights need them.
    fn object(&mut self, opcode: u8, start: usize) -> Result<(), Fault> {
        let argument = self.pop()?;
        let value = match opcode {
            b'Q' => build::storage(self.heap, argument, start)?,
            b'R' => {
                let callable = self.pop()?;
                build::call(self.heap, callable, argument, start)?
            }
            // The attributes of an OrderedDict (`_metadata`: versions of modules) say nothing about
            // weights.
            _ if matches!(self.top()?, Value::Dict(_)) => return Ok(()),
            _ => return Err(self.fault("sets attributes of something that is not a dict")),
        };
        self.push(value)
    }

    fn push(&mut self, value: Value<'a>) -> Result<(), Fault> {
        self.stack.push(value);
        Ok(())
    }

    /// Height below which values belong to the mark before.
    fn floor(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    fn pop(&mut self) -> Result<Value<'a>, Fault> {
        if self.stack.len() <= self.floor() {
            return Err(self.underflow());
        }
        self.stack.pop().ok_or_else(|| self.underflow())
    }

    fn top(&self) -> Result<Value<'a>, Fault> {
        self.stack.last().copied().filter(|_| self.stack.len() > self.floor()).ok_or_else(|| self.underflow())
    }

    fn pop_mark(&mut self) -> Result<Vec<Value<'a>>, Fault> {
        let mark = self.marks.pop().ok_or_else(|| self.fault("asks for a mark that was never set"))?;
        Ok(self.stack.split_off(mark))
    }

    fn fault(&self, reason: impl Into<String>) -> Fault {
        self.file.fault(reason)
    }

    fn underflow(&self) -> Fault {
        self.fault("takes a value from an empty stack")
    }
}

/// An opcode that makes something other than weights, or none at all.
fn refused(opcode: u8, at: usize) -> Fault {
    let name = match opcode {
        b'P' => "PERSID",
        b'o' => "OBJ",
        0x81 => "NEWOBJ",
        0x92 => "NEWOBJ_EX",
        0x82..=0x84 => "EXT",
        b'B' | b'C' | 0x8e | 0x96 => "BYTES",
        0x8f..=0x91 => "SET",
        0x97 | 0x98 => "BUFFER",
        _ => {
            return Fault::new(at, format!("0x{opcode:02x} is not an opcode of a pickle: the file is damaged"));
        }
    };
    Fault::new(at, format!("the file uses the pickle opcode {name}, which a weights file has no use for"))
}

/// A name that no weights file needs.
fn forbidden(module: &str, name: &str, at: usize) -> Fault {
    const HINT: &str = "if you trust the file, open it in PyTorch and save the weights alone: \
                        torch.save(model.state_dict(), \"weights.pt\")";
    let name = format!("{}.{}", clip(module), clip(name));
    Fault::new(at, format!("the file asks for `{name}`, which a weights file has no use for")).hint(HINT)
}
