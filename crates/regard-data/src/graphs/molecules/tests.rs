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
