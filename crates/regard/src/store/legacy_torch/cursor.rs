//! Reading the bytes of a pickle, checked against the end of the file.

use super::fault::Fault;

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

    /// A little-endian number of at most 8 bytes.
    pub(super) fn unsigned(&mut self, width: usize) -> Result<u64, Fault> {
        let digits = self.take(width)?;
        Ok(digits.iter().rev().fold(0, |number, &digit| (number << 8) | u64::from(digit)))
    }

    /// A number of bytes that follow.
    pub(super) fn length(&mut self, width: usize) -> Result<usize, Fault> {
        let length = self.unsigned(width)?;
        usize::try_from(length).map_err(|_| self.fault(format!("a length of {length} bytes")))
    }

    /// Text with its length in front.
    pub(super) fn text(&mut self, width: usize) -> Result<&'a str, Fault> {
        let length = self.length(width)?;
        let bytes = self.take(length)?;
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

    /// A fault at the next byte.
    pub(super) fn fault(&self, reason: impl Into<String>) -> Fault {
        Fault::new(self.at, reason)
    }

    fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }
}
