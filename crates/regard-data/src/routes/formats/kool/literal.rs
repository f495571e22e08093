//! Opcodes that stand for a number or a string.

use super::cursor::Cursor;
use super::value::{Heap, Value};
use crate::error::Fault;
use crate::routes::formats::shown;

/// The value of a literal opcode, found at byte `start`.
pub(super) fn read<'a>(file: &mut Cursor<'a>, opcode: u8, start: usize, heap: &mut Heap<'a>) -> Result<Value, Fault> {
    Ok(match opcode {
        b'K' => Value::Int(file.byte()?.into()),
        b'M' => Value::Int(u16::from_le_bytes(file.array()?).into()),
        b'J' => Value::Int(i32::from_le_bytes(file.array()?).into()),
        0x8a => long(file, 1)?,
        0x8b => long(file, 4)?,
        b'I' | b'L' => decimal(file, start)?,
        b'F' => float(file, start)?,
        b'G' => Value::Float(f64::from_be_bytes(file.array()?)),
        b'V' | b'S' => heap.text(file.line()?.trim_matches(['\'', '"']).as_bytes())?,
        b'U' | 0x8c => heap.text(file.counted(1)?)?,
        0x8d => heap.text(file.counted(8)?)?,
        _ => heap.text(file.counted(4)?)?,
    })
}

/// Little-endian two's complement of a stated length.
fn long(file: &mut Cursor<'_>, width: usize) -> Result<Value, Fault> {
    let digits = file.counted(width)?;
    let negative = digits.last().is_some_and(|last| last & 0x80 != 0);
    let mut all = [if negative { 0xff } else { 0 }; 8];
    let Some(low) = all.get_mut(..digits.len()) else {
        return Err(file.fault(format!("an integer of {} bytes, expected at most 8", digits.len())));
    };
    low.copy_from_slice(digits);
    Ok(Value::Int(i64::from_le_bytes(all)))
}

/// Decimal digits on a line; `00` and `01` are the booleans of protocol 1.
fn decimal(file: &mut Cursor<'_>, start: usize) -> Result<Value, Fault> {
    let line = file.line()?;
    if matches!(line, "00" | "01") {
        return Err(Fault::at_byte(start, "holds True or False, expected numbers"));
    }
    let digits = line.strip_suffix('L').unwrap_or(line);
    digits.parse().map(Value::Int).map_err(|_| not_a_number(start, line))
}

fn float(file: &mut Cursor<'_>, start: usize) -> Result<Value, Fault> {
    let line = file.line()?;
    line.parse().map(Value::Float).map_err(|_| not_a_number(start, line))
}

fn not_a_number(start: usize, line: &str) -> Fault {
    Fault::at_byte(start, format!("found `{}`, expected a number", shown(line)))
}
