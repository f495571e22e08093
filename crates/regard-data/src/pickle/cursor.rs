//! The bytes of a pickle, checked against the end of the file, and the opcodes that stand for a number or a text.

use super::value::{Heap, Value};
use crate::error::{Fault, shown};

/// A position in a pickle.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// Position of the next byte.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn byte(&mut self) -> Result<u8, Fault> {
        self.take(1).map(|bytes| bytes[0])
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], Fault> {
        let rest = self.rest();
        let Some(taken) = rest.get(..length) else {
            return Err(self.fault(format!("the file ends {} bytes too early", length - rest.len())));
        };
        self.at += length;
        Ok(taken)
    }

    /// Exactly `N` bytes.
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let mut all = [0; N];
        all.copy_from_slice(self.take(N)?);
        Ok(all)
    }

    /// A little-endian number of at most 8 bytes.
    pub(super) fn unsigned(&mut self, width: usize) -> Result<u64, Fault> {
        let digits = self.take(width)?;
        Ok(digits.iter().rev().fold(0, |number, &digit| (number << 8) | u64::from(digit)))
    }

    /// Bytes with their number in front.
    fn counted(&mut self, width: usize) -> Result<&'a [u8], Fault> {
        let length = self.unsigned(width)?;
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// Text with its length in front.
    fn text(&mut self, width: usize) -> Result<&'a str, Fault> {
        let bytes = self.counted(width)?;
        std::str::from_utf8(bytes).map_err(|_| self.fault("a string is not UTF-8"))
    }

    /// Text up to the end of the line.
    pub(super) fn line(&mut self) -> Result<&'a str, Fault> {
        let rest = self.rest();
        let Some(end) = rest.iter().position(|&byte| byte == b'\n') else {
            return Err(self.fault("the file ends within a line"));
        };
        let text = std::str::from_utf8(&rest[..end]).map_err(|_| self.fault("a line is not UTF-8"))?;
        self.at += end + 1;
        Ok(text)
    }

    /// The value of an opcode for a number or a text, which was found at byte `start`. Integers have at most
    /// `integer_bytes` bytes.
    pub(super) fn literal<O: Copy>(
        &mut self,
        opcode: u8,
        start: usize,
        integer_bytes: usize,
        heap: &mut Heap<'a, O>,
    ) -> Result<Value<O>, Fault> {
        match opcode {
            b'K' => Ok(Value::Int(self.byte()?.into())),
            b'M' => Ok(Value::Int(u16::from_le_bytes(self.array()?).into())),
            b'J' => Ok(Value::Int(i32::from_le_bytes(self.array()?).into())),
            0x8a => self.long(1, integer_bytes).and_then(|number| heap.integer(number)),
            0x8b => self.long(4, integer_bytes).and_then(|number| heap.integer(number)),
            b'I' | b'L' => self.decimal(start, heap),
            b'F' => {
                let line = self.line()?;
                line.parse().map(Value::Float).map_err(|_| not_a_number(start, line))
            }
            b'G' => Ok(Value::Float(f64::from_be_bytes(self.array()?))),
            b'V' => self.line().and_then(|text| heap.add_text(text)),
            b'S' => self.line().and_then(|text| heap.add_text(text.trim_matches(['\'', '"']))),
            b'U' | 0x8c => self.text(1).and_then(|text| heap.add_text(text)),
            0x8d => self.text(8).and_then(|text| heap.add_text(text)),
            _ => self.text(4).and_then(|text| heap.add_text(text)),
        }
    }

    /// Little-endian two's complement of a stated length.
    fn long(&mut self, width: usize, most: usize) -> Result<i128, Fault> {
        let digits = self.counted(width)?;
        let negative = digits.last().is_some_and(|last| last & 0x80 != 0);
        let mut all = [if negative { 0xff } else { 0 }; 16];
        let low = all.get_mut(..digits.len()).filter(|low| low.len() <= most);
        let Some(low) = low else {
            return Err(self.fault(format!("an integer of {} bytes, expected at most {most}", digits.len())));
        };
        low.copy_from_slice(digits);
        Ok(i128::from_le_bytes(all))
    }

    /// Decimal digits on a line; `00` and `01` are the booleans of protocol 1.
    fn decimal<O: Copy>(&mut self, start: usize, heap: &mut Heap<'a, O>) -> Result<Value<O>, Fault> {
        let line = self.line()?;
        match line.strip_suffix('L').unwrap_or(line) {
            "00" => Ok(Value::Bool(false)),
            "01" => Ok(Value::Bool(true)),
            digits => digits.parse().map_err(|_| not_a_number(start, line)).and_then(|number| heap.integer(number)),
        }
    }

    /// A fault at the next byte.
    pub(super) fn fault(&self, reason: impl Into<String>) -> Fault {
        Fault::at_byte(self.at, reason)
    }

    fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }
}

fn not_a_number(start: usize, line: &str) -> Fault {
    Fault::at_byte(start, format!("found `{}`, expected a number", shown(line)))
}
