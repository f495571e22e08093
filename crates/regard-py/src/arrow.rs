//! Columns of a data frame through Arrow's C interface (`__arrow_c_stream__`), which polars, pyarrow, DuckDB and pandas
//! have. Buffers are read where they lie.

use std::collections::HashMap;
use std::hash::Hash;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{RecordBatchStreamReader, FFI_ArrowArrayStream};
use arrow_array::types::{
    ArrowDictionaryKeyType, ArrowPrimitiveType, Date32Type, Date64Type, Float16Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{DataType, TimeUnit};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use regard::data::names::suggestion;

use crate::failure::{ArrayTypeError, invalid, with_hint};

/// A data frame in batches of rows.
pub(crate) struct Frame {
    names: Vec<String>,
    batches: Vec<RecordBatch>,
}

/// The values of a column as codes of distinct texts, in the order in which they first occur.
pub(crate) struct Codes {
    pub(crate) of: Vec<u32>,
    pub(crate) names: Vec<String>,
}

/// Time stamps of a column.
pub(crate) enum Stamps {
    /// Milliseconds since 1970-01-01.
    Milliseconds(Vec<i64>),
    Integers(Vec<i64>),
}

impl Frame {
    /// The rows of an object that has `__arrow_c_stream__`.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let capsule = object.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>().map_err(PyErr::from)?;
        let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
        // SAFETY: by Arrow's PyCapsule interface a capsule of this name, which was just checked, points to a stream that
        // the consumer may move out of it; `from_raw` leaves a released one behind, which the capsule's destructor skips.
        let reader = unsafe { RecordBatchStreamReader::from_raw(pointer.as_ptr().cast::<FFI_ArrowArrayStream>()) };
        let failed = |error: arrow_schema::ArrowError| invalid("the frame", &format!("cannot be read: {error}"), None);
        let reader = reader.map_err(failed)?;
        let names = reader.schema().fields().iter().map(|field| field.name().clone()).collect();
        let batches = reader.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        Ok(Self { names, batches })
    }

    /// The parts of a column.
    fn column(&self, name: &str) -> PyResult<Vec<ArrayRef>> {
        let Some(at) = self.names.iter().position(|known| known == name) else {
            let near = suggestion(name, self.names.iter().map(String::as_str));
            return Err(invalid("the frame", &format!("has no column `{name}`{near}"), None));
        };
        Ok(self.batches.iter().map(|batch| batch.column(at).clone()).collect())
    }

    /// A column of numbers, NaN where one is missing.
    pub(crate) fn numbers(&self, name: &str) -> PyResult<Vec<f64>> {
        let mut all = Vec::new();
        self.column(name)?.iter().try_for_each(|part| push_any_number(name, part, &mut all))?;
        Ok(all)
    }

    /// A column of texts, of categories or of integers as codes; none may be missing.
    pub(crate) fn codes(&self, name: &str) -> PyResult<Codes> {
        let mut known = Known { places: HashMap::new(), found: Codes { of: Vec::new(), names: Vec::new() } };
        for part in self.column(name)? {
            if let Some(row) = (0..part.len()).find(|&row| part.is_null(row)) {
                let row = known.found.of.len() + row;
                return Err(invalid(&format!("`{name}` of row {row}"), "is missing", None));
            }
            known.push(name, &part)?;
        }
        Ok(known.found)
    }

    /// A column of texts or numbers as texts, empty where one is missing.
    pub(crate) fn texts(&self, name: &str) -> PyResult<Vec<String>> {
        let mut all = Vec::new();
        for part in self.column(name)? {
            let missing: Vec<bool> = (0..part.len()).map(|row| part.is_null(row)).collect();
            let numbers = part.data_type().is_numeric() || *part.data_type() == DataType::Boolean;
            if numbers {
                let mut values = Vec::new();
                push_any_number(name, &part, &mut values)?;
                all.extend(values.iter().map(|value| if value.is_nan() { String::new() } else { value.to_string() }));
                continue;
            }
            let mut known = Known { places: HashMap::new(), found: Codes { of: Vec::new(), names: Vec::new() } };
            known.push(name, &part)?;
            let Codes { of, names } = known.found;
            let text = |(code, missing): (u32, bool)| if missing { String::new() } else { names[code as usize].clone() };
            all.extend(of.into_iter().zip(missing).map(text));
        }
        Ok(all)
    }

    /// A column of time stamps or integers; none may be missing.
    pub(crate) fn stamps(&self, name: &str) -> PyResult<Stamps> {
        let (mut stamps, mut dates) = (Vec::new(), false);
        for part in self.column(name)? {
            if let Some(row) = (0..part.len()).find(|&row| part.is_null(row)) {
                return Err(invalid(&format!("`{name}` of row {}", stamps.len() + row), "is missing", None));
            }
            dates = part.data_type().is_temporal();
            match part.data_type() {
                DataType::Timestamp(TimeUnit::Second, _) => {
                    push::<TimestampSecondType>(&part, &mut stamps, |value| value * 1000);
                }
                DataType::Timestamp(TimeUnit::Millisecond, _) => {
                    push::<TimestampMillisecondType>(&part, &mut stamps, |value| value);
                }
                DataType::Timestamp(TimeUnit::Microsecond, _) => {
                    push::<TimestampMicrosecondType>(&part, &mut stamps, |value| value.div_euclid(1000));
                }
                DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                    push::<TimestampNanosecondType>(&part, &mut stamps, |value| value.div_euclid(1_000_000));
                }
                DataType::Date32 => push::<Date32Type>(&part, &mut stamps, |value| i64::from(value) * 86_400_000),
                DataType::Date64 => push::<Date64Type>(&part, &mut stamps, |value| value),
                DataType::Int64 => push::<Int64Type>(&part, &mut stamps, |value| value),
                DataType::Int32 => push::<Int32Type>(&part, &mut stamps, i64::from),
                DataType::Int16 => push::<Int16Type>(&part, &mut stamps, i64::from),
                DataType::Int8 => push::<Int8Type>(&part, &mut stamps, i64::from),
                DataType::UInt32 => push::<UInt32Type>(&part, &mut stamps, i64::from),
                DataType::UInt16 => push::<UInt16Type>(&part, &mut stamps, i64::from),
                DataType::UInt8 => push::<UInt8Type>(&part, &mut stamps, i64::from),
                other => return Err(of_type(name, other, "time stamps, dates or integers")),
            }
        }
        Ok(if dates { Stamps::Milliseconds(stamps) } else { Stamps::Integers(stamps) })
    }
}

fn of_type(name: &str, found: &DataType, expected: &str) -> PyErr {
    let message = format!("column `{name}`: found {found}, expected {expected}");
    with_hint::<ArrayTypeError>(&message, Some("convert the column of the frame"))
}

fn push_any_number(name: &str, part: &ArrayRef, all: &mut Vec<f64>) -> PyResult<()> {
    match part.data_type() {
        DataType::Float64 => push_numbers::<Float64Type>(part, all, |value| value),
        DataType::Float32 => push_numbers::<Float32Type>(part, all, f64::from),
        DataType::Float16 => push_numbers::<Float16Type>(part, all, |value| value.to_f64()),
        DataType::Int64 => push_numbers::<Int64Type>(part, all, |value| value as f64),
        DataType::Int32 => push_numbers::<Int32Type>(part, all, f64::from),
        DataType::Int16 => push_numbers::<Int16Type>(part, all, f64::from),
        DataType::Int8 => push_numbers::<Int8Type>(part, all, f64::from),
        DataType::UInt64 => push_numbers::<UInt64Type>(part, all, |value| value as f64),
        DataType::UInt32 => push_numbers::<UInt32Type>(part, all, f64::from),
        DataType::UInt16 => push_numbers::<UInt16Type>(part, all, f64::from),
        DataType::UInt8 => push_numbers::<UInt8Type>(part, all, f64::from),
        DataType::Boolean => {
            let number = |value: Option<bool>| value.map_or(f64::NAN, |yes| f64::from(u8::from(yes)));
            all.extend(part.as_boolean().iter().map(number));
        }
        other => return Err(of_type(name, other, "numbers")),
    }
    Ok(())
}

fn push<T: ArrowPrimitiveType>(part: &ArrayRef, all: &mut Vec<i64>, convert: impl Fn(T::Native) -> i64) {
    all.extend(part.as_primitive::<T>().values().iter().map(|value| convert(*value)));
}

fn push_numbers<T: ArrowPrimitiveType>(part: &ArrayRef, all: &mut Vec<f64>, convert: impl Fn(T::Native) -> f64) {
    let values = part.as_primitive::<T>();
    match values.null_count() {
        0 => all.extend(values.values().iter().map(|value| convert(*value))),
        _ => all.extend(values.iter().map(|value| value.map_or(f64::NAN, &convert))),
    }
}

/// Texts that occurred, by what they are made of.
struct Known {
    places: HashMap<String, u32>,
    found: Codes,
}

impl Known {
    fn code(&mut self, text: &str) -> u32 {
        if let Some(code) = self.places.get(text) {
            return *code;
        }
        let code = self.found.names.len() as u32;
        self.places.insert(text.to_owned(), code);
        self.found.names.push(text.to_owned());
        code
    }

    /// Codes of values that usually repeat the one before.
    fn extend<V: PartialEq + Copy + Hash + Eq>(&mut self, values: impl Iterator<Item = V>, text: impl Fn(V) -> String) {
        let mut of_values: HashMap<V, u32> = HashMap::new();
        let mut last: Option<(V, u32)> = None;
        for value in values {
            let code = match last {
                Some((before, code)) if before == value => code,
                _ => match of_values.get(&value) {
                    Some(code) => *code,
                    None => {
                        let code = self.code(&text(value));
                        of_values.insert(value, code);
                        code
                    }
                },
            };
            last = Some((value, code));
            self.found.of.push(code);
        }
    }

    fn push(&mut self, name: &str, part: &ArrayRef) -> PyResult<()> {
        let owned = |value: &str| value.to_owned();
        match part.data_type() {
            DataType::Utf8 => self.extend(part.as_string::<i32>().iter().map(Option::unwrap_or_default), owned),
            DataType::LargeUtf8 => self.extend(part.as_string::<i64>().iter().map(Option::unwrap_or_default), owned),
            DataType::Utf8View => self.extend(part.as_string_view().iter().map(Option::unwrap_or_default), owned),
            DataType::Dictionary(key, _) => match key.as_ref() {
                DataType::Int8 => self.dictionary::<Int8Type>(name, part)?,
                DataType::Int16 => self.dictionary::<Int16Type>(name, part)?,
                DataType::Int32 => self.dictionary::<Int32Type>(name, part)?,
                DataType::Int64 => self.dictionary::<Int64Type>(name, part)?,
                DataType::UInt8 => self.dictionary::<UInt8Type>(name, part)?,
                DataType::UInt16 => self.dictionary::<UInt16Type>(name, part)?,
                DataType::UInt32 => self.dictionary::<UInt32Type>(name, part)?,
                _ => self.dictionary::<UInt64Type>(name, part)?,
            },
            DataType::Int64 => self.extend(part.as_primitive::<Int64Type>().values().iter().copied(), text_of),
            DataType::Int32 => self.extend(part.as_primitive::<Int32Type>().values().iter().copied(), text_of),
            DataType::Int16 => self.extend(part.as_primitive::<Int16Type>().values().iter().copied(), text_of),
            DataType::Int8 => self.extend(part.as_primitive::<Int8Type>().values().iter().copied(), text_of),
            DataType::UInt64 => self.extend(part.as_primitive::<UInt64Type>().values().iter().copied(), text_of),
            DataType::UInt32 => self.extend(part.as_primitive::<UInt32Type>().values().iter().copied(), text_of),
            DataType::UInt16 => self.extend(part.as_primitive::<UInt16Type>().values().iter().copied(), text_of),
            DataType::UInt8 => self.extend(part.as_primitive::<UInt8Type>().values().iter().copied(), text_of),
            other => return Err(of_type(name, other, "texts, categories or integers")),
        }
        Ok(())
    }

    fn dictionary<K: ArrowDictionaryKeyType>(&mut self, name: &str, part: &ArrayRef) -> PyResult<()> {
        let dictionary = part.as_dictionary::<K>();
        let mut names = Self { places: HashMap::new(), found: Codes { of: Vec::new(), names: Vec::new() } };
        names.push(name, dictionary.values())?;
        let Codes { of, names } = names.found;
        for key in dictionary.keys_iter() {
            let text = key.and_then(|key| of.get(key)).map_or("", |code| names[*code as usize].as_str());
            let code = self.code(text);
            self.found.of.push(code);
        }
        Ok(())
    }
}

fn text_of(value: impl ToString) -> String {
    value.to_string()
}
