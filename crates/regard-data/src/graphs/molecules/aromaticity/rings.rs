//! The rings of a molecule that are not made of smaller rings.

use std::collections::{BTreeSet, VecDeque};

use super::Neighbours;
use crate::graphs::molecules::smiles::Written;

/// Largest product of the numbers of atoms and bonds of a system that is searched for rings. The time of a search grows
/// with this product, and no ring is found in larger systems.
const LARGEST_SYSTEM: usize = 4_000_000;
/// Largest number of independent rings of a system that is searched for rings.
const MOST_RINGS: usize = 1_000;
const NONE: usize = usize::MAX;

/// A ring.
#[derive(Debug)]
pub(super) struct Ring {
    pub(super) atoms: Vec<usize>,
    /// In rising order.
    pub(super) bonds: Vec<usize>,
}

/// Rings that hang together by atoms.
#[derive(Debug)]
pub(super) struct System {
    pub(super) atoms: Vec<usize>,
    /// The ring bonds between them, with the places of their ends in `atoms`.
    bonds: Vec<(usize, usize, usize)>,
}

/// The systems of rings of all molecules.
pub(super) fn ring_systems(written: &Written, neighbours: &Neighbours) -> Vec<System> {
    let mut places = vec![NONE; written.atoms.len()];
    let mut systems = Vec::new();
    for root in (0..places.len()).filter(|&at| written.atoms[at].ring) {
        if places[root] != NONE {
            continue;
        }
        let mut system = System { atoms: vec![root], bonds: Vec::new() };
        places[root] = 0;
        let mut next = 0;
        while let Some(&atom) = system.atoms.get(next) {
            for &(other, bond) in neighbours[atom].iter().filter(|(_, bond)| written.bonds[*bond].ring) {
                if places[other] == NONE {
                    places[other] = system.atoms.len();
                    system.atoms.push(other);
                }
                if atom < other {
                    system.bonds.push((bond, next, places[other]));
                }
            }
            next += 1;
        }
        systems.push(system);
    }
    systems
}

/// The shortest paths from an atom to the others.
struct Paths {
    lengths: Vec<usize>,
    /// The atom before, and the bond to it, by places in the system.
    before: Vec<(usize, usize)>,
    /// The first atom behind the root.
    first: Vec<usize>,
}

impl System {
    /// The rings that are no sums of shorter rings: those of every smallest set of smallest rings, as RDKit's symmetrised
    /// set has them (P. Vismara, "Union of all the minimum cycle bases of a graph", 1997). They are searched among rings of
    /// a bond and shortest paths from an atom to its ends (J. D. Horton, "A polynomial-time algorithm to find the shortest
    /// cycle basis of a graph", 1987). Of several shortest paths between two atoms one is taken.
    pub(super) fn rings(&self) -> Vec<Ring> {
        let independent = self.bonds.len() + 1 - self.atoms.len();
        if self.atoms.len() * self.bonds.len() > LARGEST_SYSTEM || independent > MOST_RINGS {
            return Vec::new();
        }
        let mut neighbours = vec![Vec::new(); self.atoms.len()];
        for (at, &(_, a, b)) in self.bonds.iter().enumerate() {
            neighbours[a].push((b, at));
            neighbours[b].push((a, at));
        }
        let paths: Vec<Paths> = (0..self.atoms.len()).map(|root| Paths::from(root, &neighbours)).collect();
        let mut candidates = Vec::new();
        for (root, paths) in paths.iter().enumerate() {
            for (bond, &(_, a, b)) in self.bonds.iter().enumerate() {
                // The bonds of the root, and those whose paths share a beginning, close no ring at the root.
                if paths.first[a] != paths.first[b] && a != root && b != root {
                    candidates.push((paths.lengths[a] + paths.lengths[b] + 1, root, bond));
                }
            }
        }
        candidates.sort_unstable();
        let mut sums = Sums { rows: vec![None; self.bonds.len()], count: 0 };
        let mut rings = Vec::new();
        for equally_long in candidates.chunk_by(|a, b| a.0 == b.0) {
            if sums.count == independent {
                break;
            }
            let all: BTreeSet<Vec<usize>> =
                equally_long.iter().map(|&(_, root, bond)| self.ring(&paths[root], bond)).collect();
            let new: Vec<Vec<usize>> = all.into_iter().filter(|ring| sums.rest(ring).is_some()).collect();
            new.iter().for_each(|ring| sums.add(ring));
            rings.extend(new);
        }
        rings.into_iter().map(|bonds| self.named(bonds)).collect()
    }

    /// The bonds of the ring of a bond and the paths to its ends, by places in the system, in rising order.
    fn ring(&self, paths: &Paths, bond: usize) -> Vec<usize> {
        let (_, a, b) = self.bonds[bond];
        let mut bonds = vec![bond];
        for mut atom in [a, b] {
            while paths.lengths[atom] > 0 {
                let (before, by) = paths.before[atom];
                bonds.push(by);
                atom = before;
            }
        }
        bonds.sort_unstable();
        bonds
    }

    fn named(&self, bonds: Vec<usize>) -> Ring {
        let ends = bonds.iter().flat_map(|&bond| [self.bonds[bond].1, self.bonds[bond].2]);
        let atoms: BTreeSet<usize> = ends.map(|place| self.atoms[place]).collect();
        let mut bonds: Vec<usize> = bonds.into_iter().map(|bond| self.bonds[bond].0).collect();
        bonds.sort_unstable();
        Ring { atoms: atoms.into_iter().collect(), bonds }
    }
}

impl Paths {
    fn from(root: usize, neighbours: &Neighbours) -> Self {
        let count = neighbours.len();
        let mut paths =
            Self { lengths: vec![NONE; count], before: vec![(NONE, NONE); count], first: vec![NONE; count] };
        paths.lengths[root] = 0;
        let mut waiting = VecDeque::from([root]);
        while let Some(atom) = waiting.pop_front() {
            for &(other, bond) in &neighbours[atom] {
                if paths.lengths[other] == NONE {
                    paths.lengths[other] = paths.lengths[atom] + 1;
                    paths.before[other] = (atom, bond);
                    paths.first[other] = if atom == root { other } else { paths.first[atom] };
                    waiting.push_back(other);
                }
            }
        }
        paths
    }
}

/// Rings as vectors over the field of two elements, in echelon form.
struct Sums {
    /// The row whose first bond is this one.
    rows: Vec<Option<Vec<u64>>>,
    count: usize,
}

impl Sums {
    /// The first bond and the bits of what is left of a ring without the rows; `None` if it is a sum of rows.
    fn rest(&self, bonds: &[usize]) -> Option<(usize, Vec<u64>)> {
        let mut bits = vec![0u64; self.rows.len().div_ceil(64)];
        bonds.iter().for_each(|bond| bits[bond / 64] |= 1 << (bond % 64));
        for word in 0..bits.len() {
            while bits[word] != 0 {
                let first = 64 * word + bits[word].trailing_zeros() as usize;
                let Some(row) = &self.rows[first] else {
                    return Some((first, bits));
                };
                bits.iter_mut().zip(row).for_each(|(bits, row)| *bits ^= row);
            }
        }
        None
    }

    fn add(&mut self, bonds: &[usize]) {
        if let Some((first, bits)) = self.rest(bonds) {
            self.rows[first] = Some(bits);
            self.count += 1;
        }
    }
}
