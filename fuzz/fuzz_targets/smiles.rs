//! Any text is read as a molecule or refused; its bonds fit its atoms.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use regard_data::graphs::formats::{ReadOptions, smiles_csv};
use regard_data::graphs::molecules::{Molecule, Rule};

fuzz_target!(|text: &str| {
    if let Ok(molecule) = Molecule::parse(text) {
        let atoms = molecule.atoms().len();
        assert!(molecule.bonds().iter().all(|bond| (bond.a as usize) < atoms && (bond.b as usize) < atoms));
        assert!(molecule.bonds().iter().all(|bond| (1..=4).contains(&bond.order)));
    }
    for rule in [Rule::Zinc, Rule::Described] {
        let options = ReadOptions {
            smiles: Some("s".into()),
            targets: vec!["y".into()],
            targets_optional: true,
            skip_bad: true,
            rule,
            ..Default::default()
        };
        let _ = smiles_csv::parse(text, Path::new("fuzz.csv"), &options);
    }
});
