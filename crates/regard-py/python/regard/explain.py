"""What a model computed, and what its answer depends on, as arrays with a page for notebooks."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from regard import _regard

__all__ = ["Attribution", "Trace", "TraceStep"]


def _as_array(values: npt.NDArray[Any], dtype: Any, copy: bool | None) -> npt.NDArray[Any]:
    return values.astype(values.dtype if dtype is None else dtype, copy=bool(copy))


@dataclass(frozen=True)
class TraceStep:
    """A step of a trace.

    Attributes
    ----------
    name : str
        Its name, such as ``"encoder.0.attention"`` or ``"decode.3.probability"``.
    formula : str
        How it follows from its inputs.
    source : str
        Paper and section.
    axes : dict of str to list of str
        The axes of `values` with names of their indices.
    values : numpy.ndarray of float32
        What was computed; minus infinity where something is masked.
    inputs : list of str
        Names of the steps that it is computed from.
    parameters : list of str
        Names of the parameters that it uses, see `Trace.parameters`.
    notes : list of str
        A note for each index of the last axis, such as why a node is barred; empty where there are none.
    """

    name: str
    formula: str
    source: str
    axes: dict[str, list[str]]
    values: npt.NDArray[np.float32]
    inputs: list[str]
    parameters: list[str]
    notes: list[str]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return _as_array(self.values, dtype, copy)


class Trace:
    """Everything that a model computed on one input, step by step.

    Made by ``explain`` of policies, estimators and forecasters. A mapping from names to steps that a notebook draws.

    Examples
    --------
    >>> from regard import Policy, Instance
    >>> trace = Policy.load("tsp").explain(Instance([[0, 0], [0, 1], [1, 1], [1, 0]]))
    >>> float(trace["decode.0.probability"].values.sum().round(4))
    1.0
    """

    def __init__(self, native: _regard.Trace) -> None:
        self._native = native
        self._names = native.names()

    @property
    def model(self) -> str:
        """Name of the model."""
        return self._native.model

    @property
    def input(self) -> str:
        """The input: its name, and which of its items."""
        return self._native.input

    @property
    def names(self) -> list[str]:
        """Names of the steps, in order."""
        return list(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __getitem__(self, name: str | int) -> TraceStep:
        if isinstance(name, int):
            at = name if name >= 0 else len(self) + name
        elif name in self._names:
            at = self._names.index(name)
        else:
            import difflib

            near = difflib.get_close_matches(name, self._names, n=1)
            raise KeyError(f"no step {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
        found = self._native.step(at)
        return TraceStep(**{**found, "axes": dict(found["axes"])})

    def steps(self) -> Iterator[TraceStep]:
        """All steps in order."""
        return (self[at] for at in range(len(self)))

    def parameters(self) -> dict[str, npt.NDArray[np.float32]]:
        """The parameters of the model that steps name."""
        return self._native.parameters()

    def part(
        self, step: int | None = None, layer: int | None = None, head: int | None = None, name: str | None = None
    ) -> Trace:
        """The steps of one decoding step or layer, one head of them, or those with a text in their names."""
        return Trace(self._native.part(step, layer, head, name))

    def to_json(self) -> str:
        """The trace as the command ``regard explain --json`` prints it."""
        return self._native.json()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trace as ``.html``, a page that needs no network, or as ``.json``."""
        path = Path(path)
        text = self._native.html() if path.suffix.lower() == ".html" else self._native.json()
        partial = path.with_name(f".{path.name}.partial")
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)

    def __repr__(self) -> str:
        return f"Trace(model={self.model!r}, input={self.input!r}, steps={len(self)})"

    def _repr_html_(self) -> str:
        # Its own document: the page's style and script stay inside.
        page = html.escape(self._native.html(), quote=True)
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" loading="lazy" '
            'style="width:100%;height:44em;border:1px solid #ddd"></iframe>'
        )

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a trace cannot be pickled; to_json() and save() keep it")


@dataclass(frozen=True)
class Attribution:
    """How much each part of an input changes the answer of a model.

    Attributes
    ----------
    method : str
        ``"leave-one-out"``, ``"shapley"``, ``"integrated-gradients"`` or ``"occlusion"``.
    parts : list of str
        Names of the parts: rows, nodes and edges, patches or lags.
    values : numpy.ndarray, shape (parts,)
        The change of the answer for each.
    answer : float
        The answer for the whole input.
    baseline : float or None
        The answer without any part; None where the method needs none.
    standard_errors : numpy.ndarray or None
        Standard errors of sampled values.
    deletion_area, random_area : float or None
        Areas under the deletion curve, parts removed by falling value and at random: the larger the first beside the
        second, the more faithful.
    rank_correlation : float or None
        Rank correlation with the attention weights of the same parts.
    """

    method: str
    parts: list[str]
    values: npt.NDArray[np.float64]
    answer: float
    baseline: float | None = None
    standard_errors: npt.NDArray[np.float64] | None = field(default=None)
    deletion_area: float | None = None
    random_area: float | None = None
    rank_correlation: float | None = None

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return _as_array(self.values, dtype, copy)

    def largest(self, count: int = 10) -> list[tuple[str, float]]:
        """The parts that change the answer most."""
        order = np.argsort(-np.abs(self.values), kind="stable")[:count]
        return [(self.parts[at], float(self.values[at])) for at in order]

    def _repr_html_(self) -> str:
        largest = float(np.abs(self.values).max(initial=0.0)) or 1.0
        rows = []
        for name, value in self.largest(30):
            width = 100 * abs(value) / largest
            colour = "#1d6fa5" if value >= 0 else "#c0562f"
            bar = f'<div style="background:{colour};height:0.8em;width:{width:.1f}%"></div>'
            rows.append(
                f'<tr><td style="text-align:left">{html.escape(name)}</td><td>{value:.4g}</td>'
                f'<td style="width:20em">{bar}</td></tr>'
            )
        more = "" if len(self) <= 30 else f"<caption>the largest 30 of {len(self)} parts</caption>"
        head = f"<tr><th>part</th><th>{html.escape(self.method)}</th><th></th></tr>"
        areas = ""
        if self.deletion_area is not None and self.random_area is not None:
            areas = f"<p>deletion area {self.deletion_area:.4g}, in random order {self.random_area:.4g}</p>"
        return f"<p>answer {self.answer:.6g}</p><table>{more}{head}{''.join(rows)}</table>{areas}"


def attribution_of(method: str, parts: list[str], found: dict[str, Any]) -> Attribution:
    """The engine's attribution with names of its parts."""
    return Attribution(method=method, parts=parts, **found)
