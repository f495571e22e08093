//! Reading the bytes of a pickle, checked against the end of the file.

use crate::error::Fault;

/// A position in a pickle.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Position of the next byte.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Bytes that are left.
    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(super) fn byte(&mut self) -> Result<u8, Fault> {
        self.take(1).map(|bytes| bytes[0])
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], Fault> {
        let rest = &self.bytes[self.at..];
        let Some(taken) = rest.get(..length) else {
            return Err(self.fault(format!("the file ends {} bytes too early", length - rest.len())));
        };
        self.at += length;
        Ok(taken)
    }

    /// Exactly `N` bytes.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
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
    pub(super) fn counted(&mut self, width: usize) -> Result<&'a [u8], Fault> {
        let length = self.unsigned(width)?;
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// Text up to the end of the line.
    pub(super) fn line(&mut self) -> Result<&'a str, Fault> {
        let rest = &self.bytes[self.at..];
        let Some(end) = rest.iter().position(|&byte| byte == b'\n') else {
            return Err(self.fault("the file ends within a line"));
        };
        let text = std::str::from_utf8(&rest[..end]).map_err(|_| self.fault("a line is not UTF-8"))?;
        self.at += end + 1;
        Ok(text)
    }

    /// A fault at the next byte.
    pub(super) fn fault(&self, reason: impl Into<String>) -> Fault {
        Fault::at_byte(self.at, reason)
    }
}
