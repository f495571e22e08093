//! Molecules as graphs: SMILES read, hydrogens folded in, aromatic rings written with double bonds.
//!
//! Two rules say what atoms and bonds are called. [`Rule::Zinc`] is that of the benchmark ZINC-12k: the
//! type of an atom is its symbol, the hydrogens that stand in its brackets and its charge (`C`, `N H3 +`,
//! `O -`), a bond is single, double or triple after kekulisation. [`Rule::Described`] calls an atom by
//! its element and puts charge, hydrogens, degree, aromaticity, ring and chirality beside it as numbers;
//! bonds of aromatic rings are a type of their own.
//!
//! Aromatic rings may be written with small letters or with alternating double bonds. A molecule without small letters is
//! tested for aromaticity, as RDKit does it; in others the small letters say what is aromatic.
//!
//! ```
//! use regard_data::graphs::molecules::{Molecule, Rule};
//!
//! let molecule = Molecule::parse("C[NH+](C)Cc1ccc[nH]1")?;
//! let names: Vec<String> = (0..molecule.atoms().len()).map(|at| molecule.atom_type(at, Rule::Zinc)).collect();
//! assert_eq!(names, ["C", "N H1 +", "C", "C", "C", "C", "C", "C", "N"]);
//! assert_eq!(molecule.bonds().iter().filter(|bond| bond.order == 2).count(), 2);
//! assert_eq!(Molecule::parse("C1CC").unwrap_err().to_string(), "character 2: ring 1 is not closed");
//! # Ok::<(), regard_data::graphs::molecules::SmilesError>(())
//! ```

mod aromaticity;
mod bracket;
mod elements;
mod kekule;
mod matching;
mod rule;
mod smiles;
#[cfg(test)]
mod tests;

pub use self::rule::{Rule, ZINC_ATOMS, ZINC_BONDS};
use self::smiles::Written;

/// A molecule without its plain hydrogen atoms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Molecule {
    atoms: Vec<Atom>,
    bonds: Vec<Bond>,
}

/// An atom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Atom {
    /// Symbol of the element, `*` for any.
    pub symbol: &'static str,
    /// Written in small letters, or on an aromatic bond, written or found.
    pub aromatic: bool,
    /// Written in brackets, or aromatic with a hydrogen that needs them in small letters (`[nH]`).
    pub bracket: bool,
    /// Hydrogens at the atom, written or not.
    pub hydrogens: u8,
    /// Charge, in units of the electron's.
    pub charge: i8,
    /// Mass number; 0 where none is written.
    pub isotope: u32,
    /// Has a mark of chirality.
    pub chiral: bool,
    /// Lies on a ring.
    pub ring: bool,
    /// Where it begins in the text, in characters from 0.
    pub at: usize,
}

/// A bond.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bond {
    /// One of its atoms.
    pub a: u32,
    /// The other.
    pub b: u32,
    /// 1 single, 2 double, 3 triple, 4 quadruple; aromatic bonds are single or double.
    pub order: u8,
    /// Lies on an aromatic ring.
    pub aromatic: bool,
    /// Lies on a ring.
    pub ring: bool,
}

/// An error in a SMILES.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("character {}: {reason}", at + 1)]
pub struct SmilesError {
    /// Where, in characters from 0.
    pub at: usize,
    /// The finding and the expectation.
    pub reason: String,
}

impl SmilesError {
    fn new(at: usize, reason: impl Into<String>) -> Self {
        Self { at, reason: reason.into() }
    }
}

impl Atom {
    fn plain(symbol: &'static str, aromatic: bool, at: usize) -> Self {
        let (hydrogens, charge, isotope) = (0, 0, 0);
        Self { symbol, aromatic, bracket: false, hydrogens, charge, isotope, chiral: false, ring: false, at }
    }
}

impl Molecule {
    /// Reads a SMILES; what follows a space is a name and is left out.
    ///
    /// Hydrogens that are written as atoms, without charge or mass, join the atom they are bound to.
    /// Geometry at double bonds (`/`, `\`) is read and left out.
    ///
    /// # Errors
    /// The first thing that is wrong: a letter that means nothing, a ring or branch that is not closed,
    /// an aromatic ring that has no form with double bonds.
    pub fn parse(smiles: &str) -> Result<Self, SmilesError> {
        let smiles = smiles.split_whitespace().next().unwrap_or("");
        if smiles.is_empty() {
            return Err(SmilesError::new(0, "is empty, expected a molecule"));
        }
        let mut written = smiles::read(smiles)?;
        kekule::localise(&mut written)?;
        let mut molecule = without_hydrogens(written);
        molecule.fill_valences();
        Ok(molecule)
    }

    /// The atoms, in the order of the text.
    #[must_use]
    pub fn atoms(&self) -> &[Atom] {
        &self.atoms
    }

    /// The bonds, in the order of the text; a ring's last bond comes where the ring is closed.
    #[must_use]
    pub fn bonds(&self) -> &[Bond] {
        &self.bonds
    }

    /// Sum of the orders of each atom's bonds.
    fn orders(&self) -> Vec<u32> {
        orders(self.atoms.len(), &self.bonds)
    }

    /// Atoms without brackets have as many hydrogens as fill the lowest valence that their bonds fit.
    fn fill_valences(&mut self) {
        for (sum, atom) in self.orders().into_iter().zip(&mut self.atoms) {
            if !atom.bracket {
                atom.hydrogens = elements::implicit_hydrogens(atom.symbol, sum);
            }
        }
    }
}

/// Sum of the orders of each atom's bonds.
fn orders(atoms: usize, bonds: &[Bond]) -> Vec<u32> {
    let mut sums = vec![0; atoms];
    for bond in bonds {
        sums[bond.a as usize] += u32::from(bond.order);
        sums[bond.b as usize] += u32::from(bond.order);
    }
    sums
}

/// Folds plain hydrogen atoms into the atom they are bound to.
fn without_hydrogens(written: Written) -> Molecule {
    let Written { mut atoms, bonds } = written;
    let mut degrees = vec![0; atoms.len()];
    for bond in &bonds {
        degrees[bond.a as usize] += 1;
        degrees[bond.b as usize] += 1;
    }
    let plain = |atom: &Atom| atom.symbol == "H" && atom.isotope == 0 && atom.charge == 0 && atom.hydrogens == 0;
    let mut kept = vec![true; atoms.len()];
    for bond in bonds.iter().filter(|bond| bond.order == 1) {
        for (hydrogen, other) in [(bond.a as usize, bond.b as usize), (bond.b as usize, bond.a as usize)] {
            if plain(&atoms[hydrogen]) && degrees[hydrogen] == 1 && atoms[other].symbol != "H" {
                kept[hydrogen] = false;
                // Without brackets they are counted when valences are filled.
                let more = u8::from(atoms[other].bracket);
                atoms[other].hydrogens = atoms[other].hydrogens.saturating_add(more);
            }
        }
    }
    let mut places = vec![0; atoms.len()];
    let mut next = 0;
    for (place, kept) in places.iter_mut().zip(&kept) {
        *place = next;
        next += u32::from(*kept);
    }
    let both = |bond: &Bond| kept[bond.a as usize] && kept[bond.b as usize];
    let moved = |bond: Bond| Bond { a: places[bond.a as usize], b: places[bond.b as usize], ..bond };
    let bonds = bonds.into_iter().filter(both).map(moved).collect();
    let mut keep = kept.iter();
    atoms.retain(|_| *keep.next().unwrap_or(&true));
    Molecule { atoms, bonds }
}
