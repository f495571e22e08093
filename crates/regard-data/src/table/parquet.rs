//! Tables in Parquet files: read as the text that the readers of CSV take, and written.

use std::any::Any;
use std::fs::File;
use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use parquet::schema::types::{BasicTypeInfo, Type};

use super::write::{Cell, TableSource, quoted};
use crate::error::shown;
use crate::{Error, Result};

/// The table of a Parquet file as CSV with a header. Row `n` of the table is line `n + 1` of the text,
/// the line that errors of the reader name; what is null is empty.
///
/// # Errors
/// [`Error::Io`] when the file cannot be read, and [`Error::Parse`] when it is no Parquet file, is
/// damaged, or has columns of lists or structures.
pub(super) fn as_csv(path: &Path) -> Result<String> {
    let bytes = Bytes::from(crate::file::read_bytes(path)?);
    let mut lines = unwound(path, || CsvLines::of(bytes, path))?;
    let mut text = String::new();
    while lines.append(&mut text)? {}
    Ok(text)
}

/// The table of a Parquet file on disk as a source of the text of [`as_csv`], read row by row.
///
/// # Errors
/// As there.
pub(super) fn csv_of(path: &Path) -> Result<Box<dyn Read>> {
    let file = File::open(path).map_err(|source| Error::io(path, source))?;
    let lines = unwound(path, || CsvLines::of(file, path))?;
    Ok(Box::new(CsvText { lines, text: String::new(), at: 0 }))
}

/// Calls a reader that takes some damaged files for impossible and panics.
fn unwound<T>(path: &Path, read: impl FnOnce() -> Result<T>) -> Result<T> {
    let read = catch_unwind(AssertUnwindSafe(read));
    read.unwrap_or_else(|reason| Err(Error::parse(path, 0, format!("cannot be read: {}", said(reason.as_ref())))))
}

/// The lines of a table as CSV, its header first.
struct CsvLines {
    path: PathBuf,
    header: Option<String>,
    nanoseconds: Vec<bool>,
    rows: RowIter<'static>,
    /// The line of the next row.
    line: usize,
}

/// The text of the lines.
struct CsvText {
    lines: CsvLines,
    /// Lines of which `at` bytes were given out.
    text: String,
    at: usize,
}

impl Read for CsvText {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.text.len() {
            self.at = 0;
            self.text.clear();
            let more = self.lines.append(&mut self.text);
            more.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
        }
        let count = buffer.len().min(self.text.len() - self.at);
        buffer[..count].copy_from_slice(&self.text.as_bytes()[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

impl CsvLines {
    fn of<R: ChunkReader + 'static>(file: R, path: &Path) -> Result<Self> {
        let broken = |error: ParquetError| Error::parse(path, 0, format!("is not a table: {error}"));
        let reader = SerializedFileReader::new(file).map_err(broken)?;
        let fields = reader.metadata().file_metadata().schema().get_fields();
        if let Some(nested) = fields.iter().find(|field| !field.is_primitive()) {
            let reason = "holds lists or structures, expected single values";
            return Err(Error::parse(path, 1, reason).in_field(nested.name()));
        }
        let names: Vec<String> = fields.iter().map(|field| quoted(field.name())).collect();
        let nanoseconds = fields.iter().map(|field| counts_nanoseconds(field.get_basic_info())).collect();
        let rows = RowIter::from_file_into(Box::new(reader));
        Ok(Self { path: path.to_path_buf(), header: Some(names.join(",")), nanoseconds, rows, line: 2 })
    }

    /// Appends the next line to a text; `false` at the end.
    fn append(&mut self, text: &mut String) -> Result<bool> {
        let Self { path, header, nanoseconds, rows, line: at } = self;
        let line = match header.take() {
            Some(header) => header,
            None => {
                let text = unwound(path, || {
                    let broken = |error| Error::parse(path, *at, format!("cannot be read: {error}"));
                    let row = rows.next().transpose().map_err(broken)?;
                    Ok(row.map(|row| line(&row, nanoseconds)))
                })?;
                let Some(text) = text else { return Ok(false) };
                *at += 1;
                text
            }
        };
        text.push_str(&line);
        text.push('\n');
        Ok(true)
    }
}

/// If true, a column of integers holds times, which the library knows as such only when they are coarser.
fn counts_nanoseconds(column: &BasicTypeInfo) -> bool {
    matches!(column.logical_type_ref(), Some(LogicalType::Timestamp(time)) if time.unit == TimeUnit::NANOS)
}

fn line(row: &Row, nanoseconds: &[bool]) -> String {
    let cells = row.get_column_iter().zip(nanoseconds);
    let line = cells.map(|((_, field), nanoseconds)| cell(field, *nanoseconds)).collect::<Vec<_>>().join(",");
    // An empty line would be no row.
    if line.is_empty() { "\"\"".to_owned() } else { line }
}

fn cell(field: &Field, nanoseconds: bool) -> String {
    match field {
        Field::Null => String::new(),
        // The library's own text loses digits of neither, but writes words in quotes and integers with
        // a decimal, which would not be the same name in a CSV file.
        Field::Float(value) => value.to_string(),
        Field::Double(value) => value.to_string(),
        Field::Str(text) => quoted(text),
        Field::Bytes(bytes) => quoted(&String::from_utf8_lossy(bytes.data())),
        // Its text of a time ends in an offset, also where the file has none.
        Field::TimestampMillis(value) => time(i128::from(*value) * 1_000_000),
        Field::TimestampMicros(value) => time(i128::from(*value) * 1000),
        Field::Long(value) if nanoseconds => time(i128::from(*value)),
        other => other.to_string(),
    }
}

/// A time in nanoseconds since 1970, with a fraction of a second only where there is one.
fn time(nanoseconds: i128) -> String {
    let time = jiff::Timestamp::from_nanosecond(nanoseconds).map(|time| time.strftime("%Y-%m-%d %H:%M:%S%.f"));
    time.map_or_else(|_| nanoseconds.to_string(), |time| time.to_string())
}

fn said(reason: &(dyn Any + Send)) -> String {
    let text = reason.downcast_ref::<String>().map(String::as_str).or(reason.downcast_ref::<&str>().copied());
    shown(text.unwrap_or("the file is damaged"))
}

/// Writes a table with one group of rows. The first field that is there decides the type of a column; a column without
/// any is of text.
pub(super) fn write(table: &dyn TableSource, w: &mut dyn Write) -> io::Result<()> {
    let names = table.columns();
    let mut columns: Vec<Values> = names.iter().map(|_| Values::default()).collect();
    table.each_row(&mut |cells| {
        columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(*cell));
        Ok(())
    })?;
    let mut bytes = Vec::new();
    render(&names, columns, &mut bytes).map_err(io::Error::other)?;
    w.write_all(&bytes)
}

fn render(names: &[String], columns: Vec<Values>, bytes: &mut Vec<u8>) -> Result<(), ParquetError> {
    let field = |(name, column): (&String, &Values)| {
        let (physical, logical) = match column.of {
            Of::Nothing | Of::Texts(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Of::Wholes(_) => (Physical::INT64, None),
            Of::Numbers(_) => (Physical::DOUBLE, None),
            Of::Singles(_) => (Physical::FLOAT, None),
        };
        let builder = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
        builder.with_logical_type(logical).build().map(Arc::new)
    };
    let fields = names.iter().zip(&columns).map(field).collect::<Result<_, _>>()?;
    let schema = Arc::new(Type::group_type_builder("table").with_fields(fields).build()?);
    let mut writer = SerializedFileWriter::new(bytes, schema, Arc::new(WriterProperties::default()))?;
    let mut group = writer.next_row_group()?;
    let mut columns = columns.into_iter();
    while let Some(writer) = group.next_column()? {
        columns.next().unwrap_or_default().write(writer)?;
    }
    group.close()?;
    writer.close().map(drop)
}

/// The fields of a column to be written.
#[derive(Default)]
struct Values {
    of: Of,
    /// 1 where there is a value, 0 where there is none.
    levels: Vec<i16>,
}

#[derive(Default)]
enum Of {
    #[default]
    Nothing,
    Texts(Vec<ByteArray>),
    Wholes(Vec<i64>),
    Numbers(Vec<f64>),
    Singles(Vec<f32>),
}

impl Values {
    fn push(&mut self, cell: Cell<'_>) {
        if matches!(self.of, Of::Nothing) {
            self.of = match cell {
                Cell::Text(_) => Of::Texts(Vec::new()),
                Cell::Whole(_) => Of::Wholes(Vec::new()),
                Cell::Number(_) => Of::Numbers(Vec::new()),
                Cell::Single(_) => Of::Singles(Vec::new()),
                Cell::Missing => Of::Nothing,
            };
        }
        let there = match (&mut self.of, cell) {
            (Of::Texts(all), Cell::Text(text)) => push(all, text.into()),
            (Of::Wholes(all), Cell::Whole(number)) => push(all, number as i64),
            (Of::Numbers(all), Cell::Number(number)) if number.is_finite() => push(all, number),
            (Of::Singles(all), Cell::Single(number)) if number.is_finite() => push(all, number),
            _ => false,
        };
        self.levels.push(i16::from(there));
    }

    fn write(self, mut writer: SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        fn all<T: DataType>(
            writer: &mut SerializedColumnWriter<'_>,
            values: &[T::T],
            levels: &[i16],
        ) -> Result<(), ParquetError> {
            writer.typed::<T>().write_batch(values, Some(levels), None).map(drop)
        }
        match &self.of {
            Of::Nothing => all::<ByteArrayType>(&mut writer, &[], &self.levels),
            Of::Texts(values) => all::<ByteArrayType>(&mut writer, values, &self.levels),
            Of::Wholes(values) => all::<Int64Type>(&mut writer, values, &self.levels),
            Of::Numbers(values) => all::<DoubleType>(&mut writer, values, &self.levels),
            Of::Singles(values) => all::<FloatType>(&mut writer, values, &self.levels),
        }?;
        writer.close()
    }
}

fn push<T>(all: &mut Vec<T>, value: T) -> bool {
    all.push(value);
    true
}

#[cfg(test)]
mod tests {
    use parquet::data_type::Int32Type;
    use parquet::schema::parser::parse_message_type;

    use super::*;
    use crate::sets::formats::{ReadOptions, read};
    use crate::table::numbers::Decimal;

    fn write_amounts(path: &Path, amounts: [f64; 3]) {
        let schema = "message t { required binary who (UTF8); required int64 left; optional double amount; }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let file = std::fs::File::create(path).unwrap();
        let mut writer = SerializedFileWriter::new(file, schema, Arc::new(WriterProperties::default())).unwrap();
        let mut rows = writer.next_row_group().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        let names = ["a,b", "c", "a,b"].map(ByteArray::from);
        column.typed::<ByteArrayType>().write_batch(&names, None, None).unwrap();
        column.close().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&[1, 0, 1], None, None).unwrap();
        column.close().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        column.typed::<DoubleType>().write_batch(&amounts, Some(&[1, 1, 1]), None).unwrap();
        column.close().unwrap();
        rows.close().unwrap();
        writer.close().unwrap();
    }

    #[test]
    fn a_table_is_read_as_its_csv_would_be() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("visits.parquet");
        write_amounts(&path, [0.1, 2.0, -1e-7]);
        assert_eq!(as_csv(&path).unwrap(), "who,left,amount\n\"a,b\",1,0.1\nc,0,2\n\"a,b\",1,-0.0000001\n");
        let options =
            ReadOptions { group_by: Some("who".into()), target: Some("left".into()), ..ReadOptions::default() };
        let bags = read(&path, &options).unwrap();
        assert_eq!((bags.ids(), bags.bag(0)), (&["a,b".to_owned(), "c".to_owned()][..], &[0.1, -1e-7][..]));
        // The decimal mark of another table.
        write_amounts(&path, [0.125, 2.0, 1.5]);
        let bags = read(&path, &ReadOptions { decimal: Some(Decimal::Comma), ..options.clone() }).unwrap();
        assert_eq!((bags.bag(0), bags.decimal()), (&[0.125, 1.5][..], None));
        assert!(bags.notes()[0].contains("`--decimal comma` (`data.decimal`) is not used"), "{:?}", bags.notes());
        write_amounts(&path, [0.1, f64::NAN, 1.0]);
        let error = read(&path, &options).unwrap_err().to_string();
        assert!(error.contains("visits.parquet:3") && error.contains("amount"), "{error}");
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        write_amounts(&path, [1.0, 2.0, 3.0]);
        let whole = std::fs::read(&path).unwrap();
        assert!(matches!(as_csv(&folder.path().join("none.parquet")), Err(Error::Io { .. })));
        let mut damaged = whole.clone();
        damaged[6..40].fill(0xff);
        for bytes in [&b""[..], b"who,left\na,1\n", &whole[..whole.len() / 2], &damaged] {
            std::fs::write(&path, bytes).unwrap();
            let error = as_csv(&path).unwrap_err().to_string();
            assert!(error.contains("a.parquet"), "{error}");
        }
    }

    #[test]
    fn a_date_that_does_not_exist_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("days.parquet");
        let schema = Arc::new(parse_message_type("message t { required int32 day (DATE); }").unwrap());
        let file = std::fs::File::create(&path).unwrap();
        let mut writer = SerializedFileWriter::new(file, schema, Arc::new(WriterProperties::default())).unwrap();
        let mut rows = writer.next_row_group().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        column.typed::<Int32Type>().write_batch(&[0, i32::MAX], None, None).unwrap();
        column.close().unwrap();
        rows.close().unwrap();
        writer.close().unwrap();
        let error = as_csv(&path).unwrap_err().to_string();
        assert!(error.contains("days.parquet"), "{error}");
    }

    #[test]
    fn times_are_written_as_dates_and_read_as_series() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("load.parquet");
        let schema = "message t { required int64 ds (TIMESTAMP(MILLIS,false)); \
                      required int64 fine (TIMESTAMP(NANOS,false)); required int64 y; }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let mut writer = SerializedFileWriter::new(
            std::fs::File::create(&path).unwrap(),
            schema,
            Arc::new(WriterProperties::default()),
        )
        .unwrap();
        let mut rows = writer.next_row_group().unwrap();
        for column in [[0, 3_600_000, 7_200_000], [0, 250_000_000, 1], [5, 6, 7]] {
            let mut writer = rows.next_column().unwrap().unwrap();
            writer.typed::<Int64Type>().write_batch(&column, None, None).unwrap();
            writer.close().unwrap();
        }
        rows.close().unwrap();
        writer.close().unwrap();
        let text = as_csv(&path).unwrap();
        assert_eq!(text.lines().nth(2), Some("1970-01-01 01:00:00,1970-01-01 00:00:00.25,6"));
        let options = crate::series::formats::ReadOptions { columns: Some(vec!["y".into()]), ..Default::default() };
        let found = crate::series::formats::read(&path, &options).unwrap();
        assert_eq!(found.panel.series()[0].values(), [5.0, 6.0, 7.0]);
        assert_eq!((found.panel.stamp(0, 3).unwrap(), found.report.season), ("1970-01-01 03:00:00".into(), 24));
    }

    #[test]
    fn what_is_written_is_read_again() {
        struct Rows;
        impl TableSource for Rows {
            fn columns(&self) -> Vec<String> {
                ["id", "n", "p", "q", "none"].map(str::to_owned).to_vec()
            }

            fn each_row(&self, visit: &mut dyn FnMut(&[Cell<'_>]) -> io::Result<()>) -> io::Result<()> {
                visit(&[Cell::Text("a,b"), Cell::Missing, Cell::Number(0.1), Cell::Single(0.1), Cell::Missing])?;
                visit(&[Cell::Text("c"), Cell::Whole(3), Cell::Number(f64::NAN), Cell::Single(2.0), Cell::Missing])
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        crate::table::write::write(&path, &Rows).unwrap();
        assert_eq!(as_csv(&path).unwrap(), "id,n,p,q,none\n\"a,b\",,0.1,0.1,\nc,3,,2,\n");
    }

    #[test]
    fn a_missing_value_of_a_single_column_is_a_row() {
        struct Molecules;
        impl TableSource for Molecules {
            fn columns(&self) -> Vec<String> {
                vec!["smiles".into()]
            }

            fn each_row(&self, visit: &mut dyn FnMut(&[Cell<'_>]) -> io::Result<()>) -> io::Result<()> {
                ["C", "", "CC"].iter().try_for_each(|smiles| visit(&[Cell::Text(smiles)]))
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        crate::table::write::write(&path, &Molecules).unwrap();
        assert_eq!(as_csv(&path).unwrap(), "smiles\nC\n\"\"\nCC\n");
    }
}
