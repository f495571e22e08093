"""Examples of the book's pages on Python, run in order as a reader runs them."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from conftest import EXAMPLES, ROOT

PAGES = ROOT / "book" / "src" / "python"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Page:
    """The namespace that the examples of a page share, and the names that skipped ones would have defined."""

    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__book__"})
    left_out: dict[str, str] = field(default_factory=dict)
    done: int = 0


READ: dict[str, Page] = {}


def blocks(page: Path) -> list[tuple[int, str]]:
    """Examples of a page with the number of their first line."""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, found.start(1)) + 1, found[1]) for found in BLOCK.finditer(text)]


def examples() -> Iterator[Any]:
    for page in sorted(PAGES.glob("*.md")):
        for at, (line, _) in enumerate(blocks(page)):
            yield pytest.param(page, at, id=f"{page.stem}:{line}")


def imported(tree: ast.Module) -> set[str]:
    """Packages that an example imports."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module.partition(".")[0])
    return found


def defined(tree: ast.Module) -> set[str]:
    """Names that an example gives to its page."""
    found = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        else:
            stored = (one for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
            found |= {one.id for one in stored}
    return found


def reason_to_skip(tree: ast.Module, page: Page) -> str | None:
    """The package that an example, or one before it that it needs, does not find."""
    missing = sorted(name for name in imported(tree) if importlib.util.find_spec(name) is None)
    if missing:
        return f"{', '.join(missing)} not installed"
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return next((why for name, why in page.left_out.items() if name in used and name not in page.names), None)


def run(path: Path, at: int) -> str | None:
    """Run an example of a page after those before it; the reason where it is skipped."""
    page = READ.setdefault(path.name, Page())
    reason = None
    for place, (line, code) in enumerate(blocks(path)[: at + 1]):
        if place < page.done:
            continue
        page.done = place + 1
        tree = ast.parse(code, str(path))
        reason = reason_to_skip(tree, page)
        if reason is not None:
            page.left_out |= dict.fromkeys(defined(tree), reason)
            continue
        ast.increment_lineno(tree, line - 1)
        exec(compile(tree, str(path), "exec"), page.names)
    return reason


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like the root of the repository, whose `runs` goes away."""
    folder = tmp_path_factory.mktemp("book")
    (folder / "examples").symlink_to(EXAMPLES)
    return folder


# Other packages may warn; a page says where ours do.
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("page", "at"), list(examples()))
def test_an_example(page: Path, at: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    reason = run(page, at)
    if reason is not None:
        pytest.skip(reason)


def test_pages_have_examples_and_are_in_the_summary() -> None:
    summary = (ROOT / "book" / "src" / "SUMMARY.md").read_text(encoding="utf-8")
    pages = sorted(PAGES.glob("*.md"))
    assert [page.stem for page in pages] == ["index", "neuralforecast", "pyg", "rl4co", "scikit-learn"]
    for page in pages:
        assert blocks(page)
        assert f"(python/{page.name})" in summary
