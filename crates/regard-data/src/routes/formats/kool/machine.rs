//! A pickle machine that builds lists, tuples and numbers, and nothing else.
//!
//! Opcodes of protocols 0 to 5 as in Python's `pickletools.py`. Each takes a bounded amount of
//! memory: what it reads is in the file, and copies are numbers of places.

use std::collections::HashMap;

use super::cursor::Cursor;
use super::literal;
use super::value::{Heap, Value};
use crate::error::Fault;
use crate::routes::formats::shown;

/// Runs the pickle that the bytes are.
pub(super) fn load(bytes: &[u8]) -> Result<(Value, Heap<'_>), Fault> {
    let mut machine = Machine {
        file: Cursor::new(bytes),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::new(),
        heap: Heap::default(),
    };
    loop {
        let start = machine.file.at();
        let opcode = machine.file.byte()?;
        if opcode == b'.' {
            let root = machine.pop()?;
            return match machine.file.left() {
                0 => Ok((root, machine.heap)),
                left => Err(machine.file.fault(format!("{left} bytes follow the end of the pickle"))),
            };
        }
        machine.step(opcode, start)?;
    }
}

struct Machine<'a> {
    file: Cursor<'a>,
    stack: Vec<Value>,
    /// Heights of the stack where marks stand.
    marks: Vec<usize>,
    memo: HashMap<u64, Value>,
    heap: Heap<'a>,
}

impl Machine<'_> {
    /// One opcode, found at byte `start`.
    fn step(&mut self, opcode: u8, start: usize) -> Result<(), Fault> {
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
                self.stack.push(top);
                Ok(())
            }
            b'I' | b'J' | b'K' | b'M' | b'L' | 0x8a | 0x8b | b'F' | b'G' | b'S' | b'T' | b'U' | b'V' | b'X' | 0x8c
            | 0x8d => {
                let value = literal::read(&mut self.file, opcode, start, &mut self.heap)?;
                self.stack.push(value);
                Ok(())
            }
            b']' | b'l' | b'a' | b'e' => self.list(opcode),
            b')' | b't' | 0x85..=0x87 => self.tuple(opcode),
            b'p' | b'q' | b'r' | 0x94 | b'g' | b'h' | b'j' => self.memo(opcode),
            b'c' | b'i' | 0x93 => Err(self.name(opcode, start)?),
            _ => Err(refused(opcode, start)),
        }
    }

    fn list(&mut self, opcode: u8) -> Result<(), Fault> {
        let values = match opcode {
            b']' => Vec::new(),
            b'a' => vec![self.pop()?],
            _ => self.pop_mark()?,
        };
        if matches!(opcode, b']' | b'l') {
            let list = self.heap.list(values)?;
            self.stack.push(list);
            return Ok(());
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
        let tuple = self.heap.tuple(values)?;
        self.stack.push(tuple);
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
        let value = self.memo.get(&index).copied();
        self.stack
            .push(value.ok_or_else(|| self.file.fault(format!("asks for memo {index}, which was never stored")))?);
        Ok(())
    }

    /// GLOBAL, INST and STACK_GLOBAL: the fault that says what of Python's is asked for.
    fn name(&mut self, opcode: u8, start: usize) -> Result<Fault, Fault> {
        let (module, name) = if opcode == 0x93 {
            let (name, module) = (self.pop()?, self.pop()?);
            (self.heap.shown(module), self.heap.shown(name))
        } else {
            (shown(self.file.line()?), shown(self.file.line()?))
        };
        let fault =
            Fault::at_byte(start, format!("would call the function `{module}.{name}` of Python, which is refused"));
        let numpy = module == "numpy" || module.starts_with("numpy.");
        Ok(fault.hint(if numpy {
            "write plain lists and numbers: `.tolist()` of an array, or an `.npz` file"
        } else {
            "a set of instances needs lists, tuples and numbers only; do not open this file in Python"
        }))
    }

    /// Height below which values belong to the mark before.
    fn floor(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    fn pop(&mut self) -> Result<Value, Fault> {
        let top = self.top()?;
        self.stack.pop();
        Ok(top)
    }

    fn top(&self) -> Result<Value, Fault> {
        self.stack.last().copied().filter(|_| self.stack.len() > self.floor()).ok_or_else(|| self.underflow())
    }

    fn pop_mark(&mut self) -> Result<Vec<Value>, Fault> {
        let mark = self.marks.pop().ok_or_else(|| self.file.fault("asks for a mark that was never set"))?;
        Ok(self.stack.drain(mark..).collect())
    }

    fn underflow(&self) -> Fault {
        self.file.fault("takes a value from an empty stack")
    }
}

/// An opcode that makes something other than lists, tuples and numbers, or none at all.
fn refused(opcode: u8, at: usize) -> Fault {
    let calls = |name: &str| format!("the opcode {name} would call a function of Python, which is refused");
    let holds = |what: &str| format!("holds {what}, expected lists, tuples and numbers");
    let reason = match opcode {
        b'R' => calls("REDUCE"),
        b'b' => calls("BUILD"),
        b'o' => calls("OBJ"),
        0x81 => calls("NEWOBJ"),
        0x92 => calls("NEWOBJ_EX"),
        0x82..=0x84 => calls("EXT"),
        b'P' | b'Q' => calls("PERSID"),
        b'N' => holds("None"),
        0x88 | 0x89 => holds("True or False"),
        b'}' | b'd' | b's' | b'u' => holds("a dict"),
        0x8f..=0x91 => holds("a set"),
        b'B' | b'C' | 0x8e | 0x96..=0x98 => holds("bytes"),
        _ => format!("0x{opcode:02x} is not an opcode of a pickle: the file is damaged or of another kind"),
    };
    Fault::at_byte(at, reason)
}
