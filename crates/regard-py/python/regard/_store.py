"""Models as small values: the name of a built-in one, or the files of a folder."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from regard import _regard

#: The files of a model's folder that are needed to use it.
_FILES = ("config.json", "model.safetensors", "manifest.json", "base.json", "validation_errors.json")


@dataclass(frozen=True)
class PackedModel:
    """A model that can be pickled: its name, and the files of its folder unless it is built in."""

    name: str
    files: bytes | None = field(repr=False, default=None)

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> PackedModel:
        """The model of a folder, or the built-in one of this name."""
        folder = Path(path)
        if not folder.is_dir():
            # The engine knows whether it is built in, and says what is missing.
            return cls(os.fspath(path))
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in _FILES:
                if (folder / name).is_file():
                    archive.write(folder / name, name)
        return cls(folder.resolve().name, packed.getvalue())

    @contextlib.contextmanager
    def folder(self) -> Iterator[str]:
        """The path by which the engine opens it; files exist as long as the context."""
        if self.files is None:
            yield self.name
            return
        with tempfile.TemporaryDirectory(prefix="regard-") as parent:
            folder = Path(parent) / self.name
            self.unpack(folder)
            yield os.fspath(folder)

    def unpack(self, folder: Path) -> None:
        """Write the files into a folder."""
        if self.files is None:
            raise _regard.InputError(f"{self.name}: is built in and has no files")
        folder.mkdir(parents=True)
        with zipfile.ZipFile(io.BytesIO(self.files)) as archive:
            for name in _FILES:
                if name in archive.namelist():
                    (folder / name).write_bytes(archive.read(name))
