//! Pickles that are damaged, or made to do harm.

use super::{read, said, written};

#[test]
fn what_could_call_python_is_refused_by_name() {
    for pickle in written::CALL {
        let text = said(pickle);
        assert!(text.contains("would call the function `posix.system` of Python, which is refused"), "{text}");
        assert!(text.contains("do not open this file in Python"), "{text}");
    }
    for (pickle, name) in [
        (written::NUMPY_SCALAR, "numpy._core.multiarray.scalar"),
        (written::NUMPY_ARRAY, "numpy._core.numeric._frombuffer"),
        (written::NUMPY_ARRAY_2, "numpy._core.multiarray._reconstruct"),
    ] {
        let text = said(pickle);
        assert!(text.contains(&format!("would call the function `{name}`")) && text.contains(".tolist()"), "{text}");
    }
    for (pickle, name) in [
        (&b"(I1\nios\nsystem\n."[..], "`os.system`"),
        (b"I1\nI1\nR.", "REDUCE"),
        (b"I1\nI1\nb.", "BUILD"),
        (b"(I1\no.", "OBJ"),
        (b"I1\nI1\n\x81.", "NEWOBJ"),
        (b"I1\nI1\nI1\n\x92.", "NEWOBJ_EX"),
        (b"\x82\x01.", "EXT"),
        (b"Pname\n.", "PERSID"),
        (b"I1\nQ.", "PERSID"),
    ] {
        let text = said(pickle);
        assert!(text.contains("would call") && text.contains(name), "{text}");
    }
}

#[test]
fn other_values_are_refused() {
    for (pickle, expected) in [
        (written::NONE, "holds None, expected lists, tuples and numbers"),
        (written::TRUE, "holds True or False"),
        (written::TRUE_0, "holds True or False"),
        (written::DICT, "holds a dict"),
        (written::SET, "holds a set"),
        (written::BYTES, "holds bytes"),
        (written::TEXT, "found the text `a`"),
        (written::WIDE, "an integer of 9 bytes, expected at most 8"),
    ] {
        assert!(said(pickle).contains(expected), "{}", said(pickle));
    }
}

#[test]
fn damaged_pickles_are_refused_at_their_byte() {
    for (pickle, expected) in [
        (&b""[..], "set.pkl: field `byte 0`: the file ends 1 bytes too early"),
        (b"]", "field `byte 1`: the file ends 1 bytes too early"),
        (b"locs = [[0.1, 0.2]]", "asks for a mark that was never set"),
        (b"\xff\xfe", "0xff is not an opcode of a pickle"),
        (b"\x80\x06].", "pickle protocol 6, expected 0 to 5"),
        (b".", "takes a value from an empty stack"),
        (b"I1\n(.", "takes a value from an empty stack"),
        (b"I1\n\x87.", "takes a value from an empty stack"),
        (b"I1\n(\x85.", "takes a value from an empty stack"),
        (b"I1\n(ae.", "takes a value from an empty stack"),
        (b"I1\nI2\na.", "appends to something that is not a list"),
        (b"h\x05.", "asks for memo 5, which was never stored"),
        (b"gx\n.", "the number of a memo is not an integer"),
        (b"F1,5\n.", "found `1,5`, expected a number"),
        (b"I1", "the file ends within a line"),
        (b"I\xff\n.", "a line is not UTF-8"),
        (b"T\xff\xff\xff\xffabc.", "the file ends 4294967291 bytes too early"),
        (b"\x8d\xff\xff\xff\xff\xff\xff\xff\xffabc.", "bytes too early"),
        (b"\x8b\xff\xff\xff\x7f.", "bytes too early"),
        (b"]..", "1 bytes follow the end of the pickle"),
    ] {
        assert!(said(pickle).contains(expected), "{pickle:?}: {}", said(pickle));
    }
}

#[test]
fn deep_nesting_and_lists_within_themselves_are_refused() {
    let deep = [&vec![b']'; 1_000_000][..], &vec![b'a'; 999_999], b"."].concat();
    assert!(said(&deep).contains("a point has 1 coordinates, expected 2"), "{}", said(&deep));
    let deep = [&b")"[..], &vec![0x85; 1_000_000], b"."].concat();
    assert!(said(&deep).contains("a point has 1 coordinates"), "{}", said(&deep));
    assert!(said(b"]q\0h\0a.").contains("instance 1"), "{}", said(b"]q\0h\0a."));
}

#[test]
fn repeated_lists_cannot_fill_the_memory() {
    // 100,000 points once, and the same instance two bytes at a time.
    let points = [&b"]("[..], &b"]q\x01(G\0\0\0\0\0\0\0\0K\x01e".repeat(100_000), b"eq\0"].concat();
    let pickle = [&b"]("[..], &points, &b"h\0".repeat(100_000), b"e."].concat();
    assert!(said(&pickle).contains("repeats its lists too often for a file of its size"), "{}", said(&pickle));
    // A depot that instances share is no harm.
    let pickle = [&b"](](]q\0(K\x01K\x00e"[..], &b"h\0".repeat(50), b"ee."].concat();
    assert_eq!(read(&pickle).unwrap().len(), 1);
}

#[test]
fn cut_and_damaged_pickles_never_panic() {
    for pickle in [written::TSP[0], written::TSP[2], written::CVRP[2], written::PRIZE_COLLECTING, written::NUMPY_SCALAR]
    {
        for at in 0..pickle.len() {
            assert!(read(&pickle[..at]).is_err(), "{at} of {pickle:?}");
            for byte in [0, 1, b'.', b'(', b'a', b'e', b't', b'h', b'q', 0x85, 0x94, 0xff] {
                let mut damaged = pickle.to_vec();
                damaged[at] = byte;
                let _ = read(&damaged);
            }
        }
    }
}
