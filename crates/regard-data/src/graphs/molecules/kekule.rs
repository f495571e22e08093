//! Double bonds for aromatic rings: one of the forms that Kekulé drew.

use super::SmilesError;
use super::elements::valences;
use super::matching::matching;
use super::smiles::Written;

/// Marks atoms and bonds of rings, and gives every aromatic bond its order.
///
/// Aromatic atoms that are a bond short of their valence get one double bond each, along aromatic ring
/// bonds: a perfect matching. Where several are possible, atoms take the first neighbour that is free, in
/// the order of [`ranks`], so that the form depends on the molecule and not on how it is written: networks
/// learn more from few molecules whose equal parts are drawn alike. The others (`[nH]`, `o`, `c(=O)`) get
/// none.
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
    let short = short_of_a_bond(written);
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
    let (mut of, mut classes) = classes_by((0..count).map(own).collect());
    loop {
        let seen = |at: usize| {
            let mut around: Vec<_> = neighbours[at].iter().map(|&(kind, other)| (of[other], kind)).collect();
            around.sort_unstable();
            (of[at], around)
        };
        let (finer, found) = classes_by((0..count).map(seen).collect());
        if found == classes {
            let mut order: Vec<usize> = (0..count).collect();
            order.sort_by_key(|&at| of[at]);
            let mut places = vec![0; count];
            order.into_iter().enumerate().for_each(|(place, at)| places[at] = place);
            return places;
        }
        (of, classes) = (finer, found);
    }
}

/// The class of each key, in their order, and how many there are.
fn classes_by<K: Ord>(keys: Vec<K>) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by(|&a, &b| keys[a].cmp(&keys[b]));
    let (mut of, mut next) = (vec![0; keys.len()], 0);
    for pair in 0..order.len() {
        next += usize::from(pair > 0 && keys[order[pair]] != keys[order[pair - 1]]);
        of[order[pair]] = next;
    }
    (of, next + usize::from(!keys.is_empty()))
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
