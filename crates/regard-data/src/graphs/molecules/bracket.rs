//! Atoms in brackets: `[13C@@H2+2:7]`.

use super::elements;
use super::{Atom, SmilesError};

/// Largest charge and number of hydrogens that can be meant.
const MOST: u32 = 15;

/// The atom that begins at `[`, and where it ends.
pub(super) fn read(text: &[u8], start: usize) -> Result<(Atom, usize), SmilesError> {
    let length = text[start..].iter().position(|byte| *byte == b']');
    let Some(length) = length else {
        return Err(SmilesError::new(start, "`[` is not closed"));
    };
    let mut inside = Inside { text: &text[..start + length], at: start + 1 };
    let isotope = inside.number();
    let (symbol, aromatic) = inside.symbol()?;
    let chiral = inside.chirality();
    let hydrogens = match inside.take(b'H') {
        true => inside.number().unwrap_or(1),
        false => 0,
    };
    let charge = inside.charge();
    if inside.take(b':') && inside.number().is_none() {
        return Err(SmilesError::new(inside.at, "`:` is not followed by a number"));
    }
    if inside.at < inside.text.len() {
        let found = char::from(inside.text[inside.at]);
        return Err(SmilesError::new(
            inside.at,
            format!("found `{found}` in brackets, where nothing more is expected"),
        ));
    }
    if hydrogens > MOST || charge.unsigned_abs() > MOST {
        return Err(SmilesError::new(start, format!("more than {MOST} hydrogens or charges")));
    }
    let atom = Atom {
        symbol,
        aromatic,
        bracket: true,
        hydrogens: hydrogens as u8,
        charge: charge as i8,
        isotope: isotope.unwrap_or(0),
        chiral,
        ring: false,
        at: start,
    };
    Ok((atom, start + length + 1))
}

/// The parts of an atom in brackets.
struct Inside<'t> {
    text: &'t [u8],
    at: usize,
}

impl Inside<'_> {
    fn take(&mut self, wanted: u8) -> bool {
        let found = self.text.get(self.at) == Some(&wanted);
        self.at += usize::from(found);
        found
    }

    /// Digits, if there are any; more than fit are cut to the largest number.
    fn number(&mut self) -> Option<u32> {
        let start = self.at;
        let mut number: u32 = 0;
        while let Some(digit) = self.text.get(self.at).filter(|byte| byte.is_ascii_digit()) {
            number = number.saturating_mul(10).saturating_add(u32::from(digit - b'0'));
            self.at += 1;
        }
        (self.at > start).then_some(number)
    }

    fn symbol(&mut self) -> Result<(&'static str, bool), SmilesError> {
        for length in [2, 1] {
            let Some(text) = self.text.get(self.at..self.at + length).and_then(|t| std::str::from_utf8(t).ok()) else {
                continue;
            };
            let found = elements::symbol(text).map(|symbol| (symbol, false));
            if let Some(found) = found.or_else(|| elements::aromatic(text).map(|symbol| (symbol, true))) {
                self.at += length;
                return Ok(found);
            }
        }
        let rest = String::from_utf8_lossy(&self.text[self.at..]);
        Err(SmilesError::new(
            self.at,
            format!("found `{}`, expected the symbol of an element", crate::error::shown(&rest)),
        ))
    }

    /// `@`, `@@`, or a class such as `@TH1`.
    fn chirality(&mut self) -> bool {
        if !self.take(b'@') {
            return false;
        }
        if self.take(b'@') {
            return true;
        }
        let class = self.text.get(self.at..self.at + 2);
        if class.is_some_and(|class| matches!(class, b"TH" | b"AL" | b"SP" | b"TB" | b"OH")) {
            self.at += 2;
            let _ = self.number();
        }
        true
    }

    /// `+`, `--`, `+2`; 0 where there is none.
    fn charge(&mut self) -> i32 {
        for (sign, one) in [(b'+', 1), (b'-', -1)] {
            if !self.take(sign) {
                continue;
            }
            if let Some(number) = self.number() {
                return one * number.min(1000) as i32;
            }
            let mut charge = one;
            while self.take(sign) {
                charge = (charge + one).clamp(-1000, 1000);
            }
            return charge;
        }
        0
    }
}
