//! Pickles as Python 3.11's `pickle.dumps` wrote them.

/// Two instances of two points, in protocols 0 to 5.
pub(super) const TSP: [&[u8]; 6] = [
    b"(lp0\n(lp1\n(lp2\nF0.25\naF0.5\naa(lp3\nF0.75\naF1.0\naaa(lp4\n(lp5\nF0.0\naF0.125\naa(lp6\nF0.5\naF0.5\naaa.",
    b"]q\0(]q\x01(]q\x02(G?\xd0\0\0\0\0\0\0G?\xe0\0\0\0\0\0\0e]q\x03(G?\xe8\0\0\0\0\0\0G?\xf0\0\0\0\0\0\0ee]q\x04(]q\
    \x05(G\0\0\0\0\0\0\0\0G?\xc0\0\0\0\0\0\0e]q\x06(G?\xe0\0\0\0\0\0\0G?\xe0\0\0\0\0\0\0eee.",
    b"\x80\x02]q\0(]q\x01(]q\x02(G?\xd0\0\0\0\0\0\0G?\xe0\0\0\0\0\0\0e]q\x03(G?\xe8\0\0\0\0\0\0G?\xf0\0\0\0\0\0\0ee]q\
    \x04(]q\x05(G\0\0\0\0\0\0\0\0G?\xc0\0\0\0\0\0\0e]q\x06(G?\xe0\0\0\0\0\0\0G?\xe0\0\0\0\0\0\0eee.",
    b"\x80\x03]q\0(]q\x01(]q\x02(G?\xd0\0\0\0\0\0\0G?\xe0\0\0\0\0\0\0e]q\x03(G?\xe8\0\0\0\0\0\0G?\xf0\0\0\0\0\0\0ee]q\
    \x04(]q\x05(G\0\0\0\0\0\0\0\0G?\xc0\0\0\0\0\0\0e]q\x06(G?\xe0\0\0\0\0\0\0G?\xe0\0\0\0\0\0\0eee.",
    b"\x80\x04\x95e\0\0\0\0\0\0\0]\x94(]\x94(]\x94(G?\xd0\0\0\0\0\0\0G?\xe0\0\0\0\0\0\0e]\x94(G?\xe8\0\0\0\0\0\0G?\xf0\
    \0\0\0\0\0\0ee]\x94(]\x94(G\0\0\0\0\0\0\0\0G?\xc0\0\0\0\0\0\0e]\x94(G?\xe0\0\0\0\0\0\0G?\xe0\0\0\0\0\0\0eee.",
    b"\x80\x05\x95e\0\0\0\0\0\0\0]\x94(]\x94(]\x94(G?\xd0\0\0\0\0\0\0G?\xe0\0\0\0\0\0\0e]\x94(G?\xe8\0\0\0\0\0\0G?\xf0\
    \0\0\0\0\0\0ee]\x94(]\x94(G\0\0\0\0\0\0\0\0G?\xc0\0\0\0\0\0\0e]\x94(G?\xe0\0\0\0\0\0\0G?\xe0\0\0\0\0\0\0eee.",
];

/// Two instances of two customers, in protocols 0, 2 and 5.
pub(super) const CVRP: [&[u8]; 3] = [
    b"(lp0\n((lp1\nF0.5\naF0.5\na(lp2\n(lp3\nF0.25\naF0.5\naa(lp4\nF0.75\naF1.0\naa(lp5\nI3\naI9\naF30.0\ntp6\na((lp7\
    \nF0.5\naF0.25\na(lp8\n(lp9\nF0.0\naF0.5\naa(lp10\nF1.0\naF1.0\naa(lp11\nI1\naI2\naF30.0\ntp12\na.",
    b"\x80\x02]q\0((]q\x01(G?\xe0\0\0\0\0\0\0G?\xe0\0\0\0\0\0\0e]q\x02(]q\x03(G?\xd0\0\0\0\0\0\0G?\xe0\0\0\0\0\0\0e]q\
    \x04(G?\xe8\0\0\0\0\0\0G?\xf0\0\0\0\0\0\0ee]q\x05(K\x03K\x09eG@>\0\0\0\0\0\0tq\x06(]q\x07(G?\xe0\0\0\0\0\0\0G?\
    \xd0\0\0\0\0\0\0e]q\x08(]q\x09(G\0\0\0\0\0\0\0\0G?\xe0\0\0\0\0\0\0e]q\n(G?\xf0\0\0\0\0\0\0G?\xf0\0\0\0\0\0\0ee]q\
    \x0b(K\x01K\x02eG@>\0\0\0\0\0\0tq\x0ce.",
    b"\x80\x05\x95\xb9\0\0\0\0\0\0\0]\x94((]\x94(G?\xe0\0\0\0\0\0\0G?\xe0\0\0\0\0\0\0e]\x94(]\x94(G?\xd0\0\0\0\0\0\0G?\
    \xe0\0\0\0\0\0\0e]\x94(G?\xe8\0\0\0\0\0\0G?\xf0\0\0\0\0\0\0ee]\x94(K\x03K\x09eG@>\0\0\0\0\0\0t\x94(]\x94(G?\xe0\
    \0\0\0\0\0\0G?\xd0\0\0\0\0\0\0e]\x94(]\x94(G\0\0\0\0\0\0\0\0G?\xe0\0\0\0\0\0\0e]\x94(G?\xf0\0\0\0\0\0\0G?\xf0\0\
    \0\0\0\0\0ee]\x94(K\x01K\x02eG@>\0\0\0\0\0\0t\x94e.",
];

pub(super) const ORIENTEERING: &[u8] =
    b"\x80\x05\x95l\0\0\0\0\0\0\0]\x94(]\x94(G?\xe0\0\0\0\0\0\0G?\xe0\0\0\0\0\0\0e]\x94(]\x94(G?\xd0\0\0\0\0\0\0G?\xe0\
    \0\0\0\0\0\0e]\x94(G?\xe8\0\0\0\0\0\0G?\xf0\0\0\0\0\0\0ee]\x94(G?\xe0\0\0\0\0\0\0G?\xf0\0\0\0\0\0\0eG@\0\0\0\0\0\
    \0\0t\x94a.";

pub(super) const PRIZE_COLLECTING: &[u8] =
    b"\x80\x05\x95\x8f\0\0\0\0\0\0\0]\x94(]\x94(G?\xe0\0\0\0\0\0\0G?\xe0\0\0\0\0\0\0e]\x94(]\x94(G?\xd0\0\0\0\0\0\0G?\
    \xe0\0\0\0\0\0\0e]\x94(G?\xe8\0\0\0\0\0\0G?\xf0\0\0\0\0\0\0ee]\x94(G?\xc0\0\0\0\0\0\0G?\xd0\0\0\0\0\0\0e]\x94(G?\
    \xe0\0\0\0\0\0\0G?\xf0\0\0\0\0\0\0e]\x94(G?\xe8\0\0\0\0\0\0G\0\0\0\0\0\0\0\0et\x94a.";

/// `[[[np.float64(0.25), 0.5]]]`
pub(super) const NUMPY_SCALAR: &[u8] =
    b"\x80\x05\x95}\0\0\0\0\0\0\0]\x94]\x94]\x94(\x8c\x16numpy._core.multiarray\x94\x8c\x06scalar\x94\x93\x94\x8c\x05n\
    umpy\x94\x8c\x05dtype\x94\x93\x94\x8c\x02f8\x94\x89\x88\x87\x94R\x94(K\x03\x8c\x01<\x94NNNJ\xff\xff\xff\xffJ\xff\
    \xff\xff\xffK\0t\x94bC\x08\0\0\0\0\0\0\xd0?\x94\x86\x94R\x94G?\xe0\0\0\0\0\0\0eaa.";

/// `np.zeros((1, 1, 2))`
pub(super) const NUMPY_ARRAY: &[u8] =
    b"\x80\x05\x95\x88\0\0\0\0\0\0\0\x8c\x13numpy._core.numeric\x94\x8c\x0b_frombuffer\x94\x93\x94(\x96\x10\0\0\0\0\0\
    \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x94\x8c\x05numpy\x94\x8c\x05dtype\x94\x93\x94\x8c\x02f8\x94\x89\x88\x87\x94\
    R\x94(K\x03\x8c\x01<\x94NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0t\x94bK\x01K\x01K\x02\x87\x94\x8c\x01C\x94t\x94R\
    \x94.";

/// `np.zeros((1, 1, 2))` in protocol 2
pub(super) const NUMPY_ARRAY_2: &[u8] =
    b"\x80\x02cnumpy._core.multiarray\n_reconstruct\nq\0cnumpy\nndarray\nq\x01K\0\x85q\x02c_codecs\nencode\nq\x03X\x01\
    \0\0\0bq\x04X\x06\0\0\0latin1q\x05\x86q\x06Rq\x07\x87q\x08Rq\x09(K\x01K\x01K\x01K\x02\x87q\ncnumpy\ndtype\nq\x0b\
    X\x02\0\0\0f8q\x0c\x89\x88\x87q\x0dRq\x0e(K\x03X\x01\0\0\0<q\x0fNNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tq\x10b\
    \x89h\x03X\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0q\x11h\x05\x86q\x12Rq\x13tq\x14b.";

/// An object whose `__reduce__` is `os.system("true")`, in protocols 0, 2 and 4.
pub(super) const CALL: [&[u8]; 3] = [
    b"(lp0\ncposix\nsystem\np1\n(Vtrue\np2\ntp3\nRp4\na.",
    b"\x80\x02]q\0cposix\nsystem\nq\x01X\x04\0\0\0trueq\x02\x85q\x03Rq\x04a.",
    b"\x80\x04\x95\"\0\0\0\0\0\0\0]\x94\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c\x04true\x94\x85\x94R\x94a.",
];

/// `[None]`
pub(super) const NONE: &[u8] = b"\x80\x05\x95\x05\0\0\0\0\0\0\0]\x94Na.";

/// `[True]`
pub(super) const TRUE: &[u8] = b"\x80\x05\x95\x05\0\0\0\0\0\0\0]\x94\x88a.";

/// `[True]` in protocol 0
pub(super) const TRUE_0: &[u8] = b"(lp0\nI01\na.";

/// `[{}]`
pub(super) const DICT: &[u8] = b"\x80\x05\x95\x06\0\0\0\0\0\0\0]\x94}\x94a.";

/// `[set()]`
pub(super) const SET: &[u8] = b"\x80\x05\x95\x06\0\0\0\0\0\0\0]\x94\x8f\x94a.";

/// `[b"a"]`
pub(super) const BYTES: &[u8] = b"\x80\x05\x95\x08\0\0\0\0\0\0\0]\x94C\x01a\x94a.";

/// `["a"]`
pub(super) const TEXT: &[u8] = b"\x80\x05\x95\x08\0\0\0\0\0\0\0]\x94\x8c\x01a\x94a.";

/// `[[[2**70, 1]]]`
pub(super) const WIDE: &[u8] = b"\x80\x05\x95\x18\0\0\0\0\0\0\0]\x94]\x94]\x94(\x8a\x09\0\0\0\0\0\0\0\0@K\x01eaa.";
