//! Tables as people have them, and what is said about them.

use super::*;
use crate::problems::cvrp::Cvrp;
use crate::problems::cvrptw::Cvrptw;

fn with(text: &str, options: &TableOptions) -> Result<(Instance, Notes)> {
    parse_instance(text, Path::new("t.csv"), options)
}

fn capacity(value: f64) -> TableOptions {
    TableOptions { values: Options::default().with("capacity", Some(value)), ..TableOptions::default() }
}

fn columns(texts: &[&str]) -> Vec<ColumnRole> {
    texts.iter().map(|text| ColumnRole::parse(text).unwrap()).collect()
}

/// The routes of a table of Germany, with what Excel writes.
const GERMAN: &str = "Kunde;Stra\u{df}e;Breite;L\u{e4}nge;Gewicht (kg);von\n\
    Lager;Hauptstr. 1;48,14;11,58;;\n\
    M\u{fc}ller;Ring 2;48,9;11,1;1.250;8:00\n\
    ;;;;;\n\
    Maier;Weg 3;48,2;12,05;12,5;\n";

#[test]
fn german_headers_and_decimal_commas_are_read_and_said() {
    let (instance, notes) = with(GERMAN, &capacity(2000.0)).unwrap();
    let found = instance.downcast_ref::<Cvrptw>().unwrap();
    assert_eq!(found.routing().demands(), [0.0, 1250.0, 12.5]);
    assert_eq!(found.windows().ready, [0.0, 480.0, 0.0]);
    assert_eq!(instance.sites().ids(), ["Lager", "M\u{fc}ller", "Maier"]);
    assert_eq!(instance.sites().coordinates()[1], [48.9, 11.1, 0.0]);
    let said = [
        "column `Breite` is read as `lat` (--column lat=NAME changes it)",
        "column `L\u{e4}nge` is read as `lon` (--column lon=NAME changes it)",
        "column `Gewicht (kg)` is read as `demand` (--column demand=NAME changes it)",
        "column `von` is read as `ready` (--column ready=NAME changes it)",
        "column `Kunde` is read as `id` (--column id=NAME changes it)",
        "skipped 1 row without values (line 4)",
        "column `von`: `8:00` is read as 480 minutes",
        "column `Breite`: `48,14` is read as 48.14 (--decimal point changes it)",
        "column `L\u{e4}nge`: `11,58` is read as 11.58 (--decimal point changes it)",
        "column `Gewicht (kg)`: `12,5` is read as 12.5 (--decimal point changes it)",
        "columns not used: `Stra\u{df}e` (--column ROLE=NAME gives one a role)",
    ];
    assert_eq!(notes.texts(), said);
}

#[test]
fn times_of_day_without_a_colon_are_said() {
    let table = |ready: &str| format!("id,x,y,demand,ready,due\nd,0,0,,{ready},2200\nc,3,3,1,1000,1200\n");
    let said = |ready: &str| {
        let notes = with(&table(ready), &capacity(10.0)).unwrap().1;
        notes.texts().iter().any(|note| note.contains("is read as the number 600; as a time of day it is `06:00`"))
    };
    assert!(said("0600") && !said("600") && !said("0"));
}

#[test]
fn words_for_amounts_count_where_an_option_needs_them() {
    let text = "name,x,y,Weight\na,0,0,\nb,1,1,5\n";
    let (instance, notes) = with(text, &TableOptions::default()).unwrap();
    assert_eq!(instance.problem(), "tsp");
    assert_eq!(notes.texts(), ["column `Weight` may be `demand`; it is used with --capacity"]);
    assert_eq!(with(text, &capacity(9.0)).unwrap().0.problem(), "cvrp");
    let options = TableOptions { columns: columns(&["demand=weight"]), ..capacity(9.0) };
    let (instance, notes) = with(text, &options).unwrap();
    assert_eq!((instance.problem(), notes.texts().len()), ("cvrp", 0));
    let values = Options::default().with("max_length", Some(9.0));
    let options = TableOptions { values, ..TableOptions::default() };
    assert_eq!(with("x,y,Wert\n0,0,0\n1,1,3\n", &options).unwrap().0.problem(), "op");
    let values = Options::default().with("required_prize", Some(1.0));
    let options = TableOptions { values, ..TableOptions::default() };
    assert_eq!(with("x,y,value,Strafe\n0,0,0,0\n1,1,3,1\n", &options).unwrap().0.problem(), "pctsp");
}

#[test]
fn misspelt_headers_are_found_and_said() {
    let (instance, notes) = with("id,lattitude,longtitude\na,48,11\nb,49,12\n", &TableOptions::default()).unwrap();
    assert_eq!(instance.sites().unit(), "km");
    assert_eq!(notes.texts()[0], "column `lattitude` is read as `lat` (--column lat=NAME changes it)");
    let (instance, _) = with("id,x,y,demmand\na,0,0,\nb,1,1,2\n", &capacity(3.0)).unwrap();
    assert_eq!(instance.problem(), "cvrp");
}

#[test]
fn columns_are_named_and_left_out() {
    let text = "code,x,y,lat,lon,demand,Firma\n7,1,2,48,11,3,A\n8,3,4,49,12,4,B\n";
    let options = TableOptions { columns: columns(&["lat=", "demand=", "name=Firma"]), ..TableOptions::default() };
    let (instance, _) = with(text, &options).unwrap();
    assert_eq!((instance.problem(), instance.sites().unit()), ("tsp", ""));
    assert_eq!((instance.sites().label(1), &*instance.sites().ids()[1]), (Some("B"), "8"));
    let said = |texts: &[&str]| {
        let options = TableOptions { columns: columns(texts), ..TableOptions::default() };
        let error = with(text, &options).unwrap_err();
        format!("{error}; {}", error.hint().unwrap_or_default())
    };
    assert_eq!(
        said(&["x=", "demand=demnd"]),
        "t.csv:1: has no column `demnd` for `demand`; did you mean `--column demand=demand`?"
    );
    assert!(said(&["x=", "x=y"]).contains("`x` is given twice"));
    for (text, expected) in
        [("demand", "expected ROLE=NAME"), ("weight=Weight", "no role `weight`; roles are id, name")]
    {
        assert!(ColumnRole::parse(text).unwrap_err().contains(expected), "{text}");
    }
}

#[test]
fn thousands_and_decimals_follow_their_column_and_table() {
    let of = |rows: &str, decimal| {
        let options = TableOptions { decimal, ..capacity(1e9) };
        let (instance, _) = with(&format!("x;y;demand\n0;0;\n{rows}"), &options).unwrap();
        instance.downcast_ref::<Cvrp>().unwrap().demands()[1..].to_vec()
    };
    assert_eq!(of("1;1;1,250\n", None), [1.25]);
    assert_eq!(of("1;1;1,250\n", Some(Decimal::Point)), [1250.0]);
    assert_eq!(of("1;1;1.250\n", None), [1.25]);
    assert_eq!(of("1;1;1.250\n", Some(Decimal::Comma)), [1250.0]);
    assert_eq!(of("1;1,5;1.250\n", None), [1250.0]);
    assert_eq!(of("1;1;1.250\n1;2;0.5\n", None), [1.25, 0.5]);
    assert_eq!(of("1;1;1 250,5\n", None), [1250.5]);
    let text = "x,y,demand\n0,0,\n1,1,\"1,250\"\n";
    let (instance, notes) = with(text, &capacity(1e4)).unwrap();
    assert_eq!(instance.downcast_ref::<Cvrp>().unwrap().demands()[1], 1250.0);
    assert_eq!(notes.texts(), ["column `demand`: `1,250` is read as 1250 (--decimal comma changes it)"]);
    let (instance, _) = with("lat;lon\n48,137;11,575\n49,1;12\n", &TableOptions::default()).unwrap();
    assert_eq!(instance.sites().coordinates()[0], [48.137, 11.575, 0.0]);
}

#[test]
fn rows_of_one_id_are_stops_one_stop_or_an_error() {
    let text = "name,x,y,demand\nd,0,0,\na,1,1,2\nb,3,3,1\na,1,1,4\n";
    let of = |duplicates| {
        let options = TableOptions { duplicates, ..capacity(9.0) };
        let (instance, notes) = with(text, &options).unwrap();
        let demands = instance.downcast_ref::<Cvrp>().unwrap().demands().to_vec();
        (instance.sites().ids().to_vec(), demands, notes.texts().join("\n"))
    };
    let (ids, demands, said) = of(None);
    assert_eq!((ids, demands), (["d", "a", "b", "a#2"].map(String::from).to_vec(), vec![0.0, 2.0, 1.0, 4.0]));
    assert!(said.starts_with("1 row repeats an id (`a` on line 5): they are stops of their own"), "{said}");
    assert_eq!(of(Some(Duplicates::Sum)).1, [0.0, 6.0, 1.0]);
    assert_eq!(of(Some(Duplicates::First)).1, [0.0, 2.0, 1.0]);
    assert_eq!(of(Some(Duplicates::Last)).1, [0.0, 4.0, 1.0]);
    let elsewhere = text.replace("a,1,1,4", "a,2,1,4");
    let error = with(&elsewhere, &capacity(9.0)).unwrap_err();
    assert_eq!(error.to_string(), "t.csv:5: field `name`: `a` occurs a second time, first on line 3");
    assert!(error.hint().unwrap().contains("--duplicates"));
    let keep = TableOptions { duplicates: Some(Duplicates::Keep), ..capacity(9.0) };
    assert_eq!(with(&elsewhere, &keep).unwrap().0.sites().len(), 4);
    let error = TableOptions { duplicates: Some(Duplicates::Error), ..capacity(9.0) };
    assert!(with(text, &error).is_err());
    let clash = "name,x,y\na#2,0,0\na,1,1\na,1,1\n";
    assert!(with(clash, &TableOptions::default()).unwrap_err().to_string().contains("`a#2` occurs a second time"));
}

#[test]
fn rows_that_are_one_stop_have_the_same_times() {
    let of = |again: &str, duplicates| {
        let text = format!("id,x,y,demand,due,service\nd,0,0,,,\na,1,1,2,20,5\na,1,1,{again}\n");
        with(&text, &TableOptions { duplicates: Some(duplicates), ..capacity(9.0) })
    };
    assert_eq!(of("3,20,5", Duplicates::Sum).unwrap().0.sites().len(), 2);
    let elsewhere = "id,x,y,demand,due\nd,0,0,,\na,1,1,2,20\na,9,1,2,20\n";
    let error = with(elsewhere, &TableOptions { duplicates: Some(Duplicates::Sum), ..capacity(9.0) }).unwrap_err();
    let expected = "t.csv:4: field `id`: stands at another place than on line 3, and one stop has one place";
    assert_eq!(error.to_string(), expected);
    let error = of("3,30,5", Duplicates::Sum).unwrap_err();
    assert_eq!(
        error.to_string(),
        "t.csv:4: field `due`: differs from line 3, expected the same in all rows of one stop"
    );
    assert!(error.hint().unwrap().contains("--duplicates keep"));
    assert!(of("3,20,7", Duplicates::Sum).unwrap_err().to_string().contains("field `service`"));
    assert_eq!(of("3,30,5", Duplicates::Keep).unwrap().0.sites().len(), 3);
}

#[test]
fn the_row_of_the_depot_is_not_skipped() {
    let skip = TableOptions { skip_bad: true, ..capacity(9.0) };
    let error = with("id,x,y,demand\ndepot,0.0.1,0,0\na,1,0,0\nb,2,0,5\n", &skip).unwrap_err();
    let expected = "t.csv:2: is the depot and cannot be read; --skip-bad skips other rows alone";
    assert_eq!(error.to_string(), expected);
    let tour = TableOptions { skip_bad: true, ..TableOptions::default() };
    let (instance, _) = with("id,x,y\na,0.0.1,0\nb,1,0\nc,2,0\n", &tour).unwrap();
    assert_eq!(instance.sites().ids(), ["b", "c"]);
}

#[test]
fn times_are_read_in_the_units_of_their_columns() {
    let windows = |text: &str| {
        let (instance, notes) = with(text, &capacity(9.0)).unwrap_or_else(|error| panic!("{error}"));
        let instance = instance.downcast_ref::<Cvrptw>().unwrap();
        let of = |values: &[f64]| values[1];
        let windows = instance.windows();
        ([of(&windows.ready), of(&windows.due), of(&windows.service)], notes)
    };
    let (found, notes) = windows("id,x,y,demand,ready,due,Standzeit (h)\nd,0,0,,6:00,18:00,\na,9,0,2,8:00,9:00,0.5\n");
    assert_eq!(found, [480.0, 540.0, 30.0]);
    assert!(
        notes.texts().iter().any(|note| note == "column `Standzeit (h)`: `0.5` is read as 30 minutes"),
        "{notes:?}"
    );
    let (found, _) =
        windows("# speed: 60\nid,x,y,demand,ready (h),due_h,service_time_sec\nd,0,0,,,,\na,9,0,2,8,9.5,90\n");
    assert_eq!(found, [480.0, 570.0, 1.5]);
    // Hours alone may be those of the distances.
    let (found, notes) = windows("id,x,y,demand,ready (h),due (h)\nd,0,0,,,\na,9,0,2,8,9.5\n");
    assert_eq!(found, [8.0, 9.5, 0.0]);
    assert!(
        notes.texts().iter().any(|note| note.contains("times are hours, and so are those of driving")),
        "{notes:?}"
    );
    let (found, notes) = windows("id,x,y,demand,ready (min),due\nd,0,0,,,\na,9,0,2,8,9.5\n");
    assert_eq!(found, [8.0, 9.5, 0.0]);
    assert!(!notes.texts().iter().any(|note| note.contains("times are")), "{notes:?}");
    let (found, _) = windows("id,x,y,demand,ready,due\nd,0,0,,,\na,9,0,2,8:30 AM, 12:15 p.m.\n");
    assert_eq!(found, [510.0, 735.0, 0.0]);
}

#[test]
fn times_of_day_without_a_role_are_said() {
    let notes = |text: &str| with(text, &capacity(9.0)).unwrap().1;
    let text = "id,x,y,demand,first visit,last visit\nd,0,0,,6:00,18:00\na,9,0,2,8:00,\n";
    let expected = "routes do not keep times: `first visit`, `last visit` not used; `--column ready=NAME`, `--column \
                    due=NAME`, `--column service=NAME` gives one a role";
    assert!(notes(text).texts().iter().any(|note| note == expected), "{:?}", notes(text));
    let long = "# max_length: 99\nid,x,y,demand,von,bis\nd,0,0,,0,900\na,9,0,2,50,60\n";
    let expected = "routes do not keep times: `von`, `bis` not used; time windows and `max_length` do not go together";
    assert!(notes(long).texts().iter().any(|note| note == expected), "{:?}", notes(long));
}

#[test]
fn comments_that_are_nearly_options_are_said() {
    let rows = "id,x,y,demand,ready,due\nd,0,0,,0,900\na,9,0,2,50,60\n";
    for (comment, meant) in [
        ("vehicle: 1", "did you mean `vehicles: N`?"),
        ("max_vehicles: 1", "did you mean `vehicles: N`?"),
        ("Speed (km/h): 40", "did you mean `speed: N`?"),
        ("servicetime: 5", "did you mean `service_time: N`?"),
        ("max_length: 5", "the table is vehicle routing with time windows (demand, ready, due, service)"),
    ] {
        let (_, notes) = with(&format!("# {comment}\n{rows}"), &capacity(9.0)).unwrap();
        let expected = format!("line 1: `{comment}` is not used: {meant}");
        assert!(notes.texts().contains(&expected), "{notes:?}");
    }
    for comment in ["seed: 5", "customers: 20", "Solomon's R101, best: 1637.7", "vehicles: many"] {
        let read = with(&format!("# {comment}\n{rows}"), &capacity(9.0));
        assert!(
            read.map_or(true, |(_, notes)| notes.texts().iter().all(|note| !note.contains("not used"))),
            "{comment}"
        );
    }
}

#[test]
fn rows_with_plain_numbers_among_times_of_day_can_be_skipped() {
    let text = "id,x,y,demand,ready\nd,0,0,,8:00\na,1,1,2,9\nb,1,1,2,9:00\nc,2,2,1,0\n";
    assert!(with(text, &capacity(9.0)).unwrap_err().to_string().starts_with("t.csv:3: field `ready`: found `9`"));
    let (instance, _) =
        with(text, &TableOptions { skip_bad: true, ..capacity(9.0) }).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(instance.sites().ids(), ["d", "b", "c"]);
}

#[test]
fn fields_that_are_no_times_of_day_are_explained_by_what_they_are() {
    let hint = |field: &str, other: &str| {
        let text = format!("id,x,y,demand,ready\nd,0,0,,{other}\na,1,1,2,{field}\n");
        let error = with(&text, &capacity(9.0)).unwrap_err();
        assert!(error.to_string().contains(&format!("field `ready`: found `{field}`, expected a ")), "{error}");
        error.hint().unwrap().to_owned()
    };
    let leave_out = "`--column ready=` leaves the column out";
    for other in ["8:00", ""] {
        for field in ["6:75", "-6:00", "49:00", "13:00 PM", "2026-03-01 08:00"] {
            let expected = format!(
                "a time of day is H:MM or H:MM:SS, also with AM or PM, without a date; hours go to 48, as 30:00 is 6:00 \
                 of the next day; {leave_out}"
            );
            assert!(hint(field, other).starts_with(&expected), "{field} {other}: {}", hint(field, other));
        }
    }
    for field in ["9", "9.5"] {
        let expected = format!("a plain number may be hours or minutes; {leave_out}");
        assert!(hint(field, "8:00").starts_with(&expected), "{field}: {}", hint(field, "8:00"));
    }
    assert!(hint("soon", "8:00").starts_with(leave_out), "{}", hint("soon", "8:00"));
}

#[test]
fn words_for_ids_refuse_no_table() {
    let (instance, _) = with("x,y,Ort\n0,0,Ulm\n1,1,Ulm\n", &TableOptions::default()).unwrap();
    assert_eq!(instance.sites().ids(), ["Ulm", "Ulm#2"]);
    let (instance, notes) = with("x,y,Ort\n0,0,Ulm\n1,1,\n", &TableOptions::default()).unwrap();
    assert_eq!(instance.sites().ids(), ["1", "2"]);
    assert_eq!(notes.texts(), ["columns not used: `Ort` (--column ROLE=NAME gives one a role)"]);
}

#[test]
fn bad_rows_are_skipped_where_that_is_allowed() {
    let text = "id,x,y,demand\nd,0,0,\na,1,,2\nb,3,3,1\nc,3,1,\nSum,,,3\n";
    let error = with(text, &capacity(9.0)).unwrap_err();
    assert!(error.hint().unwrap().contains("--skip-bad"), "{error}");
    let (instance, notes) = with(text, &TableOptions { skip_bad: true, ..capacity(9.0) }).unwrap();
    assert_eq!(instance.sites().ids(), ["d", "b"]);
    assert_eq!(notes.texts(), ["skipped 3 rows that cannot be read (--skip-bad): lines 3, 5, 6"]);
}

#[test]
fn the_depot_is_named() {
    let text = "id,x,y,demand\na,1,1,2\nd,0,0,\n";
    let options = TableOptions { depot: Some("d".into()), ..capacity(9.0) };
    assert_eq!(with(text, &options).unwrap().0.sites().ids(), ["d", "a"]);
    let error = with(text, &capacity(9.0)).unwrap_err();
    assert!(error.hint().unwrap().contains("--depot"), "{error}");
    let error = with(text, &TableOptions { depot: Some("e".into()), ..capacity(9.0) }).unwrap_err();
    assert!(error.to_string().contains("no row with the id `e`"), "{error}");
}

#[test]
fn options_that_cannot_apply_are_refused() {
    let value =
        |name: &str| TableOptions { values: Options::default().with(name, Some(3.0)), ..TableOptions::default() };
    let depot = TableOptions { depot: Some("1".into()), ..TableOptions::default() };
    for (text, options, expected, hint) in [
        ("x,y\n1,2\n", value("capacity"), "--capacity does not apply: the table is one tour", "`--column demand=NAME`"),
        ("x,y\n1,2\n", value("required_prize"), "--required-prize does not apply", "`--column penalty=NAME`"),
        ("x,y\n1,2\n", value("max_length"), "--max-length does not apply", "`--column"),
        ("x,y\n1,2\n", depot, "--depot does not apply", "leave it out"),
        (
            "# capacity: 9\nx,y,demand\n1,2,\n",
            value("required_prize"),
            "--required-prize does not apply",
            "leave it out",
        ),
        ("# capacity: 9\nx,y,demand,due\n1,2,,\n", value("max_length"), "--max-length does not apply", "leave it out"),
        ("id,x,y,pickup\na,1,2,\n", value("capacity"), "--capacity does not apply", "leave it out"),
    ] {
        let error = with(text, &options).unwrap_err();
        assert!(
            error.to_string().contains(expected) && error.hint().unwrap().contains(hint),
            "{error}: {:?}",
            error.hint()
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tsp");
    std::fs::write(
        &path,
        "TYPE: TSP\nDIMENSION: 1\nEDGE_WEIGHT_TYPE: EUC_2D\nVEHICLES: 1\nNODE_COORD_SECTION\n1 0 0\n",
    )
    .unwrap();
    let error = crate::formats::read_instance_with(&path, &value("capacity")).unwrap_err();
    assert!(error.to_string().contains("--capacity is for tables"), "{error}");
    let (_, notes) = crate::formats::read_instance_with(&path, &TableOptions::default()).unwrap();
    assert_eq!(notes.texts(), ["line 4: `VEHICLES: 1` is not used: the number of vehicles is not limited"]);
    let limited = std::fs::read_to_string(&path).unwrap().replace("VEHICLES: 1", "DISTANCE: 9");
    std::fs::write(&path, limited).unwrap();
    let (_, notes) = crate::formats::read_instance_with(&path, &TableOptions::default()).unwrap();
    assert_eq!(notes.texts(), ["line 4: `DISTANCE: 9` is not used"]);
}

#[test]
fn comments_that_have_no_effect_are_said() {
    let text = "# capacity: 5\n# vehicles: 2\nx,y\n1,2\n";
    let (_, notes) = with(text, &TableOptions::default()).unwrap();
    assert_eq!(
        notes.texts(),
        [
            "line 1: `capacity: 5` is not used: the table is one tour through all nodes, without amounts",
            "line 2: `vehicles: 2` is not used: the number of vehicles is not limited",
        ]
    );
}

#[test]
fn files_have_the_encodings_of_office_programs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    let read = |bytes: Vec<u8>| {
        std::fs::write(&path, bytes).unwrap();
        let (instance, notes) = crate::formats::read_instance_with(&path, &capacity(2000.0)).unwrap();
        (instance.sites().ids()[1].clone(), notes.texts().iter().filter(|text| text.contains("Windows-1252")).count())
    };
    let latin: Vec<u8> = GERMAN.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    let wide: Vec<u8> = format!("\u{feff}{GERMAN}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(read(GERMAN.as_bytes().to_vec()), ("M\u{fc}ller".to_owned(), 0));
    assert_eq!(read(latin), ("M\u{fc}ller".to_owned(), 1));
    assert_eq!(read(wide), ("M\u{fc}ller".to_owned(), 0));
    let unmarked: Vec<u8> = GERMAN.encode_utf16().flat_map(u16::to_be_bytes).collect();
    assert_eq!(read(unmarked), ("M\u{fc}ller".to_owned(), 0));
    let (_, notes) = crate::formats::read_instance_with(&path, &capacity(2000.0)).unwrap();
    assert!(notes.texts().iter().any(|text| text.starts_with("is read as UTF-16")), "{notes:?}");
}

#[test]
fn rows_that_name_skipped_rows_are_skipped() {
    let text = "id,x,y,pickup\nhub,0,0,\nshop,3,0,\nbar,0,1,shop\nkiosk,3,1,nowhere\nfar,abc,1,\ninn,2,2,far\n\
                pub,1,2,inn\nshop,3,0,\nmill,5,5,shop#2\ntwice,1,1,shop#3\n";
    let skipping = TableOptions { skip_bad: true, ..TableOptions::default() };
    let (instance, notes) = with(text, &skipping).unwrap();
    assert_eq!(instance.sites().ids(), ["hub", "shop", "bar", "shop#2", "mill"]);
    assert_eq!(notes.texts()[0], "skipped 5 rows that cannot be read (--skip-bad): lines 5, 6, 7, 8, 11");
    let numbered = "x,y,pickup\n0,0,\n1,1,\nabc,1,\n2,2,2\n";
    let error = with(numbered, &skipping).unwrap_err().to_string();
    assert!(error.starts_with("t.csv:4: cannot be skipped"), "{error}");
}

#[test]
fn many_bad_rows_take_time_by_their_number() {
    let rows: String = (0..100_000).map(|row| format!("{row},{}\n", if row % 2 == 0 { "1" } else { "?" })).collect();
    let begun = std::time::Instant::now();
    let skipping = TableOptions { skip_bad: true, ..TableOptions::default() };
    let (instance, _) = with(&format!("x,y\n{rows}"), &skipping).unwrap();
    assert_eq!(instance.sites().len(), 50_000);
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
}

#[test]
fn numbers_without_an_option_are_named_by_their_comment() {
    let speed = TableOptions { values: Options::default().with("speed", Some(30.0)), ..TableOptions::default() };
    let error = with("x,y\n0,0\n1,1\n", &speed).unwrap_err().to_string();
    assert!(error.contains("`# speed: N` does not apply"), "{error}");
    let error = with("x,y\n0,0\n1,1\n", &capacity(9.0)).unwrap_err().to_string();
    assert!(error.contains("--capacity does not apply"), "{error}");
    assert_eq!(speed.first_given().as_deref(), Some("`# speed: N`"));
}
