use super::*;
use crate::graphs::molecules::ZINC_ATOMS;

fn options() -> ReadOptions {
    ReadOptions { smiles: Some("smiles".into()), targets: vec!["y".into()], ..ReadOptions::default() }
}

fn said(text: &str, options: &ReadOptions) -> String {
    let error = parse(text, Path::new("m.csv"), options).expect_err(text);
    assert_eq!(error.to_string().lines().count(), 1);
    match error.hint() {
        Some(hint) => format!("{error} | {hint}"),
        None => error.to_string(),
    }
}

#[test]
fn molecules_have_types_targets_and_parts() {
    let text = "id,smiles,y,part\na,CC=O,1.5,train\nb,C[Se]C,nan,val\nc,[NH4+],2,test\n";
    let all = ReadOptions { id: Some("id".into()), split: Some("part".into()), ..options() };
    let graphs = parse(text, Path::new("m.csv"), &all).unwrap();
    assert_eq!((graphs.ids(), graphs.node_offsets()), (&["a", "b", "c"].map(String::from)[..], &[0, 3, 6, 7][..]));
    let names = graphs.node_features().type_names();
    assert_eq!((&names[..28], &names[28..]), (&ZINC_ATOMS.map(String::from)[..], &["N H4 +".into(), "Se".into()][..]));
    assert_eq!(graphs.node_features().types(), Some(&[0, 0, 1, 0, 29, 0, 28][..]));
    assert_eq!(graphs.edge_features().types(), Some(&[1, 1, 2, 2, 1, 1, 1, 1][..]));
    assert_eq!(graphs.targets().unwrap().as_numbers().unwrap()[..], [Some(1.5), None, Some(2.0)]);
    assert_eq!(graphs.parts().unwrap().places(Part::Validation), [1]);
    assert_eq!((graphs.line(1), graphs.ids().len()), (Some(3), 3));
}

#[test]
fn atoms_may_be_described_by_numbers() {
    let described = ReadOptions { rule: Rule::Described, ..options() };
    let graphs = parse("smiles,y\nO=c1cc[nH]cc1,1\n", Path::new("m.csv"), &described).unwrap();
    assert_eq!(graphs.node_features().type_names(), ["C", "N", "O"]);
    assert_eq!(graphs.node_features().width(), 6);
    assert_eq!(graphs.node_features().dense()[4 * 6..5 * 6], [0.0, 1.0, 2.0, 1.0, 1.0, 0.0]);
    assert_eq!(graphs.edge_features().types().unwrap()[..3], [1, 1, 4]);
}

#[test]
fn unseen_atoms_name_file_line_and_atom() {
    let training = parse("smiles,y\nCCO,1\n", Path::new("m.csv"), &options()).unwrap();
    let new = parse("smiles,y\nC,1\nC[Se]C,1\n", Path::new("new.csv"), &options()).unwrap();
    let (nodes, edges) = (training.node_features().kinds().clone(), training.edge_features().kinds().clone());
    let error = new.clone().align(&nodes, &edges, None).unwrap_err();
    assert_eq!(error.to_string(), "new.csv:3: atom 2 has the type `Se`, which is not in the training data");
    assert_eq!(
        error.hint(),
        Some(
            "skip it with `--skip-bad` (`data.skip_bad`), or train with `data.min_type_count`, so that rare types share one type"
        )
    );
    let mut lenient = nodes.clone();
    lenient.types.push("other".into());
    let aligned = new.clone().align(&lenient, &edges, Some("other")).unwrap();
    assert_eq!((aligned.node_features().types(), aligned.taken_as_rare()), (Some(&[0, 0, 28, 0][..]), 1));
    let rest = new.without_unseen_nodes(&nodes.types).unwrap();
    let [row] = rest.skipped() else { panic!("{:?}", rest.skipped()) };
    assert_eq!((rest.len(), rest.line(0), row.line), (1, Some(2), 3));
    assert_eq!(row.reason, "atom 2 has the type `Se`, which is not in the training data");
}

#[test]
fn rare_atoms_become_one_type() {
    let text = "smiles,y\nCCO,1\nC[Se]C,1\nCN,1\nO[Te]C,1\n";
    let graphs = parse(text, Path::new("m.csv"), &ReadOptions { rule: Rule::Described, ..options() }).unwrap();
    assert_eq!(graphs.node_features().type_names(), ["C", "N", "O", "Se", "Te"]);
    // Tellurium is in no graph that is learnt from; oxygen and selenium are there once.
    let rare = graphs.clone().with_rare_nodes_as("other", &[0, 1, 2], 2);
    assert_eq!(rare.node_features().type_names(), ["C", "other"]);
    assert_eq!(rare.node_features().types(), Some(&[0, 0, 1, 0, 1, 0, 0, 1, 1, 1, 0][..]));
    assert_eq!(graphs.clone().with_rare_nodes_as("other", &[2], 1), graphs);
}

#[test]
fn wrong_rows_are_left_out_when_asked() {
    let text = "smiles,y\nCCO,1\nC1CC,2\n,3\nCC,4\n";
    let lenient = ReadOptions { skip_bad: true, ..options() };
    let graphs = parse(text, Path::new("m.csv"), &lenient).unwrap();
    assert_eq!((graphs.ids(), graphs.targets().unwrap().rows()), (&["1".to_owned(), "4".to_owned()][..], 2));
    let reasons: Vec<String> = graphs.skipped().iter().map(|row| format!("{}: {}", row.line, row.reason)).collect();
    assert_eq!(
        reasons,
        [
            "3: field `smiles`: `C1CC`: character 2: ring 1 is not closed",
            "4: field `smiles`: is empty, expected a molecule"
        ]
    );
    assert_eq!(said("smiles,y\nX,1\n", &lenient), "m.csv: has no molecule that can be read among 1 rows");
}

#[test]
fn an_empty_molecule_of_a_single_column_is_a_row() {
    let alone = ReadOptions { targets: vec![], ..options() };
    let text = "smiles\nCCO\n\"\"\n\nCC\n";
    assert_eq!(
        said(text, &alone),
        "m.csv:3: field `smiles`: is empty, expected a molecule | `--skip-bad` (`data.skip_bad`) leaves out rows that \
         are wrong"
    );
    let graphs = parse(text, Path::new("m.csv"), &ReadOptions { skip_bad: true, ..alone }).unwrap();
    assert_eq!(graphs.ids(), ["1", "3"]);
    assert_eq!((graphs.skipped().len(), graphs.skipped()[0].line), (1, 3));
}

#[test]
fn malformed_tables_are_refused_with_place_and_expectation() {
    let no_column = ReadOptions { smiles: None, ..options() };
    let split = ReadOptions { split: Some("part".into()), ..options() };
    for (text, options, expected) in [
        ("", options(), "m.csv: is empty, expected a header and rows of molecules"),
        ("smiles,y\n", options(), "m.csv: has no rows below its header, expected at least one"),
        ("smile,y\nC,1\n", options(), "m.csv:1: has no column `smiles` | did you mean the column `smile`?"),
        ("smiles,z\nC,1\n", options(), "m.csv:1: has no column `y` | the columns are `smiles`, `z`"),
        ("a,a\nC,1\n", options(), "m.csv:1: column `a` occurs twice, as number 1 and 2"),
        (
            "smiles,y\nC,1\n",
            no_column,
            "m.csv:1: is a table, but no column of SMILES is given | name it by `--smiles` (`data.smiles`); the columns are `smiles`, `y`",
        ),
        (
            "smiles,y\nC,1\nCQ,1\n",
            options(),
            "m.csv:3: field `smiles`: `CQ`: character 2: found `Q`, expected an atom, a bond, a branch or a ring | \
             `--skip-bad` (`data.skip_bad`) leaves out rows that are wrong",
        ),
        (
            "smiles,y\nC$C,1\n",
            options(),
            "m.csv:2: field `smiles`: `C$C`: character 1: has a quadruple bond, which is no bond type of ZINC | \
             `--skip-bad` (`data.skip_bad`) leaves out rows that are wrong",
        ),
        (
            "smiles,y\nC\n",
            options(),
            "m.csv:2: has 1 fields, the header has 2 | put text that contains the separator in double quotes",
        ),
        ("smiles,y,part\nC,1,left\n", split, "m.csv:2: field `part`: found `left`, expected train, val, test or none"),
    ] {
        assert_eq!(said(text, &options), expected, "{text:?}");
    }
}

#[test]
fn words_among_numbers_are_named_with_their_line() {
    let graphs = parse("smiles,y\nC,1\nCC,high\n", Path::new("m.csv"), &options()).unwrap();
    let error = graphs.target_numbers().unwrap_err();
    assert_eq!(error.to_string(), "m.csv:3: field `y`: found `high`, expected a number");
}
