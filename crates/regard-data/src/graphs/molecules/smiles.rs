//! SMILES as text: atoms, bonds, branches and rings (the OpenSMILES specification, version 1.0).

use std::collections::BTreeMap;

use super::bracket;
use super::elements;
use super::{Atom, Bond, SmilesError};

/// Atoms that one SMILES may have.
const MOST_ATOMS: usize = 100_000;

/// Atoms and bonds as they are written, aromatic bonds without an order.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) atoms: Vec<Atom>,
    pub(super) bonds: Vec<Bond>,
}

/// A bond as it is written between two atoms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Link {
    order: u8,
    aromatic: bool,
}

/// A ring that waits for its other end.
struct Open {
    atom: usize,
    link: Option<Link>,
    at: usize,
}

/// The state of a reader in the middle of a file.
struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    written: Written,
    /// The atom that the next one is joined with.
    last: Option<usize>,
    /// The bond symbol in front of the next atom, and its place.
    link: Option<(Link, usize)>,
    branches: Vec<(usize, usize)>,
    rings: BTreeMap<u16, Open>,
}

pub(super) fn read(smiles: &str) -> Result<Written, SmilesError> {
    if let Some(at) = smiles.bytes().position(|byte| !byte.is_ascii()) {
        return Err(SmilesError::new(at, "is not a SMILES symbol"));
    }
    let mut reader = Reader {
        text: smiles.as_bytes(),
        at: 0,
        written: Written::default(),
        last: None,
        link: None,
        branches: Vec::new(),
        rings: BTreeMap::new(),
    };
    while reader.at < reader.text.len() {
        reader.step()?;
    }
    reader.finish()
}

impl Reader<'_> {
    fn step(&mut self) -> Result<(), SmilesError> {
        let at = self.at;
        match self.text[at] {
            b'(' => self.open_branch(),
            b')' => self.close_branch(),
            b'.' => {
                self.no_link("`.`")?;
                if self.last.take().is_none() {
                    return Err(SmilesError::new(at, "`.` follows no atom"));
                }
                self.at += 1;
                Ok(())
            }
            b'0'..=b'9' | b'%' => self.ring(),
            b'-' | b'=' | b'#' | b'$' | b':' | b'/' | b'\\' => self.bond(),
            b'[' => {
                let (atom, end) = bracket::read(self.text, at)?;
                self.at = end;
                self.atom(atom)
            }
            _ => {
                let (atom, end) = organic(self.text, at)?;
                self.at = end;
                self.atom(atom)
            }
        }
    }

    fn open_branch(&mut self) -> Result<(), SmilesError> {
        self.no_link("`(`")?;
        let Some(last) = self.last else {
            return Err(SmilesError::new(self.at, "a branch follows no atom"));
        };
        self.branches.push((last, self.at));
        self.at += 1;
        if self.text.get(self.at) == Some(&b')') {
            return Err(SmilesError::new(self.at, "the branch is empty"));
        }
        Ok(())
    }

    fn close_branch(&mut self) -> Result<(), SmilesError> {
        self.no_link("`)`")?;
        let Some((last, _)) = self.branches.pop() else {
            return Err(SmilesError::new(self.at, "`)` closes no branch"));
        };
        self.last = Some(last);
        self.at += 1;
        Ok(())
    }

    fn bond(&mut self) -> Result<(), SmilesError> {
        self.no_link("a second bond")?;
        if self.last.is_none() {
            return Err(SmilesError::new(self.at, "a bond follows no atom"));
        }
        let (order, aromatic) = match self.text[self.at] {
            b'=' => (2, false),
            b'#' => (3, false),
            b'$' => (4, false),
            b':' => (1, true),
            _ => (1, false),
        };
        self.link = Some((Link { order, aromatic }, self.at));
        self.at += 1;
        Ok(())
    }

    /// A bond symbol must be followed by an atom or the number of a ring.
    fn no_link(&self, before: &str) -> Result<(), SmilesError> {
        match self.link {
            Some((_, at)) => Err(SmilesError::new(at, format!("a bond stands before {before}, expected an atom"))),
            None => Ok(()),
        }
    }

    fn atom(&mut self, atom: Atom) -> Result<(), SmilesError> {
        if self.written.atoms.len() == MOST_ATOMS {
            return Err(SmilesError::new(atom.at, format!("is the atom {}, expected no more", MOST_ATOMS + 1)));
        }
        self.written.atoms.push(atom);
        let new = self.written.atoms.len() - 1;
        let link = self.link.take().map(|(link, _)| link);
        if let Some(last) = self.last {
            self.join(last, new, link);
        }
        self.last = Some(new);
        Ok(())
    }

    fn join(&mut self, a: usize, b: usize, link: Option<Link>) {
        let atoms = &self.written.atoms;
        let link = link.unwrap_or(Link { order: 1, aromatic: atoms[a].aromatic && atoms[b].aromatic });
        self.written.bonds.push(Bond {
            a: a as u32,
            b: b as u32,
            order: link.order,
            aromatic: link.aromatic,
            ring: false,
        });
    }

    fn ring(&mut self) -> Result<(), SmilesError> {
        let at = self.at;
        let number = self.ring_number()?;
        let Some(atom) = self.last else {
            return Err(SmilesError::new(at, "the number of a ring follows no atom"));
        };
        let link = self.link.take().map(|(link, _)| link);
        let Some(open) = self.rings.remove(&number) else {
            self.rings.insert(number, Open { atom, link, at });
            return Ok(());
        };
        let link = match (open.link, link) {
            (Some(first), Some(second)) if first != second => {
                return Err(SmilesError::new(
                    at,
                    format!("ring {number} is closed by another bond than it was opened"),
                ));
            }
            (first, second) => first.or(second),
        };
        let same = |bond: &Bond| {
            [bond.a as usize, bond.b as usize] == [open.atom, atom]
                || [bond.b as usize, bond.a as usize] == [open.atom, atom]
        };
        if open.atom == atom || self.written.bonds.iter().rev().any(same) {
            return Err(SmilesError::new(at, format!("ring {number} joins atoms that are the same or joined already")));
        }
        self.join(open.atom, atom, link);
        Ok(())
    }

    fn ring_number(&mut self) -> Result<u16, SmilesError> {
        let at = self.at;
        let rest = &self.text[at..];
        let digit = |at: usize| rest.get(at).filter(|byte| byte.is_ascii_digit()).map(|byte| u16::from(byte - b'0'));
        if let Some(number) = digit(0) {
            self.at += 1;
            return Ok(number);
        }
        if let (Some(tens), Some(ones)) = (digit(1), digit(2)) {
            self.at += 3;
            return Ok(10 * tens + ones);
        }
        Err(SmilesError::new(at, "`%` is not followed by two digits"))
    }

    fn finish(self) -> Result<Written, SmilesError> {
        self.no_link("the end")?;
        if let Some((_, at)) = self.branches.last() {
            return Err(SmilesError::new(*at, "the branch is not closed"));
        }
        if let Some((number, open)) = self.rings.iter().next() {
            return Err(SmilesError::new(open.at, format!("ring {number} is not closed")));
        }
        if self.last.is_none() {
            return Err(SmilesError::new(self.text.len(), "ends without an atom"));
        }
        Ok(self.written)
    }
}

/// An atom without brackets, and where it ends.
fn organic(text: &[u8], at: usize) -> Result<(Atom, usize), SmilesError> {
    let two = text.get(at..at + 2).and_then(|two| std::str::from_utf8(two).ok());
    if let Some(two) = two.filter(|two| matches!(*two, "Cl" | "Br")) {
        return Ok((Atom::plain(if two == "Cl" { "Cl" } else { "Br" }, false, at), at + 2));
    }
    let one = std::str::from_utf8(&text[at..=at]).unwrap_or("");
    if one == "*" {
        return Ok((Atom::plain("*", false, at), at + 1));
    }
    if let Some(symbol) = elements::symbol(one).filter(|symbol| elements::is_organic(symbol)) {
        return Ok((Atom::plain(symbol, false, at), at + 1));
    }
    if let Some(symbol) = elements::aromatic(one) {
        return Ok((Atom::plain(symbol, true, at), at + 1));
    }
    let reason = match elements::symbol(one) {
        Some(_) => format!("`{one}` needs brackets, `[{one}]`"),
        None => format!("found `{}`, expected an atom, a bond, a branch or a ring", crate::error::shown(one)),
    };
    Err(SmilesError::new(at, reason))
}
