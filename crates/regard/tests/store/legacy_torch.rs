//! Files of `torch.save`: what is read, and what is refused with which words.

use std::path::Path;

use crate::checkpoint::{archive, dict, head, int, legacy, pickle, raw, tensor, text};
use proptest::prelude::*;
use regard::store::legacy_torch::parse;

/// A file with one tensor `w` over the storage `0` of floats 0, 1, 2, …
fn one(count: usize, offset: usize, shape: &[usize], stride: &[usize]) -> Vec<u8> {
    let values: Vec<f32> = (0..count).map(|value| value as f32).collect();
    let object = dict(&[("w", tensor("0", "FloatStorage", count, offset, shape, stride))]);
    legacy(&object, &[("0", count, raw(&values))])
}

fn read(bytes: &[u8]) -> Vec<f32> {
    parse(bytes, Path::new("a.pt")).unwrap()["w"].data.clone()
}

fn message(bytes: &[u8]) -> String {
    parse(bytes, Path::new("a.pt")).unwrap_err().to_string()
}

#[test]
fn strides_and_offsets_are_honoured() {
    assert_eq!(read(&one(6, 0, &[2, 3], &[3, 1])), [0., 1., 2., 3., 4., 5.]);
    assert_eq!(read(&one(6, 0, &[3, 2], &[1, 3])), [0., 3., 1., 4., 2., 5.]);
    assert_eq!(read(&one(6, 2, &[2], &[3])), [2., 5.]);
    assert_eq!(read(&one(2, 1, &[3], &[0])), [1., 1., 1.]);
    assert_eq!(read(&one(2, 1, &[], &[])), [1.]);
    assert!(read(&one(2, 0, &[0, 3], &[3, 1])).is_empty());
}

#[test]
fn tensors_may_share_a_storage() {
    let part = |offset| tensor("0", "FloatStorage", 4, offset, &[2], &[1]);
    let object = dict(&[("a", part(0)), ("w", part(1))]);
    let weights = parse(&legacy(&object, &[("0", 4, raw(&[1., 2., 3., 4.]))]), Path::new("a.pt")).unwrap();
    assert_eq!((&weights["a"].data[..], &weights["w"].data[..]), (&[1., 2.][..], &[2., 3.][..]));
}

#[test]
fn other_types_become_f32() {
    for (kind, bytes, expected) in [
        ("DoubleStorage", 2.5f64.to_le_bytes().to_vec(), 2.5),
        ("HalfStorage", 0x4100u16.to_le_bytes().to_vec(), 2.5),
        ("BFloat16Storage", 0x4020u16.to_le_bytes().to_vec(), 2.5),
        ("LongStorage", (-7i64).to_le_bytes().to_vec(), -7.0),
        ("IntStorage", 9i32.to_le_bytes().to_vec(), 9.0),
        ("ShortStorage", (-3i16).to_le_bytes().to_vec(), -3.0),
        ("CharStorage", vec![0xff], -1.0),
        ("ByteStorage", vec![0xff], 255.0),
        ("BoolStorage", vec![1], 1.0),
    ] {
        let object = dict(&[("w", tensor("0", kind, 1, 0, &[1], &[1]))]);
        assert_eq!(read(&legacy(&object, &[("0", 1, bytes)])), [expected], "{kind}");
    }
}

#[test]
fn the_zip_layout_is_read_too() {
    let object = pickle(&dict(&[("w", tensor("0", "FloatStorage", 2, 0, &[2], &[1]))]));
    let members = [("a/data.pkl", object), ("a/byteorder", b"little".to_vec()), ("a/data/0", raw(&[1.5, 2.5]))];
    assert_eq!(read(&archive(&members)), [1.5, 2.5]);
    let missing = message(&archive(&members[..1]));
    assert!(missing.starts_with("a.pt: member `data/0` of the archive: "), "{missing}");
    let big = [members[0].clone(), ("a/byteorder", b"big".to_vec())];
    assert_eq!(message(&archive(&big)), "a.pt: was written on a big-endian machine, which is not supported");
    let other = message(&archive(&[("readme.txt", vec![])]));
    assert_eq!(other, "a.pt: is a zip archive, but not one of torch.save: it has no `data.pkl`");
}

#[test]
fn a_file_that_asks_for_anything_else_is_refused_by_name() {
    let at = head(true).len() + 2;
    let attack = |body: &[u8]| message(&[head(true), pickle(body)].concat());
    let command = text("rm -rf /");
    let refused =
        |name: &str| format!("a.pt: byte {at}: the file asks for `{name}`, which a weights file has no use for");
    assert_eq!(attack(&[b"cos\nsystem\n(", command.as_slice(), b"tR"].concat()), refused("os.system"));
    assert_eq!(attack(b"cbuiltins\neval\n(X\x01\x00\x00\x001tR"), refused("builtins.eval"));
    assert_eq!(attack(b"ctorch\nload\n"), refused("torch.load"));
    assert_eq!(attack(b"ios\nsystem\n"), refused("os.system"));
    let named = [text("posix"), text("system"), b"\x93".to_vec()].concat();
    assert!(attack(&named).contains("the file asks for `posix.system`"));
    assert!(attack(b"cnumpy\n\x1b[2J\n").contains(r"`numpy.\u{1b}[2J`"));
    assert!(attack(b"}\x81").contains("uses the pickle opcode NEWOBJ"));
    assert!(attack(b"P1\n").contains("uses the pickle opcode PERSID"));
}

#[test]
fn malformed_files_are_refused_with_words() {
    let t = |shape: &[usize], stride: &[usize]| message(&one(4, 0, shape, stride));
    let whole = |bytes: &[u8]| message(bytes);
    let object = |body: &[u8]| message(&legacy(body, &[]));
    let swapped = [head(false), pickle(b"}"), pickle(b"]")].concat();
    let entry = dict(&[("w", tensor("0", "FloatStorage", 4, 0, &[4], &[1]))]);
    let two = dict(&[
        ("w", tensor("0", "FloatStorage", 4, 0, &[4], &[1])),
        ("v", tensor("0", "LongStorage", 4, 0, &[4], &[1])),
    ]);
    for (found, expected) in [
        (whole(b""), "is not a file of torch.save"),
        (whole(b"hello"), "is not a file of torch.save"),
        (whole(b"\x80\x02K\x01."), "is a pickle, but not one of torch.save: the magic number is missing"),
        (whole(b"PK\x03\x04rest"), "is a damaged zip archive"),
        (whole(&swapped), "was written on a big-endian machine (or does not say)"),
        (whole(&head(true)), "the file ends 1 bytes too early"),
        (object(b"}"), "holds no tensors where the weights are expected"),
        (object(b"]"), "holds no dict of tensors"),
        (object(&entry), "w: its storage `0` is missing"),
        (object(&two), "storage `0` is declared twice, differently"),
        (object(b"0"), "takes a value from an empty stack"),
        (object(b"(K\x010000"), "takes a value from an empty stack"),
        (object(b"u"), "asks for a mark that was never set"),
        (object(b"}(K\x01u"), "a dict has a key without a value"),
        (object(b"K\x01K\x02a"), "appends to something that is not a list"),
        (object(b"h\x07"), "asks for memo 7, which was never stored"),
        (object(b"\xff"), "0xff is not an opcode of a pickle: the file is damaged"),
        (object(b"\x80\x09"), "pickle protocol 9, expected 0 to 5"),
        (object(b"I1x\n"), "found `1x`, expected a number"),
        (object(b"X\xff\xff\xff\xff"), "bytes too early"),
        (object(b"\x8d\xff\xff\xff\xff\xff\xff\xff\xff"), "bytes too early"),
        (object(b"X\x01\x00\x00\x00\xff"), "a string is not UTF-8"),
        (object(b"}}R"), "calls something that is not a function"),
        (object(b"ctorch._utils\n_rebuild_tensor\n)R"), "calls RebuildTensor with arguments that do not fit"),
        (object(b")Q"), "a persistent id is not that of a storage"),
        (t(&[5], &[1]), "w: reaches beyond its storage of 4 numbers"),
        (t(&[2, 2], &[1]), "a tensor has as many strides as axes; found another number"),
        (t(&[1_000_000, 1_000_000], &[0, 0]), "w: shape [1000000, 1000000] is too large for this file"),
        (t(&[1; 65], &[1; 65]), "a tensor of 65 axes; at most 64 are read"),
    ] {
        assert!(found.starts_with("a.pt: ") && found.contains(expected), "expected `{expected}`, found `{found}`");
    }
}

#[test]
fn storages_must_hold_what_was_promised() {
    let entry = dict(&[("w", tensor("0", "FloatStorage", 4, 0, &[4], &[1]))]);
    let short = message(&legacy(&entry, &[("0", 4, raw(&[1.0]))]));
    assert!(short.ends_with("storage `0` has 4 numbers; the file ends 4 bytes after its start"), "{short}");
    let other = message(&legacy(&entry, &[("0", 3, raw(&[1.0; 3]))]));
    assert!(other.ends_with("storage `0` begins with a count of 3; 4 was promised"), "{other}");
    let unused = message(&legacy(&entry, &[("1", 4, raw(&[1.0; 4]))]));
    assert!(unused.ends_with("storage `1` is listed, but no tensor lies in it"), "{unused}");
    let huge = dict(&[("w", tensor("0", "FloatStorage", 2_000_000_000, 0, &[4], &[1]))]);
    assert!(message(&legacy(&huge, &[("0", 2_000_000_000, vec![])])).contains("the file ends 0 bytes after"));
}

#[test]
fn values_that_are_not_finite_are_refused_by_the_tensors_name() {
    let entry = dict(&[("w", tensor("0", "FloatStorage", 2, 0, &[2], &[1]))]);
    let found = message(&legacy(&entry, &[("0", 2, raw(&[1.0, f32::NAN]))]));
    assert!(found.ends_with("wrong: w: value 1 is NaN, not a finite number"), "{found}");
}

#[test]
fn deep_nesting_and_self_reference_do_no_harm() {
    // A tuple in a tuple in a tuple …, and a list that holds itself.
    let deep = [&b")"[..], &vec![0x85; 1_000_000]].concat();
    assert!(message(&legacy(&deep, &[])).ends_with("holds no dict of tensors"));
    assert!(message(&legacy(b"]q\x00h\x00a", &[])).ends_with("holds no dict of tensors"));
    let endless = vec![b'N'; 5_000_000];
    assert!(message(&legacy(&endless, &[])).contains("builds more than 4000000 values"));
}

#[test]
fn a_file_cut_anywhere_is_an_error() {
    let bytes = one(6, 0, &[2, 3], &[3, 1]);
    for length in 0..bytes.len() {
        assert!(parse(&bytes[..length], Path::new("a.pt")).is_err(), "{length} bytes");
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&body, Path::new("a.pt"));
        let _ = parse(&legacy(&body, &[]), Path::new("a.pt"));
    }

    #[test]
    fn a_changed_byte_never_panics(at in 0usize..400, byte: u8) {
        let mut bytes = one(6, 0, &[2, 3], &[3, 1]);
        let at = at % bytes.len();
        bytes[at] = byte;
        let _ = parse(&bytes, Path::new("a.pt"));
    }
}

#[test]
fn numbers_of_every_opcode_are_understood() {
    let numbers = [
        b"I5\n".to_vec(),
        b"L5L\n".to_vec(),
        b"K\x05".to_vec(),
        b"M\x05\x00".to_vec(),
        int(5),
        b"\x8a\x01\x05".to_vec(),
        b"\x8b\x01\x00\x00\x00\x05".to_vec(),
    ];
    for number in numbers {
        let mut object = dict(&[("w", tensor("0", "FloatStorage", 5, 0, &[5], &[1]))]);
        let place = object.windows(5).position(|window| window == int(5)).unwrap();
        object.splice(place..place + 5, number);
        assert_eq!(read(&legacy(&object, &[("0", 5, raw(&[1.0; 5]))])), [1.0; 5]);
    }
}
