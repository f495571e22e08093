use super::*;

fn names(smiles: &str) -> Vec<String> {
    let molecule = Molecule::parse(smiles).unwrap();
    (0..molecule.atoms().len()).map(|at| molecule.atom_type(at, Rule::Zinc)).collect()
}

fn doubles(smiles: &str) -> usize {
    Molecule::parse(smiles).unwrap().bonds().iter().filter(|bond| bond.order == 2).count()
}

#[test]
fn brackets_count_where_they_would_be_written() {
    assert_eq!(names("CC[CH2][CH3]"), ["C", "C", "C", "C"]);
    assert_eq!(names("C[C@@H](N)O"), ["C", "C H1", "N", "O"]);
    assert_eq!(names("[NH4+].[Cl-]"), ["N H4 +", "Cl -"]);
    assert_eq!(names("C[PH](=O)C"), ["C", "P H1", "O", "C"]);
    assert_eq!(names("CP(=O)C"), ["C", "P H1", "O", "C"]);
    assert_eq!(names("[Fe+2]"), ["Fe +2"]);
    assert_eq!(names("[13CH4]"), ["C"]);
    assert_eq!(names("c1cc[nH]c1"), ["C", "C", "C", "N", "C"]);
}

#[test]
fn aromatic_rings_get_their_double_bonds() {
    for (smiles, expected) in [
        ("c1ccccc1", 3),
        ("c1ccc2ccccc2c1", 5),
        ("c1ccccc1c1ccccc1", 6),
        ("c1cc[nH]c1", 2),
        ("o1cccc1", 2),
        ("c1(=O)[nH]c(=O)[nH]c(=O)[nH]1", 3),
        ("C=c1sc(=C)c(=O)n1C", 3),
        ("C[n+]1ccccc1", 3),
        ("[O-][n+]1ccccc1", 3),
        ("n1(=O)ccccc1", 4),
        ("c1ccc2c(c1)Cc1ccccc1-2", 6),
        ("C:1:C:C:C:C:C1", 3),
        ("c1ccc2nc(N)nc3nc(N)nc1-n-3-2", 6),
        ("c1cc2cccc3c4cccc5cccc(c(c1)c23)c54", 10),
    ] {
        assert_eq!(doubles(smiles), expected, "{smiles}");
    }
    let biphenyl = Molecule::parse("c1ccccc1c1ccccc1").unwrap();
    assert_eq!(biphenyl.bonds().iter().filter(|bond| !bond.ring).count(), 1);
    assert!(biphenyl.atoms().iter().all(|atom| atom.aromatic && atom.ring));
}

#[test]
fn double_bonds_do_not_depend_on_how_a_molecule_is_written() {
    // Bonds by what their ends are and see, so that numbers of atoms do not matter.
    let drawn = |smiles: &str| {
        let molecule = Molecule::parse(smiles).unwrap();
        let degree = |atom: u32| molecule.bonds().iter().filter(|bond| bond.a == atom || bond.b == atom).count();
        let end = |atom: u32| (molecule.atoms()[atom as usize].symbol, degree(atom));
        let mut bonds: Vec<_> =
            molecule.bonds().iter().map(|b| (end(b.a).min(end(b.b)), end(b.a).max(end(b.b)), b.order)).collect();
        bonds.sort_unstable();
        bonds
    };
    for (one, other) in [
        ("Cc1cccnc1", "n1cccc(C)c1"),
        ("Cc1cccnc1", "c1c(C)cccn1"),
        ("Oc1cccc(F)c1Cl", "Clc1c(F)cccc1O"),
        ("c1ccc2ncccc2c1", "n1cccc2ccccc12"),
        ("Cc1n[nH]c(N)n1", "Nc1[nH]nc(C)n1"),
        ("COc1ccc2nc(N)sc2c1", "Nc1sc2cc(OC)ccc2n1"),
    ] {
        assert_eq!(drawn(one), drawn(other), "{one} {other}");
    }
}

#[test]
fn hydrogens_are_folded_in() {
    let water = Molecule::parse("[H]O[H]").unwrap();
    assert_eq!((water.atoms().len(), water.atoms()[0].hydrogens), (1, 2));
    let chiral = Molecule::parse("[H][C@](F)(Cl)Br").unwrap();
    assert_eq!((chiral.atoms().len(), chiral.atom_type(0, Rule::Zinc)), (4, "C H1".to_owned()));
    assert_eq!(Molecule::parse("[H][H]").unwrap().atoms().len(), 2);
    assert_eq!(Molecule::parse("[2H]O").unwrap().atoms().len(), 2);
    assert_eq!(Molecule::parse("CC name of it").unwrap().atoms().len(), 2);
}

#[test]
fn malformed_molecules_are_refused_with_place_and_expectation() {
    for (smiles, expected) in [
        ("", "character 1: is empty, expected a molecule"),
        ("CX", "character 2: found `X`, expected an atom, a bond, a branch or a ring"),
        ("CFe", "character 3: found `e`, expected an atom, a bond, a branch or a ring"),
        ("CK", "character 2: `K` needs brackets, `[K]`"),
        ("C1CC", "character 2: ring 1 is not closed"),
        ("C%1C", "character 2: `%` is not followed by two digits"),
        ("1CC", "character 1: the number of a ring follows no atom"),
        ("C=1CC-1", "character 7: ring 1 is closed by another bond than it was opened"),
        ("C11", "character 3: ring 1 joins atoms that are the same or joined already"),
        ("C1C1", "character 4: ring 1 joins atoms that are the same or joined already"),
        ("C(C", "character 2: the branch is not closed"),
        ("CC)", "character 3: `)` closes no branch"),
        ("C()C", "character 3: the branch is empty"),
        ("(C)", "character 1: a branch follows no atom"),
        ("C=", "character 2: a bond stands before the end, expected an atom"),
        ("C==C", "character 2: a bond stands before a second bond, expected an atom"),
        ("=C", "character 1: a bond follows no atom"),
        ("C.", "character 3: ends without an atom"),
        (".C", "character 1: `.` follows no atom"),
        ("[C", "character 1: `[` is not closed"),
        ("[Xx]", "character 2: found `Xx`, expected the symbol of an element"),
        ("[CH3q]", "character 5: found `q` in brackets, where nothing more is expected"),
        ("[C+99]", "character 1: more than 15 hydrogens or charges"),
        ("[C:]", "character 4: `:` is not followed by a number"),
        ("cc", "character 1: the atom is written as aromatic and is in no ring"),
        ("c1cccc1", "character 4: the aromatic ring has no Kekulé form: a double bond is missing for this atom"),
        ("C\u{e9}", "character 2: is not a SMILES symbol"),
    ] {
        match Molecule::parse(smiles) {
            Ok(molecule) => panic!("accepted {smiles:?} as {molecule:?}"),
            Err(error) => assert_eq!(error.to_string(), expected, "{smiles:?}"),
        }
    }
}

#[test]
fn cut_and_damaged_molecules_never_panic() {
    let text = "C[C@@H]1(N)c2cc[n+](C)cc2%11.[Fe+2]C11/C=C\\C#N";
    for at in 0..text.len() {
        let _ = Molecule::parse(&text[..at]);
        for new in ["", "c", "1", "(", ")", "[", "]", "=", ":", ".", "%", "@", "H"] {
            let _ = Molecule::parse(&format!("{}{new}{}", &text[..at], &text[at + 1..]));
        }
    }
}

/// Atoms and bonds by both rules, in an order that does not depend on the text: an atom is known by its surroundings.
fn unordered(smiles: &str) -> Vec<u64> {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let hash = |value: &dyn Fn(&mut DefaultHasher)| {
        let mut hasher = DefaultHasher::new();
        value(&mut hasher);
        hasher.finish()
    };
    let molecule = Molecule::parse(smiles).unwrap_or_else(|error| panic!("{smiles}: {error}"));
    let own = |at: usize| {
        let atom = &molecule.atoms[at];
        let numbers = (atom.charge, atom.hydrogens, atom.aromatic, atom.ring, atom.chiral);
        hash(&|hasher| (atom.symbol, numbers, molecule.atom_type(at, Rule::Zinc)).hash(hasher))
    };
    let mut names: Vec<u64> = (0..molecule.atoms.len()).map(own).collect();
    for _ in 0..names.len() {
        let mut around: Vec<Vec<_>> = vec![Vec::new(); names.len()];
        for bond in &molecule.bonds {
            let kind = (bond.order, bond.aromatic, bond.ring);
            around[bond.a as usize].push((kind, names[bond.b as usize]));
            around[bond.b as usize].push((kind, names[bond.a as usize]));
        }
        around.iter_mut().for_each(|around| around.sort_unstable());
        names = names.iter().zip(&around).map(|both| hash(&|hasher| both.hash(hasher))).collect();
    }
    names.sort_unstable();
    names
}

#[test]
fn aromatic_rings_may_be_written_with_double_bonds() {
    for (aromatic, kekule) in [
        ("c1ccccc1", "C1=CC=CC=C1"),
        ("Cc1ccccc1C", "CC1=CC=CC=C1C"),
        ("Cc1ccccc1C", "CC1=C(C)C=CC=C1"),
        ("c1ccc2ccccc2c1", "C1=CC=C2C=CC=CC2=C1"),
        ("c1ccc2ccccc2c1", "C1=CC2=CC=CC=C2C=C1"),
        ("c1ccc2cc3ccccc3cc2c1", "C1=CC=C2C=C3C=CC=CC3=CC2=C1"),
        ("c1ccc(cc1)-c1ccccc1", "C1=CC=C(C=C1)C1=CC=CC=C1"),
        ("CC(=O)Oc1ccccc1C(=O)O", "CC(=O)OC1=CC=CC=C1C(=O)O"),
        ("Oc1ccccc1", "OC1=CC=CC=C1"),
        ("c1ccncc1", "C1=CC=NC=C1"),
        ("c1cc[nH]c1", "C1=CNC=C1"),
        ("c1cc[nH]c1", "[H]N1C=CC=C1"),
        ("Cn1cccc1", "CN1C=CC=C1"),
        ("c1ccoc1", "C1=COC=C1"),
        ("c1ccsc1", "C1=CSC=C1"),
        ("c1cc[se]c1", "C1=C[Se]C=C1"),
        ("c1c[nH]cn1", "C1=CNC=N1"),
        ("c1cscn1", "C1=CSC=N1"),
        ("c1nc[nH]n1", "C1=NC=NN1"),
        ("c1ccc2[nH]ccc2c1", "C1=CC=C2C(=C1)C=CN2"),
        ("c1ccc2ncccc2c1", "C1=CC=C2C(=C1)C=CC=N2"),
        ("c1ccc2occc2c1", "C1=CC=C2C(=C1)C=CO2"),
        ("c1ncc2[nH]cnc2n1", "C1=C2C(=NC=N1)N=CN2"),
        ("Cn1cnc2c1c(=O)n(C)c(=O)n2C", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C"),
        ("O=c1cccc[nH]1", "C1=CC(=O)NC=C1"),
        ("O=c1cc[nH]c(=O)[nH]1", "C1=CNC(=O)NC1=O"),
        ("O=c1cccccc1", "C1=CC=CC(=O)C=C1"),
        ("c1cc[nH+]cc1", "C1=CC=[NH+]C=C1"),
        ("C[n+]1ccccc1", "C[N+]1=CC=CC=C1"),
        ("[O-][n+]1ccccc1", "[O-][N+]1=CC=CC=C1"),
        ("O=n1ccccc1", "O=N1=CC=CC=C1"),
        ("c1cc[o+]cc1", "C1=CC=[O+]C=C1"),
        ("c1cc[cH-]c1", "C1=CC=C[CH-]1"),
        ("c1ccc[cH+]cc1", "C1=CC=C[CH+]C=C1"),
        ("c1c[n-]cn1", "C1=C[N-]C=N1"),
        ("C=c1ccc(=C)cc1", "C=C1C=CC(=C)C=C1"),
        // The bond that both rings of azulene share is on no outline with 4n+2 electrons.
        ("c1ccc2cccc-2cc1", "C1=CC=C2C=CC=C2C=C1"),
        ("c1ccc2c(c1)-c1ccccc1-2", "C1=CC=C2C(=C1)C1=CC=CC=C12"),
        ("O=c1ccc(=O)c2occoc1=2", "O=C1C=CC(=O)C2=C1OC=CO2"),
        ("C1=Cc2cc3ccc(cc4nc(cc5ccc(cc1n2)[nH]5)C=C4)[nH]3", "C1=CC2=NC1=CC1=CC=C(N1)C=C1C=CC(=N1)C=C1C=CC(=C2)N1"),
        ("c1ccccc1.Cc1ccccc1", "c1ccccc1.CC1=CC=CC=C1"),
    ] {
        assert_eq!(unordered(aromatic), unordered(kekule), "{aromatic} {kekule}");
    }
}

#[test]
fn rings_without_aromatic_electrons_keep_their_double_bonds() {
    for (smiles, doubles_expected) in [
        ("C1=CC=CC=CC=C1", 4),
        ("C1=CC=CCC1", 2),
        ("O=C1C=CC(=O)C=C1", 4),
        ("C1C=CC=C1", 2),
        ("C=C1C=CC=C1", 3),
        ("O=C1OC(=O)C=C1", 3),
        ("C1=CC=C1", 2),
        ("O=S1C=CC=C1", 3),
        ("C1=C[N]C=C1", 2),
        ("C1C2=CC=CC=C1C=CC=C2", 5),
        ("O1C=CC=CC=CC=C1", 4),
    ] {
        let molecule = Molecule::parse(smiles).unwrap();
        assert!(molecule.atoms.iter().all(|atom| !atom.aromatic), "{smiles}");
        assert!(molecule.bonds.iter().all(|bond| !bond.aromatic), "{smiles}");
        assert_eq!(doubles(smiles), doubles_expected, "{smiles}");
    }
}

#[test]
fn molecules_with_aromatic_letters_stay_as_they_are_written() {
    let molecule = Molecule::parse("c1ccccc1C1=CC=CC=C1").unwrap();
    assert_eq!(molecule.atoms.iter().filter(|atom| atom.aromatic).count(), 6);
    assert_eq!(molecule.bonds.iter().filter(|bond| bond.aromatic).count(), 6);
}
