//! Scalars for TensorBoard: an event file is a sequence of framed protobuf messages.
//!
//! The encoding and the checksum are prost's and crc32c's; here are the three messages of
//! TensorFlow's `event.proto` and `summary.proto` that a scalar needs, and the frame of
//! `record_writer.h`.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use prost::Message;

/// The version that readers expect in the first record.
const VERSION: &str = "brain.Event:2";

/// A file of scalars over steps.
pub(crate) struct EventFile {
    out: BufWriter<File>,
    record: Vec<u8>,
}

impl EventFile {
    /// Begins a file in a folder, which is made where it is missing. TensorBoard reads the files of
    /// a folder as one run, in the order of their names.
    pub(crate) fn create(dir: &Path) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        let time = since_epoch();
        let process = std::process::id();
        let name = format!("events.out.tfevents.{:010}.{:09}.regard.{process}", time.as_secs(), time.subsec_nanos());
        let mut file = Self { out: BufWriter::new(File::create_new(dir.join(name))?), record: Vec::new() };
        file.write(0, What::FileVersion(VERSION.to_owned()))?;
        file.flush()?;
        Ok(file)
    }

    /// Adds a value of the curve called `name`; slashes in the name make groups.
    pub(crate) fn scalar(&mut self, name: &str, step: u64, value: f32) -> io::Result<()> {
        let scalar = Scalar { tag: name.to_owned(), simple_value: Some(value) };
        self.write(step, What::Summary(Summary { value: vec![scalar] }))
    }

    /// Hands over to the operating system what is still in memory.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn write(&mut self, step: u64, what: What) -> io::Result<()> {
        let step = i64::try_from(step).map_err(io::Error::other)?;
        let event = Event { wall_time: since_epoch().as_secs_f64(), step, what: Some(what) };
        self.record.clear();
        event.encode(&mut self.record).map_err(io::Error::other)?;
        let length = (self.record.len() as u64).to_le_bytes();
        self.out.write_all(&length)?;
        self.out.write_all(&masked(crc32c::crc32c(&length)))?;
        self.out.write_all(&self.record)?;
        self.out.write_all(&masked(crc32c::crc32c(&self.record)))
    }
}

/// A checksum is stored turned and shifted, so that one over data with checksums stays useful.
fn masked(checksum: u32) -> [u8; 4] {
    checksum.rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

fn since_epoch() -> std::time::Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[derive(Clone, PartialEq, Message)]
struct Event {
    /// Seconds since 1970.
    #[prost(double, tag = "1")]
    wall_time: f64,
    #[prost(int64, tag = "2")]
    step: i64,
    #[prost(oneof = "What", tags = "3, 5")]
    what: Option<What>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum What {
    #[prost(string, tag = "3")]
    FileVersion(String),
    #[prost(message, tag = "5")]
    Summary(Summary),
}

#[derive(Clone, PartialEq, Message)]
struct Summary {
    #[prost(message, repeated, tag = "1")]
    value: Vec<Scalar>,
}

/// `Summary.Value`; its value is one of several kinds, of which a scalar is one and may be 0.
#[derive(Clone, PartialEq, Message)]
struct Scalar {
    #[prost(string, tag = "1")]
    tag: String,
    #[prost(float, optional, tag = "2")]
    simple_value: Option<f32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_framed_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = EventFile::create(&folder.path().join("new")).unwrap();
        file.scalar("valid/cost", 1562, 3.91).unwrap();
        file.scalar("learning_rate", 1563, 0.0).unwrap();
        file.flush().unwrap();
        let path = fs::read_dir(folder.path().join("new")).unwrap().next().unwrap().unwrap().path();
        let bytes = fs::read(path).unwrap();
        let (mut rest, mut events) = (&bytes[..], Vec::new());
        while !rest.is_empty() {
            let length = u64::from_le_bytes(rest[..8].try_into().unwrap()) as usize;
            let record = &rest[12..12 + length];
            assert_eq!(rest[12 + length..16 + length], masked(crc32c::crc32c(record)));
            events.push(Event::decode(record).unwrap());
            rest = &rest[16 + length..];
        }
        // The first frame is the same in every event file: 24 bytes long.
        assert_eq!(bytes[..12], [24, 0, 0, 0, 0, 0, 0, 0, 163, 127, 75, 34]);
        assert_eq!(events[0].what, Some(What::FileVersion(VERSION.to_owned())));
        let value = |tag: &str, value| Scalar { tag: tag.to_owned(), simple_value: Some(value) };
        assert_eq!(
            (events[1].step, &events[1].what),
            (1562, &Some(What::Summary(Summary { value: vec![value("valid/cost", 3.91)] })))
        );
        assert_eq!(events[2].what, Some(What::Summary(Summary { value: vec![value("learning_rate", 0.0)] })));
        assert!(events[1].wall_time > 1.7e9);
    }
}
