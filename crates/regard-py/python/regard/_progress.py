"""Progress of long calls, in a terminal or a notebook."""

from __future__ import annotations

import importlib
import sys
import time
from types import TracebackType
from typing import Any

#: Calls that take less are not shown.
_QUIET_SECONDS = 1.0
#: Seconds between two pictures.
_REFRESH = 0.2
_WIDTH = 24


def _in_notebook() -> bool:
    shell: Any = sys.modules.get("IPython")
    instance = None if shell is None else shell.get_ipython()
    return instance is not None and type(instance).__name__ == "ZMQInteractiveShell"


def _page(text: str) -> Any:
    ipython: Any = importlib.import_module("IPython.display")
    return ipython.HTML(text)


class Progress:
    """A line of progress that appears after a second and goes away at the end.

    Parameters
    ----------
    title : str
        What is done.
    shown : bool or None
        If true or false, whatever the place; None shows it in terminals and notebooks.
    """

    def __init__(self, title: str, shown: bool | None) -> None:
        self._title = title
        self._notebook = _in_notebook()
        self._shown = (self._notebook or sys.stderr.isatty()) if shown is None else shown
        self._begun = time.monotonic()
        self._last = 0.0
        self._display: Any = None
        self._drawn = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._drawn:
            return
        if self._display is not None:
            self._display.update(_page(""))
        elif sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def line(self, text: str, fraction: float | None = None) -> None:
        """Show a line with how much is done."""
        now = time.monotonic()
        if not self._shown or now - self._begun < _QUIET_SECONDS or now - self._last < _REFRESH:
            return
        self._last = now
        elapsed = f"{now - self._begun:.0f} s"
        if fraction is not None and 0 < fraction < 1:
            elapsed += f", {(now - self._begun) * (1 / fraction - 1):.0f} s left"
        if self._notebook:
            self._show_html(text, fraction, elapsed)
            return
        bar = "" if fraction is None else f"[{'#' * int(fraction * _WIDTH):<{_WIDTH}}] "
        ending = "" if sys.stderr.isatty() else "\n"
        begin = "\r\x1b[K" if sys.stderr.isatty() else ""
        sys.stderr.write(f"{begin}{self._title} {bar}{text} ({elapsed}){ending}")
        sys.stderr.flush()
        self._drawn = True

    def _show_html(self, text: str, fraction: float | None, elapsed: str) -> None:
        from html import escape

        bar = "" if fraction is None else f'<progress value="{fraction:.3f}" max="1"></progress> '
        page = _page(f"<div>{escape(self._title)} {bar}{escape(text)} <small>({elapsed})</small></div>")
        if self._display is None:
            ipython: Any = importlib.import_module("IPython.display")
            self._display = ipython.display(page, display_id=True)
        else:
            self._display.update(page)
        self._drawn = True

    def advance(self, done: int, of: int) -> None:
        """Show that so many of so many are done."""
        self.line(f"{done:,} of {of:,}", done / max(of, 1))

    def stage(self, stage: str, best: float | None) -> None:
        """Show a stage of a search, with the best cost so far."""
        self.line(stage if best is None else f"{stage}, best {abs(best):,.6g}")
