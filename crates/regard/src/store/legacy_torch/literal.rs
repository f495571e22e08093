//! Opcodes that stand for a number or a string.

use super::cursor::Cursor;
use super::fault::Fault;
use super::value::{Value, clip};

/// The value of a literal opcode.
pub(super) fn read<'a>(file: &mut Cursor<'a>, opcode: u8) -> Result<Value<'a>, Fault> {
    Ok(match opcode {
        b'N' => Value::None,
        0x88 => Value::Bool(true),
        0x89 => Value::Bool(false),
        b'K' => Value::Int(file.unsigned(1)?.into()),
        b'M' => Value::Int(file.unsigned(2)?.into()),
        b'J' => Value::Int((file.unsigned(4)? as u32).cast_signed().into()),
        0x8a => long(file, 1)?,
        0x8b => long(file, 4)?,
        b'I' | b'L' => decimal(file)?,
        b'F' => file.line().map(|_| Value::Float)?,
        b'G' => file.take(8).map(|_| Value::Float)?,
        b'V' => Value::Text(file.line()?),
        b'S' => Value::Text(file.line()?.trim_matches(['\'', '"'])),
        b'U' | 0x8c => Value::Text(file.text(1)?),
        0x8d => Value::Text(file.text(8)?),
        _ => Value::Text(file.text(4)?),
    })
}

/// Little-endian two's complement of a stated length.
fn long<'a>(file: &mut Cursor<'a>, width: usize) -> Result<Value<'a>, Fault> {
    let length = file.length(width)?;
    let digits = file.take(length)?;
    let negative = digits.last().is_some_and(|last| last & 0x80 != 0);
    let mut all = [if negative { 0xff } else { 0 }; 16];
    let Some(low) = all.get_mut(..length) else {
        return Err(file.fault(format!("an integer of {length} bytes; at most 16 are read")));
    };
    low.copy_from_slice(digits);
    Ok(Value::Int(i128::from_le_bytes(all)))
}

/// Decimal digits on a line; `00` and `01` are the booleans of protocol 1.
fn decimal<'a>(file: &mut Cursor<'a>) -> Result<Value<'a>, Fault> {
    match file.line()?.trim_end_matches('L') {
        "00" => Ok(Value::Bool(false)),
        "01" => Ok(Value::Bool(true)),
        digits => match digits.parse() {
            Ok(number) => Ok(Value::Int(number)),
            Err(_) => Err(file.fault(format!("`{}` is not an integer", clip(digits)))),
        },
    }
}
