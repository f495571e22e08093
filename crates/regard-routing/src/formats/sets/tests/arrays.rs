use std::io::Write;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::written_arrays as written;
use super::*;

fn read(archive: &[u8]) -> Result<InstanceSet> {
    parse(archive, "set.npz".as_ref())
}

fn said(archive: &[u8]) -> String {
    let error = read(archive).map(|set| panic!("read as {set:?}")).unwrap_err();
    assert!(matches!(error, Error::Parse { .. }), "{error:?}");
    let (text, hint) = (error.to_string(), error.hint().unwrap_or(""));
    assert_eq!(text.lines().count(), 1, "{text}");
    format!("{text} | {hint}")
}

/// A `.npy` file with numbers in single precision.
fn array(shape: &str, values: &[f32]) -> Vec<u8> {
    npy("<f4", shape, &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}

fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
}

fn archive(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    archive_with(CompressionMethod::Stored, arrays)
}

fn archive_with(method: CompressionMethod, arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in arrays {
        let options = SimpleFileOptions::default().compression_method(method);
        zip.start_file(format!("{name}.npy"), options).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// One instance: a depot, two customers, and these arrays.
fn with_depot(more: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let places = [("locs", array("(1, 2, 2)", &[0.25, 0.5, 0.75, 1.0])), ("depot", array("(1, 2)", &[0.5, 0.5]))];
    archive(&[&places[..], more].concat())
}

fn places() -> Vec<[f32; 2]> {
    vec![[0.5, 0.5], [0.25, 0.5], [0.75, 1.0]]
}

fn cvrp() -> CvrpEnv {
    CvrpEnv::new(places(), vec![0.0, 3.0, 9.0], 30.0)
}

fn read_cvrp(archive: &[u8]) -> Vec<CvrpEnv> {
    read(archive).unwrap().instances().unwrap()
}

#[test]
fn archives_of_numpy_are_read() {
    let tsp = TspEnv::new(vec![[0.25, 0.5], [0.75, 1.0]]);
    assert_eq!(read(written::TSP).unwrap().instances::<TspEnv>().unwrap(), [tsp]);
    assert_eq!(read_cvrp(written::CVRP_COMPRESSED), [cvrp()]);
    assert!(said(written::OBJECTS).contains("field `locs`: holds Python objects, expected numbers"));
}

#[test]
fn numbers_of_every_type_are_read() {
    let integers = |width: usize| [3u8, 9].map(|v| [&[v][..], &vec![0; width - 1]].concat()).concat();
    let doubles = [3.0f64, 9.0].map(f64::to_le_bytes).concat();
    for (descr, data) in [("<i4", integers(4)), ("<i8", integers(8)), ("<f8", doubles)] {
        let demand = npy(descr, "(1, 2)", &data);
        assert_eq!(read_cvrp(&with_depot(&[("demand", demand), ("capacity", array("(1,)", &[30.0]))])), [cvrp()]);
    }
}

#[test]
fn the_depot_may_be_the_first_place() {
    let locs = array("(1, 3, 2)", &[0.5, 0.5, 0.25, 0.5, 0.75, 1.0]);
    for demand in [array("(1, 2)", &[3.0, 9.0]), array("(1, 3)", &[0.0, 3.0, 9.0])] {
        let capacity = ("vehicle_capacity", array("(1, 1)", &[30.0]));
        assert_eq!(read_cvrp(&archive(&[("loc", locs.clone()), ("demand", demand), capacity])), [cvrp()]);
    }
    let demand = ("demand", array("(1, 3)", &[1.0, 3.0, 9.0]));
    let text = said(&archive(&[("locs", locs), demand, ("capacity", array("(1,)", &[30.0]))]));
    assert!(text.contains("field `instance 1`: `demand` of the depot is 1, expected 0"), "{text}");
}

#[test]
fn shares_of_the_capacity_become_goods() {
    let demand = ("demand", array("(1, 2)", &[3.0 / 30.0, 9.0 / 30.0]));
    let set = with_depot(&[
        demand.clone(),
        ("capacity", array("()", &[30.0])),
        ("vehicle_capacity", array("(1, 1)", &[1.0])),
    ]);
    assert_eq!(read_cvrp(&set), [cvrp()]);
    let text = said(&with_depot(&[demand, ("vehicle_capacity", array("(1, 1)", &[1.0]))]));
    assert!(text.contains("demand 0.1") && text.contains("(shares of the capacity are read)"), "{text}");
}

#[test]
fn orienteering_and_prize_collecting_sets() {
    let set = with_depot(&[("prize", array("(1, 2)", &[0.5, 1.0])), ("max_length", array("(1,)", &[2.0]))]);
    let expected = OpEnv::new(places(), vec![0.0, 0.5, 1.0], 2.0);
    assert_eq!(read(&set).unwrap().instances::<OpEnv>().unwrap(), [expected]);
    let expected =
        |real: [f64; 3]| [SpctspEnv::new(places(), vec![0.0, 0.5, 1.0], real.to_vec(), vec![0.0, 0.125, 0.25])];
    let penalty = ("penalty", array("(1, 2)", &[0.125, 0.25]));
    let prizes = ("deterministic_prize", array("(1, 2)", &[0.5, 1.0]));
    let read_collecting = |more: &[_]| read(&with_depot(more)).unwrap().instances::<SpctspEnv>().unwrap();
    assert_eq!(read_collecting(&[penalty.clone(), prizes.clone()]), expected([0.0, 0.5, 1.0]));
    let real = ("stochastic_prize", array("(1, 2)", &[0.75, 1.0]));
    assert_eq!(read_collecting(&[penalty, prizes, real]), expected([0.0, 0.75, 1.0]));
}

#[test]
fn wrong_arrays_are_refused_by_name() {
    let (demand, capacity) = (("demand", array("(1, 2)", &[3.0, 9.0])), ("capacity", array("(1,)", &[30.0])));
    let penalty = ("penalty", array("(1, 2)", &[0.1, 0.1]));
    for (arrays, expected) in [
        (vec![], "has a depot, but none of `demand`, `prize`, `penalty`"),
        (vec![demand.clone()], "has no array `vehicle_capacity`"),
        (vec![demand.clone(), capacity.clone(), penalty.clone()], "has more than one of `demand`, `prize`, `penalty`"),
        (vec![penalty], "has no array `deterministic_prize`"),
        (vec![("prize", array("(1, 2)", &[0.5, 1.0]))], "has no array `max_length`"),
        (vec![("time_windows", array("(1, 2)", &[0.5, 1.0]))], "holds the array `time_windows`, expected some of locs"),
        (vec![("loc", array("(1, 2, 2)", &[0.5; 4]))], "has both `locs` and `loc`"),
        (
            vec![("demand", array("(2, 1)", &[3.0, 9.0])), capacity.clone()],
            "field `demand`: has the shape (2, 1), expected (1, 2)",
        ),
        (
            vec![("demand", array("(1, 3)", &[0.0, 3.0, 9.0])), capacity.clone()],
            "has the shape (1, 3), expected (1, 2)",
        ),
        (
            vec![demand.clone(), ("capacity", array("(2,)", &[30.0; 2]))],
            "field `capacity`: has the shape (2,), expected (1,)",
        ),
        (vec![("demand", array("(1, 2)", &[-3.0, 9.0])), capacity.clone()], "demand -3 of customer 1"),
        (
            vec![("demand", array("(1, 2)", &[3.0, 31.0])), capacity.clone()],
            "demand 31 of customer 2 is above the capacity, 30",
        ),
        (vec![("demand", array("(1, 2)", &[f32::NAN, 3.0])), capacity], "demand NaN of customer 1"),
        (vec![demand, ("capacity", array("(1,)", &[f32::INFINITY]))], "capacity inf"),
    ] {
        let text = said(&with_depot(&arrays));
        assert!(text.contains(expected), "{text}\n  without {expected}");
    }
}

#[test]
fn wrong_places_are_refused() {
    for (locs, expected) in [
        (array("(1, 4)", &[0.5; 4]), "field `locs`: has the shape (1, 4), expected (instances, nodes, 2)"),
        (array("(1, 1, 3)", &[0.5; 3]), "has the shape (1, 1, 3)"),
        (array("(0, 2, 2)", &[]), "expected at least one instance of at least one node"),
        (array("(9999999999, 0, 2)", &[]), "expected at least one instance of at least one node"),
        (array("(1, 1, 2)", &[0.5, f32::NAN]), "field `instance 1`: coordinate NaN of node 0, expected 0 to 1"),
        (array("(1, 1, 2)", &[0.5, 100.0]), "coordinate 100 of node 0"),
        (array("(1, 2, 2)", &[0.5; 3]), "has 12 bytes of numbers, which is not what its shape (1, 2, 2) takes"),
        (array("(4294967296, 4294967296, 2)", &[0.5; 2]), "which is not what its shape"),
        (b"(1, 2, 2)".to_vec(), "is not a numpy array"),
        (b"\x93NUMPY\x01".to_vec(), "ends within its header"),
        (b"\x93NUMPY\x01\x00\xff\xff{}".to_vec(), "ends within its header"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}".to_vec(), "ends within its header"),
        (b"\x93NUMPY\x09\x00\x00\x00".to_vec(), "has the array format 9"),
    ] {
        let text = said(&archive(&[("locs", locs)]));
        assert!(text.contains(expected), "{text}\n  without {expected}");
    }
    let depot = archive(&[("locs", array("(1, 1, 2)", &[0.5; 2])), ("depot", array("(2,)", &[0.5; 2]))]);
    assert!(said(&depot).contains("field `depot`: has the shape (2,), expected (1, 2)"));
    assert!(said(&archive(&[])).contains("has no array `locs`"));
}

#[test]
fn what_unpacks_to_far_more_is_refused() {
    let bomb = array("(1, 4000000, 2)", &vec![0.5; 8_000_000]);
    let archive = archive_with(CompressionMethod::Deflated, &[("locs", bomb)]);
    assert!(archive.len() * 64 + (1 << 20) < 32_000_000, "{}", archive.len());
    assert!(said(&archive).contains("unpacks to more than 64 times its size"), "{}", said(&archive));
}

/// Writes another unpacked size of the first member into the archive's directory.
fn stating(mut archive: Vec<u8>, size: u32) -> Vec<u8> {
    let at = archive.windows(4).position(|w| w == b"PK\x01\x02").unwrap() + 24;
    archive[at..at + 4].copy_from_slice(&size.to_le_bytes());
    archive
}

#[test]
fn a_wrong_size_is_refused() {
    let zeros = archive_with(CompressionMethod::Deflated, &[("locs", array("(1, 100000, 2)", &vec![0.0; 200_000]))]);
    for size in [10, 900_000] {
        let text = said(&stating(zeros.clone(), size));
        assert!(text.contains("field `locs`: ") && text.contains("unpack"), "{text}");
    }
}

#[test]
fn cut_and_damaged_archives_never_panic() {
    for archive in [written::TSP, written::CVRP_COMPRESSED] {
        for at in 0..archive.len() {
            assert!(read(&archive[..at]).is_err(), "{at}");
            for byte in [0, 1, 9, b'P', 0x7f, 0xff] {
                let mut damaged = archive.to_vec();
                damaged[at] = byte;
                let _ = read(&damaged);
            }
        }
    }
}

#[test]
fn files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.npz");
    std::fs::write(&path, written::TSP).unwrap();
    assert_eq!(super::super::read(&path).unwrap(), read(written::TSP).unwrap());
    assert!(matches!(super::super::read(folder.path().join("none.npz")), Err(Error::Io { .. })));
}
