"""Arguments as arrays of numbers that the engine reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from regard._regard import ArrayTypeError, InputError

#: An array of float32, float64 or int64, native and of any strides.
Numbers = npt.NDArray[np.float32] | npt.NDArray[np.float64] | npt.NDArray[np.int64]


def _error(kind: type[Exception], text: str, hint: str | None) -> Exception:
    error = kind(text if hint is None else f"{text}\nhint: {hint}")
    error.hint = hint  # type: ignore[attr-defined]
    return error


def invalid(what: str, reason: str, hint: str | None = None) -> Exception:
    """The exception for a value that cannot be taken."""
    return _error(InputError, f"{what}: {reason}", hint)


def wrong_type(what: str, reason: str, hint: str | None = None) -> Exception:
    """The exception for a value of another type."""
    return _error(ArrayTypeError, f"{what}: {reason}", hint)


def _shape_text(shape: tuple[str | int, ...]) -> str:
    return "[" + ", ".join(str(length) for length in shape) + "]"


def numbers(value: Any, name: str, shape: tuple[str | int, ...] | None = None, finite: bool = True) -> Numbers:
    """An argument as an array of numbers, which the engine reads as it lies in memory.

    Parameters
    ----------
    value : array_like
        What numpy makes an array of.
    name : str
        The argument, for messages.
    shape : tuple, optional
        The shape that is expected, with words for lengths that may be any.
    finite : bool
        If true, NaN and infinity are refused.

    Returns
    -------
    numpy.ndarray
        Of float32, float64 or int64. A copy is made only of other types.
    """
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:
        reason = f"cannot be read as an array: {error}"
        raise wrong_type(name, reason, "rows of different lengths are no array") from error
    if array.dtype.kind == "O":
        hint = 'numpy.asarray(value, dtype="float64") names an element that is no number'
        raise wrong_type(name, "found an array of objects, expected numbers", hint)
    if array.dtype.kind == "c":
        raise invalid(name, f"Complex data not supported, found an array of {array.dtype}")
    if array.dtype.kind not in "fiub":
        raise wrong_type(name, f"found an array of {array.dtype}, expected numbers")
    if array.dtype.kind in "iub":
        array = array.astype(np.int64, copy=False)
    elif array.dtype.newbyteorder("=") == np.float32:
        array = array.astype(np.float32, copy=False)
    elif array.dtype.itemsize < 4:
        array = array.astype(np.float32)
    else:
        array = array.astype(np.float64, copy=False)
    if shape is not None:
        fits = array.ndim == len(shape) and all(
            isinstance(wanted, str) or wanted == found for wanted, found in zip(shape, array.shape, strict=True)
        )
        if not fits:
            raise invalid(name, f"has the shape {_shape_text(array.shape)}, expected {_shape_text(shape)}")
    if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
        at = tuple(int(index) for index in np.argwhere(~np.isfinite(array))[0])
        place = ", ".join(str(index) for index in at)
        raise invalid(name, f"[{place}] is {array[at]}, expected a finite number")
    return array


def count(value: Any, name: str, least: int = 1) -> int:
    """An argument as a whole number."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise wrong_type(name, f"found {type(value).__name__}, expected a whole number")
    if value < least:
        raise invalid(name, f"is {value}, expected at least {least}")
    return int(value)


def seed_of(value: Any, name: str = "seed") -> int:
    """A seed: a whole number, or one that a numpy generator draws."""
    if isinstance(value, np.random.Generator):
        return int(value.integers(2**63 - 1))
    if isinstance(value, np.random.RandomState):
        return int(value.randint(2**31 - 1))
    seed = count(value, name, least=0)
    if seed >= 2**63:
        raise invalid(name, f"is {seed}, expected at most {2**63 - 1}")
    return seed
