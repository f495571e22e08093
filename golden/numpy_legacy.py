"""Draws of numpy's legacy generator for crates/regard-data/tests/golden_numpy.rs.

    python golden/numpy_legacy.py > crates/regard-data/tests/data/numpy_legacy.json

Doubles are written as the hexadecimal bits of their IEEE 754 form, integers as decimal text, so
that no JSON reader can round them. All draws of a run follow one another on one generator.
"""

import json
import struct

import numpy as np

RANGES = [
    (1, 10),
    (0, 100),
    (5, 6),  # one value: nothing is drawn
    (-3, 4),
    (0, 2**31),
    (0, 2**32),  # exactly one word
    (-(2**33), 2**33),  # two words
    (-(2**63), 2**63 - 1),
]


def uniform(random, count):
    bits = [struct.unpack("<Q", struct.pack("<d", random.random_sample()))[0] for _ in range(count)]
    return {"kind": "uniform", "values": [f"{b:016x}" for b in bits]}


def randint(random, low, high, count):
    values = [str(int(random.randint(low, high, dtype=np.int64))) for _ in range(count)]
    return {"kind": "randint", "low": str(low), "high": str(high), "values": values}


def run(seed):
    random = np.random.RandomState(seed)
    draws = [uniform(random, 6)]
    for low, high in RANGES:
        draws += [randint(random, low, high, 7), uniform(random, 2)]
    return {"seed": seed, "draws": draws}


# More than 624 words are drawn from the last seed, so that the state is renewed on the way.
runs = [run(seed) for seed in (0, 1, 1234, 4321, 2**32 - 1)]
last = np.random.RandomState(99)
runs.append({"seed": 99, "draws": [uniform(last, 330), randint(last, 1, 10, 20)]})
print(json.dumps({"numpy": np.__version__, "runs": runs}, separators=(",", ":")))
