use super::*;
use crate::sets::formats::{ReadOptions, csv};

fn bags() -> Bags {
    let text = "id,a\n\"u,1\",1\nv,2\n\"u,1\",3\n";
    let options = ReadOptions { group_by: Some("id".into()), ..ReadOptions::default() };
    csv::parse(text, Path::new("bags.csv"), &options).unwrap()
}

fn classes() -> Predicted {
    Predicted::Classes {
        names: vec!["no".into(), "y,s".into()],
        probabilities: vec![0.25, 0.75, 0.5, 0.5],
        shares: vec![],
    }
}

#[test]
fn classes_and_importances_are_written() {
    let bags = bags();
    let all = Predictions::new(&bags, Some(classes())).unwrap().with_rows("importance", vec![0.5, 0.5, 1.0]).unwrap();
    assert_eq!(all.csv(), "id,rows,prediction,p(no),\"p(y,s)\"\n\"u,1\",2,\"y,s\",0.25,0.75\nv,1,no,0.5,0.5\n");
    assert_eq!(
        all.rows_csv(),
        "id,row,line,prediction,p(no),\"p(y,s)\",importance\n\"u,1\",1,2,\"y,s\",0.25,0.75,0.5\n\"u,1\",2,4,\"y,s\",0.25,0.75,0.5\nv,1,3,no,0.5,0.5,1\n"
    );
    let json = all.json();
    assert_eq!(json[0]["prediction"], "y,s");
    assert_eq!(json[0]["probabilities"]["no"], 0.25);
    assert_eq!(json[1]["importance"], json!([1.0]));
}

#[test]
fn numbers_rankings_and_gaps_are_written() {
    let bags = bags();
    let numbers = Predictions::new(&bags, Some(Predicted::numbers(vec![1.5, f64::NAN]))).unwrap();
    assert_eq!(
        (numbers.csv().as_str(), numbers.rows_csv().as_str()),
        ("id,rows,prediction\n\"u,1\",2,1.5\nv,1,NaN\n", "")
    );
    assert_eq!(numbers.json()[1]["prediction"], Value::Null);
    let ranking = Predictions::new(&bags, None).unwrap().with_rows("score", vec![3.0, 1.0, 2.0]).unwrap();
    assert_eq!(ranking.csv(), "id,rows\n\"u,1\",2\nv,1\n");
    assert_eq!(ranking.json()[0], json!({"id": "u,1", "rows": 2, "score": [3.0, 1.0]}));
}

#[test]
fn files_are_written_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let bags = bags();
    let all = Predictions::new(&bags, Some(classes())).unwrap().with_rows("importance", vec![0.5, 0.25, 1.0]).unwrap();
    let [table, rows, lines] = ["a.csv", "b.csv", "a.jsonl"].map(|name| folder.path().join(name));
    all.write(&table).unwrap();
    all.write_rows(&rows).unwrap();
    all.write(&lines).unwrap();
    let options = ReadOptions {
        group_by: Some("id".into()),
        features: Some(vec!["importance".into()]),
        ..ReadOptions::default()
    };
    assert_eq!(
        csv::parse(&std::fs::read_to_string(rows).unwrap(), &table, &options).unwrap().features(),
        [0.5, 0.25, 1.0]
    );
    let lines = std::fs::read_to_string(lines).unwrap();
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(first, json!({"id": "u,1", "rows": 2, "prediction": "y,s", "p(no)": 0.25, "p(y,s)": 0.75}));
    assert_eq!(std::fs::read_to_string(table).unwrap(), all.csv());
}

#[test]
fn what_does_not_fit_is_refused() {
    let bags = bags();
    let wrong =
        [Predicted::numbers(vec![1.0]), Predicted::Classes { names: vec![], probabilities: vec![], shares: vec![] }];
    assert!(wrong.into_iter().all(|predicted| Predictions::new(&bags, Some(predicted)).is_err()));
    let error = Predictions::new(&bags, None).unwrap().with_rows("score", vec![]).unwrap_err();
    assert_eq!(error.to_string(), "score: has 0 values, expected one for each of 3 rows");
}
