//! Aromaticity of molecules that are written with alternating double bonds.
//!
//! The model is RDKit's default one (The RDKit Book, section "Aromaticity"; `Aromaticity.cpp`). A ring of atoms that each
//! have a p orbital is aromatic if it has 4n+2 electrons in them. Single rings are tested first, then the outlines of up
//! to six fused rings, until all bonds are aromatic. Only the outline becomes aromatic: the bond that the two rings of
//! azulene share does not.

mod rings;

use std::collections::{BTreeMap, BTreeSet};

use self::rings::{Ring, System, ring_systems};
use super::elements::{self, valences};
use super::smiles::Written;

/// Largest number of fused rings that are tested together.
const MOST_FUSED: usize = 6;
/// Largest size of a ring that is tested together with others.
const LARGEST_FUSED: usize = 24;
/// Smallest size of a ring in which ethers and thioethers are not aromatic.
const MACROCYCLE: usize = 9;
/// Largest number of combinations of equally many rings in a fused system. Planar systems of 60 rings have fewer, even of
/// six rings. The number grows fast in cages, where larger combinations are then left out.
const MOST_COMBINATIONS: usize = 50_000;

/// The other atom and the bond, of each bond of each atom.
type Neighbours = Vec<Vec<(usize, usize)>>;

/// Marks aromatic atoms and bonds and makes these bonds single. Rings must be marked. `short` are the atoms that need a
/// double bond along an aromatic bond; atoms that lose a double bond here are added.
///
/// A molecule with an aromatic atom or bond in the text is not changed, because the text says what is aromatic in it.
pub(super) fn perceive(written: &mut Written, short: &mut [bool]) {
    let mut neighbours = vec![Vec::new(); written.atoms.len()];
    for (at, bond) in written.bonds.iter().enumerate() {
        neighbours[bond.a as usize].push((bond.b as usize, at));
        neighbours[bond.b as usize].push((bond.a as usize, at));
    }
    let hydrogens = hydrogens(written);
    let donors = donors(written, &neighbours, &hydrogens);
    if donors.iter().all(Option::is_none) {
        return;
    }
    let mut aromatic = BTreeSet::new();
    for system in ring_systems(written, &neighbours) {
        if system.atoms.iter().any(|&atom| donors[atom].is_some()) {
            aromatic.extend(aromatic_bonds(&system, &donors));
        }
    }
    for (_, bond) in written.bonds.iter_mut().enumerate().filter(|(at, _)| aromatic.contains(at)) {
        // The triple bond of benzyne stays one.
        if bond.order > 2 {
            continue;
        }
        for atom in [bond.a as usize, bond.b as usize] {
            written.atoms[atom].aromatic = true;
            short[atom] |= bond.order == 2;
        }
        (bond.aromatic, bond.order) = (true, 1);
    }
    for (at, atom) in written.atoms.iter_mut().enumerate() {
        // As in `[nH]`: without brackets, an aromatic atom has only hydrogens that follow from its double bond.
        if donors[at].is_some() && atom.aromatic && !atom.bracket && !short[at] && hydrogens[at] > 0 {
            (atom.bracket, atom.hydrogens) = (true, hydrogens[at]);
        }
    }
}

/// Hydrogens of each atom, without those that are atoms of their own.
fn hydrogens(written: &Written) -> Vec<u8> {
    let hydrogens = |(atom, orders): (&super::Atom, u32)| match atom.bracket {
        true => atom.hydrogens,
        false => elements::implicit_hydrogens(atom.symbol, orders),
    };
    written.atoms.iter().zip(super::orders(written.atoms.len(), &written.bonds)).map(hydrogens).collect()
}

/// An atom that may be aromatic.
#[derive(Debug, Clone, Copy)]
struct Donor {
    /// Electrons in its p orbital.
    electrons: usize,
    /// If true, it is an ether or thioether.
    ether: bool,
}

/// The atoms that may be aromatic.
fn donors(written: &Written, neighbours: &Neighbours, hydrogens: &[u8]) -> Vec<Option<Donor>> {
    let given = described(written, neighbours);
    let orders = super::orders(written.atoms.len(), &written.bonds);
    let of_atom = |at: usize| {
        let around = Surroundings {
            written,
            neighbours: &neighbours[at],
            at,
            hydrogens: i32::from(hydrogens[at]),
            orders: orders[at] as i32,
        };
        (written.atoms[at].ring && !given[at]).then(|| around.donor()).flatten()
    };
    let mut donors: Vec<Option<Donor>> = (0..written.atoms.len()).map(of_atom).collect();
    // An atom with fewer than two such neighbours is in no ring of them.
    let count = |donors: &[Option<Donor>], at: usize| {
        neighbours[at].iter().filter(|&&(other, bond)| written.bonds[bond].ring && donors[other].is_some()).count()
    };
    let mut waiting: Vec<usize> = (0..donors.len()).collect();
    while let Some(at) = waiting.pop() {
        if donors[at].is_some() && count(&donors, at) < 2 {
            donors[at] = None;
            waiting.extend(neighbours[at].iter().map(|&(other, _)| other));
        }
    }
    donors
}

/// If true, an atom of the molecule is written as aromatic; for each atom.
fn described(written: &Written, neighbours: &Neighbours) -> Vec<bool> {
    let mut given = vec![false; written.atoms.len()];
    let mut waiting: Vec<usize> = (0..given.len()).filter(|&at| written.atoms[at].aromatic).collect();
    while let Some(at) = waiting.pop() {
        if !std::mem::replace(&mut given[at], true) {
            waiting.extend(neighbours[at].iter().map(|&(other, _)| other));
        }
    }
    given
}

/// An atom with its bonds.
struct Surroundings<'w> {
    written: &'w Written,
    neighbours: &'w [(usize, usize)],
    at: usize,
    hydrogens: i32,
    /// Sum of the orders of its bonds.
    orders: i32,
}

impl Surroundings<'_> {
    /// The electrons of the atom, `None` if it cannot be aromatic.
    fn donor(&self) -> Option<Donor> {
        let atom = &self.written.atoms[self.at];
        let outer = matches!(atom.symbol, "B" | "C" | "N" | "O" | "Si" | "P" | "S" | "Se" | "Te")
            .then(|| elements::outer_electrons(atom.symbol))??;
        let oxide = self.oxide();
        let (charge, orders) = match oxide {
            Some(_) => (1, self.orders - 1),
            None => (i32::from(atom.charge), self.orders),
        };
        let bonds = self.neighbours.len() as i32;
        let (degree, valence) = (bonds + self.hydrogens, orders + self.hydrogens);
        let highest = i32::from(*valences(atom.symbol, charge as i8).first()?);
        let multiple = |(_, bond): &&(usize, usize)| self.written.bonds[*bond].order > 1 && oxide != Some(*bond);
        let radicals = if atom.bracket { radicals(outer, valence, charge) } else { 0 };
        if degree > 3
            || valence > highest
            || self.neighbours.iter().filter(multiple).count() > 1
            || radicals > 0 && (atom.symbol != "C" || charge != 0)
        {
            return None;
        }
        let usual = i32::from(*valences(atom.symbol, 0).first()?);
        let mut free = usual - degree + (outer - usual - charge).max(0) - radicals;
        if free > 1 && orders - bonds > 1 {
            // A triple bond has one of its electrons outside of the ring.
            free = 1;
        }
        let outside = self.neighbours.iter().filter(multiple).find(|(_, bond)| !self.written.bonds[*bond].ring);
        let loses = outside.is_some_and(|(other, _)| {
            elements::is_more_electronegative(self.written.atoms[*other].symbol, atom.symbol)
        });
        let unsaturated = orders > bonds;
        let electrons = match free {
            0 if outside.is_some() => 0,
            0 if unsaturated => 1,
            1 if outside.is_some() => usize::from(!loses),
            1 if unsaturated => 1,
            // The carbon of the cations of tropylium and cyclopropenyl.
            1 if charge == 1 => 0,
            2.. => 2 - (free - i32::from(loses)) as usize % 2,
            _ => return None,
        };
        let ether = matches!(atom.symbol, "O" | "S") && charge == 0 && bonds == 2 && !unsaturated;
        Some(Donor { electrons, ether })
    }

    /// The double bond to oxygen outside of rings of a nitrogen with five bonds, which is written for `[N+][O-]`.
    fn oxide(&self) -> Option<usize> {
        let atom = &self.written.atoms[self.at];
        let oxygen = |(other, bond): &&(usize, usize)| {
            let (other, bond) = (&self.written.atoms[*other], &self.written.bonds[*bond]);
            bond.order == 2 && !bond.ring && other.symbol == "O" && other.charge == 0
        };
        (atom.symbol == "N" && atom.charge == 0 && self.orders + self.hydrogens == 5)
            .then(|| self.neighbours.iter().find(oxygen).map(|(_, bond)| *bond))
            .flatten()
    }
}

/// Unpaired electrons of an atom in brackets.
fn radicals(outer: i32, valence: i32, charge: i32) -> i32 {
    let missing = (8 - outer - valence + charge).max(0);
    let left = outer - valence - charge;
    if left >= 0 { missing.min(left) } else { missing }
}

/// The aromatic bonds of a system of rings.
fn aromatic_bonds(system: &System, donors: &[Option<Donor>]) -> BTreeSet<usize> {
    let may_be = |ring: &Ring| {
        let ring_size = ring.atoms.len();
        ring.atoms.iter().all(|&atom| donors[atom].is_some_and(|donor| ring_size < MACROCYCLE || !donor.ether))
    };
    let rings: Vec<Ring> = system.rings().into_iter().filter(may_be).collect();
    let fused = fused(&rings);
    let mut aromatic = BTreeSet::new();
    let mut seen = vec![false; rings.len()];
    for first in 0..rings.len() {
        let mut together = Vec::new();
        let mut waiting = vec![first];
        while let Some(ring) = waiting.pop() {
            if !std::mem::replace(&mut seen[ring], true) {
                together.push(ring);
                waiting.extend(&fused[ring]);
            }
        }
        aromatic.extend(outlines(&rings, &fused, &together, donors));
    }
    aromatic
}

/// The rings that share exactly one bond with each ring.
fn fused(rings: &[Ring]) -> Vec<Vec<usize>> {
    let mut of_bond: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, ring) in rings.iter().enumerate().filter(|(_, ring)| ring.atoms.len() <= LARGEST_FUSED) {
        ring.bonds.iter().for_each(|&bond| of_bond.entry(bond).or_default().push(at));
    }
    let mut shared: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for rings in of_bond.values() {
        for (at, &one) in rings.iter().enumerate() {
            rings[at + 1..].iter().for_each(|&other| *shared.entry((one, other)).or_default() += 1);
        }
    }
    let mut fused = vec![Vec::new(); rings.len()];
    for ((one, other), _) in shared.into_iter().filter(|(_, bonds)| *bonds == 1) {
        fused[one].push(other);
        fused[other].push(one);
    }
    fused
}

/// The bonds of the outlines with 4n+2 electrons, of the rings `together`, which are fused.
fn outlines(rings: &[Ring], fused: &[Vec<usize>], together: &[usize], donors: &[Option<Donor>]) -> BTreeSet<usize> {
    let bonds: BTreeSet<usize> = together.iter().flat_map(|&ring| &rings[ring].bonds).copied().collect();
    let mut aromatic = BTreeSet::new();
    let mut combinations: BTreeSet<Vec<usize>> = together.iter().map(|&ring| vec![ring]).collect();
    for _ in 0..MOST_FUSED {
        for combination in &combinations {
            let atoms = times(combination.iter().flat_map(|&ring| &rings[ring].atoms));
            // As in RDKit, an atom in which three of the rings meet gives no electrons.
            let outline = atoms.iter().filter(|(_, times)| *times <= 2);
            let electrons: usize = outline.filter_map(|&(atom, _)| donors[atom]).map(|donor| donor.electrons).sum();
            if electrons % 4 == 2 {
                let bonds = times(combination.iter().flat_map(|&ring| &rings[ring].bonds));
                aromatic.extend(bonds.into_iter().filter(|(_, times)| *times == 1).map(|(bond, _)| bond));
            }
        }
        if aromatic.len() == bonds.len() {
            break;
        }
        let mut larger = BTreeSet::new();
        for combination in &combinations {
            for &next in combination.iter().flat_map(|&ring| &fused[ring]) {
                if let Err(place) = combination.binary_search(&next) {
                    let mut with = combination.clone();
                    with.insert(place, next);
                    larger.insert(with);
                }
            }
            if larger.len() > MOST_COMBINATIONS {
                return aromatic;
            }
        }
        combinations = larger;
    }
    aromatic
}

/// Each value and the times that it is there.
fn times<'v>(values: impl Iterator<Item = &'v usize>) -> Vec<(usize, usize)> {
    let mut values: Vec<usize> = values.copied().collect();
    values.sort_unstable();
    values.chunk_by(|a, b| a == b).map(|equal| (equal[0], equal.len())).collect()
}
