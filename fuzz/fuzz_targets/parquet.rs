//! A Parquet file whose bytes were changed is read as a table of sets or refused.
#![no_main]

use std::io;
use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use regard_data::sets::formats::{ReadOptions, read};
use regard_data::table::write::{Cell, TableSource, write};
use tempfile::TempDir;

struct Table;

impl TableSource for Table {
    fn columns(&self) -> Vec<String> {
        ["bag", "a", "b", "colour", "label"].map(str::to_owned).to_vec()
    }

    fn each_row(&self, visit: &mut dyn FnMut(&[Cell<'_>]) -> io::Result<()>) -> io::Result<()> {
        for row in 0..9_usize {
            let colour = ["red", "green", "blue"][row % 3];
            let b = if row == 4 { Cell::Missing } else { Cell::Single(row as f32) };
            visit(&[
                Cell::Text(["x", "y", "z"][row / 3]),
                Cell::Number(row as f64 / 7.0),
                b,
                Cell::Text(colour),
                Cell::Whole(row / 3 % 2),
            ])?;
        }
        Ok(())
    }
}

static FILE: LazyLock<(TempDir, PathBuf, Vec<u8>)> = LazyLock::new(|| {
    // A panic that the reader catches is not a finding; one that it does not catch still ends the process.
    std::panic::set_hook(Box::new(|_| {}));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("table.parquet");
    write(&path, &Table).expect("is written");
    let bytes = std::fs::read(&path).expect("is read");
    (folder, path, bytes)
});

fuzz_target!(|input: (Vec<(u16, u8)>, Option<u16>)| {
    let (changes, length) = input;
    let (_, path, bytes) = &*FILE;
    let mut bytes = bytes.clone();
    for (at, byte) in changes {
        let at = usize::from(at) % bytes.len();
        bytes[at] = byte;
    }
    if let Some(length) = length {
        bytes.truncate(usize::from(length));
    }
    std::fs::write(path, &bytes).expect("is written");
    let options =
        ReadOptions { group_by: Some("bag".to_owned()), target: Some("label".to_owned()), ..Default::default() };
    let _ = read(path, &options);
});
