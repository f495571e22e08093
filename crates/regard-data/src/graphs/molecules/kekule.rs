//! Double bonds for aromatic rings: one of the forms that Kekulé drew.

use std::ops::Range;

use super::SmilesError;
use super::aromaticity;
use super::elements::valences;
use super::matching::matching;
use super::smiles::Written;

/// Marks atoms and bonds of rings, and gives every aromatic bond its order.
///
/// Aromatic atoms that are a bond short of their valence get one double bond each, along aromatic ring
/// bonds: a perfect matching. Where several are possible, atoms take the first neighbour that is free, in
/// the order of [`ranks`], so that the form depends on the molecule and not on how it is written: networks
/// learn more from few molecules whose equal parts are drawn alike. The others (`[nH]`, `o`, `c(=O)`) get
/// none. Molecules without aromatic atoms in the text get them from [`aromaticity::perceive`] before.
pub(super) fn localise(written: &mut Written) -> Result<(), SmilesError> {
    mark_rings(written);
    for bond in &mut written.bonds {
        // Two aromatic rings may be joined without a symbol, by a bond that is in neither.
        bond.aromatic &= bond.ring;
        if bond.aromatic {
            written.atoms[bond.a as usize].aromatic = true;
            written.atoms[bond.b as usize].aromatic = true;
        }
    }
    if let Some(atom) = written.atoms.iter().find(|atom| atom.aromatic && !atom.ring) {
        return Err(SmilesError::new(atom.at, "the atom is written as aromatic and is in no ring"));
    }
    let mut short = short_of_a_bond(written);
    aromaticity::perceive(written, &mut short);
    let places = ranks(written);
    let mut neighbours = vec![Vec::new(); written.atoms.len()];
    for (at, bond) in written.bonds.iter().enumerate().filter(|(_, bond)| bond.aromatic) {
        let (a, b) = (bond.a as usize, bond.b as usize);
        if short[a] && short[b] {
            neighbours[places[a]].push((places[b], at));
            neighbours[places[b]].push((places[a], at));
        }
    }
    neighbours.iter_mut().for_each(|others| others.sort_unstable());
    let partners = matching(&neighbours);
    for (atom, place) in places.into_iter().enumerate() {
        match partners[place] {
            Some(bond) => written.bonds[bond].order = 2,
            None if short[atom] => {
                let reason = "the aromatic ring has no Kekulé form: a double bond is missing for this atom";
                return Err(SmilesError::new(written.atoms[atom].at, reason));
            }
            None => {}
        }
    }
    Ok(())
}

/// A place for each atom, by what it is, then by what its neighbours are, their neighbours, and so on
/// (H. Morgan, "The generation of a unique machine description for chemical structures", 1965). Atoms that
/// differ in none of it keep the order they are written in.
fn ranks(written: &Written) -> Vec<usize> {
    let count = written.atoms.len();
    let mut neighbours = vec![Vec::new(); count];
    for bond in &written.bonds {
        let kind = (bond.order, bond.aromatic);
        neighbours[bond.a as usize].push((kind, bond.b as usize));
        neighbours[bond.b as usize].push((kind, bond.a as usize));
    }
    let own = |at: usize| {
        let atom = &written.atoms[at];
        (usize::MAX - neighbours[at].len(), atom.symbol, atom.charge, atom.hydrogens, atom.aromatic)
    };
    let mut classes = Classes::by((0..count).map(own).collect());
    let mut looked_at: Vec<usize> = (0..count).collect();
    while !looked_at.is_empty() {
        let seen = |classes: &Classes, at: usize| {
            let mut around: Vec<_> = neighbours[at].iter().map(|&(kind, other)| (classes.place(other), kind)).collect();
            around.sort_unstable();
            around
        };
        let moved = classes.split(&looked_at, seen);
        // Only neighbours of atoms whose class is new can be told apart by it.
        looked_at = moved.iter().flat_map(|&at| neighbours[at].iter().map(|&(_, other)| other)).collect();
        looked_at.sort_unstable();
        looked_at.dedup();
    }
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&at| classes.place(at));
    let mut places = vec![0; count];
    order.into_iter().enumerate().for_each(|(place, at)| places[at] = place);
    places
}

/// Atoms in ordered classes, which are split again and again. A step costs as much as the atoms it looks at: the largest
/// part of a class stays what it was (A. Cardon and M. Crochemore, "Partitioning a graph in O(|A| log2 |V|)", 1982).
struct Classes {
    /// The atoms, class after class.
    atoms: Vec<usize>,
    /// The place of each atom among them.
    at: Vec<usize>,
    /// The class of each atom.
    of: Vec<usize>,
    /// The places of each class.
    ranges: Vec<Range<usize>>,
}

/// The parts into which a class is split.
struct Split {
    class: usize,
    /// Atoms of equal keys, in the order of the keys.
    groups: Vec<Vec<usize>>,
    /// The group to which all atoms belong that were not looked at, where there are any.
    rest: Option<usize>,
}

impl Classes {
    /// The classes of equal keys, in the order of the keys.
    fn by<K: Ord>(keys: Vec<K>) -> Self {
        let mut atoms: Vec<usize> = (0..keys.len()).collect();
        atoms.sort_by(|&a, &b| keys[a].cmp(&keys[b]));
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let (mut at, mut of) = (vec![0; keys.len()], vec![0; keys.len()]);
        for (place, &atom) in atoms.iter().enumerate() {
            match ranges.last_mut() {
                Some(range) if keys[atoms[range.start]] == keys[atom] => range.end = place + 1,
                _ => ranges.push(place..place + 1),
            }
            (at[atom], of[atom]) = (place, ranges.len() - 1);
        }
        Self { atoms, at, of, ranges }
    }

    /// The place of the class of an atom, which orders classes.
    fn place(&self, atom: usize) -> usize {
        self.ranges[self.of[atom]].start
    }

    /// Splits classes by the keys of the atoms to look at; the others of a class have equal keys. Gives the atoms whose
    /// class is another one.
    fn split<K: Ord>(&mut self, look_at: &[usize], key: impl Fn(&Self, usize) -> K) -> Vec<usize> {
        let mut atoms = look_at.to_vec();
        atoms.sort_unstable_by_key(|&atom| (self.of[atom], atom));
        // All keys are those of the classes before.
        let splits: Vec<Split> =
            atoms.chunk_by(|&a, &b| self.of[a] == self.of[b]).filter_map(|atoms| self.groups(atoms, &key)).collect();
        splits.into_iter().flat_map(|split| self.apply(split)).collect()
    }

    /// The groups of equal keys of a class; `None` where it stays as it is. `atoms` are those to look at, in their order.
    fn groups<K: Ord>(&self, atoms: &[usize], key: &impl Fn(&Self, usize) -> K) -> Option<Split> {
        let class = self.of[atoms[0]];
        let range = self.ranges[class].clone();
        let of_rest = self.atoms[range].iter().find(|atom| atoms.binary_search(atom).is_err());
        let mut keyed: Vec<(K, usize)> = atoms.iter().chain(of_rest).map(|&atom| (key(self, atom), atom)).collect();
        keyed.sort_by(|a, b| a.0.cmp(&b.0));
        let of_group = |group: &[(K, usize)]| group.iter().map(|(_, atom)| *atom).collect::<Vec<_>>();
        let groups: Vec<Vec<usize>> = keyed.chunk_by(|a, b| a.0 == b.0).map(of_group).collect();
        let rest = of_rest.and_then(|atom| groups.iter().position(|group| group.contains(atom)));
        (groups.len() > 1).then_some(Split { class, groups, rest })
    }

    /// Carries out a split: groups before the rest go to the front of the class, those behind it to the back.
    fn apply(&mut self, Split { class, groups, rest }: Split) -> Vec<usize> {
        let Range { start, end } = self.ranges[class].clone();
        let rest = rest.unwrap_or(groups.len());
        let (mut front, mut back) = (start, end);
        let mut parts = vec![start..start; groups.len()];
        for (part, group) in parts.iter_mut().zip(&groups).take(rest) {
            let begin = front;
            for &atom in group {
                self.swap(atom, front);
                front += 1;
            }
            *part = begin..front;
        }
        for (part, group) in parts.iter_mut().zip(&groups).skip(rest + 1).rev() {
            let stop = back;
            for &atom in group {
                back -= 1;
                self.swap(atom, back);
            }
            *part = back..stop;
        }
        if let Some(part) = parts.get_mut(rest) {
            *part = front..back;
        }
        let largest = (0..parts.len()).rev().max_by_key(|&part| parts[part].len()).unwrap_or(0);
        let mut moved = Vec::new();
        for (at, part) in parts.into_iter().enumerate() {
            if at == largest {
                self.ranges[class] = part;
                continue;
            }
            let new = self.ranges.len();
            for &atom in &self.atoms[part.clone()] {
                self.of[atom] = new;
                moved.push(atom);
            }
            self.ranges.push(part);
        }
        moved
    }

    /// Moves an atom to a place, and the atom there to its place.
    fn swap(&mut self, atom: usize, place: usize) {
        let (from, other) = (self.at[atom], self.atoms[place]);
        self.atoms.swap(from, place);
        (self.at[atom], self.at[other]) = (place, from);
    }
}

/// Aromatic atoms that need a double bond.
fn short_of_a_bond(written: &Written) -> Vec<bool> {
    let mut sums: Vec<u32> = written.atoms.iter().map(|atom| u32::from(atom.hydrogens)).collect();
    for bond in &written.bonds {
        sums[bond.a as usize] += u32::from(bond.order);
        sums[bond.b as usize] += u32::from(bond.order);
    }
    let needs = |(atom, sum): (&super::Atom, u32)| {
        let all = valences(atom.symbol, atom.charge);
        atom.aromatic && all.iter().find(|valence| u32::from(**valence) >= sum).is_some_and(|v| u32::from(*v) > sum)
    };
    written.atoms.iter().zip(sums).map(needs).collect()
}

/// Marks the bonds that lie on a ring, which are those that are no bridges, and their atoms.
fn mark_rings(written: &mut Written) {
    let count = written.atoms.len();
    let mut neighbours = vec![Vec::new(); count];
    for (at, bond) in written.bonds.iter_mut().enumerate() {
        bond.ring = true;
        neighbours[bond.a as usize].push((bond.b as usize, at));
        neighbours[bond.b as usize].push((bond.a as usize, at));
    }
    const NEW: usize = usize::MAX;
    let (mut found, mut low, mut time) = (vec![NEW; count], vec![0; count], 0);
    for root in 0..count {
        if found[root] != NEW {
            continue;
        }
        // Atom, the bond it was reached by, and how many of its neighbours have been looked at.
        let mut stack = vec![(root, NEW, 0)];
        (found[root], low[root], time) = (time, time, time + 1);
        while let Some((atom, by, next)) = stack.last_mut() {
            let atom = *atom;
            if let Some(&(other, bond)) = neighbours[atom].get(*next) {
                *next += 1;
                if bond == *by {
                    continue;
                }
                if found[other] == NEW {
                    (found[other], low[other], time) = (time, time, time + 1);
                    stack.push((other, bond, 0));
                } else {
                    low[atom] = low[atom].min(found[other]);
                }
                continue;
            }
            let by = *by;
            stack.pop();
            if let Some((before, ..)) = stack.last() {
                low[*before] = low[*before].min(low[atom]);
                if low[atom] > found[*before] {
                    written.bonds[by].ring = false;
                }
            }
        }
    }
    for bond in written.bonds.iter().filter(|bond| bond.ring) {
        written.atoms[bond.a as usize].ring = true;
        written.atoms[bond.b as usize].ring = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Draws;

    /// The classes of keys: all atoms are looked at in every step, until no class is split.
    fn classes_by_all(neighbours: &[Vec<(u8, usize)>]) -> Vec<usize> {
        let classes_by = |keys: Vec<(usize, Vec<(usize, u8)>)>| {
            let mut sorted = keys.clone();
            sorted.sort();
            sorted.dedup();
            keys.iter().map(|key| sorted.binary_search(key).unwrap()).collect::<Vec<_>>()
        };
        let mut of = classes_by(neighbours.iter().map(|around| (around.len(), vec![])).collect());
        loop {
            let seen = |at: usize| {
                let mut around: Vec<_> = neighbours[at].iter().map(|&(kind, other)| (of[other], kind)).collect();
                around.sort_unstable();
                (of[at], around)
            };
            let finer = classes_by((0..neighbours.len()).map(seen).collect());
            if finer == of {
                return of;
            }
            of = finer;
        }
    }

    #[test]
    fn classes_are_those_of_looking_at_all_atoms_in_every_step() {
        let mut draws = Draws::new(11);
        for _ in 0..400 {
            let atoms = 2 + draws.index(30);
            let mut neighbours = vec![Vec::new(); atoms];
            for b in 1..atoms {
                for a in [draws.index(b), b - 1].into_iter().take(1 + draws.index(2)) {
                    let kind = draws.index(2) as u8;
                    if neighbours[a].iter().all(|&(_, other)| other != b) {
                        neighbours[a].push((kind, b));
                        neighbours[b].push((kind, a));
                    }
                }
            }
            let mut classes = Classes::by(neighbours.iter().map(Vec::len).collect());
            let mut look_at: Vec<usize> = (0..atoms).collect();
            while !look_at.is_empty() {
                let moved = classes.split(&look_at, |classes, at| {
                    let mut around: Vec<_> =
                        neighbours[at].iter().map(|&(kind, other)| (classes.place(other), kind)).collect();
                    around.sort_unstable();
                    around
                });
                look_at = moved.iter().flat_map(|&at| neighbours[at].iter().map(|&(_, other)| other)).collect();
                look_at.sort_unstable();
                look_at.dedup();
            }
            let expected = classes_by_all(&neighbours);
            for a in 0..atoms {
                for b in 0..atoms {
                    let found = classes.place(a).cmp(&classes.place(b));
                    assert_eq!(found, expected[a].cmp(&expected[b]), "{neighbours:?}");
                }
            }
        }
    }

    #[test]
    fn a_long_chain_takes_time_by_its_length() {
        let begun = std::time::Instant::now();
        for text in [
            "C".repeat(60_000),
            format!("c1ccccc1{}", "C".repeat(60_000)),
            "c1ccccc1".repeat(8000),
            "C1=CC=CC=C1".repeat(8000),
            format!("C1{}=1", "=CC".repeat(60_000 / 2)),
        ] {
            assert_eq!(
                crate::graphs::molecules::Molecule::parse(&text).unwrap().atoms().len(),
                text.matches(['c', 'C']).count()
            );
        }
        // Ranks that look at all atoms in every step take several minutes.
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }
}
