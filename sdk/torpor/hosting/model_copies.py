"""Copies a folder of artifacts into the object store's own folder. It reads no artifact."""

import os
import shutil
from os import PathLike
from pathlib import Path


def _copy(source: str, copy: str) -> None:
    """Copy a file as the endpoint keeps its objects: other users cannot read it."""
    shutil.copyfile(source, copy)
    os.chmod(copy, 0o600)


def copy_models(models: "str | PathLike[str] | None", folder: Path) -> None:
    """Copy the files of a folder into the object store's own folder, without hidden files. Raises NotADirectoryError.

    They are copies, so that a later change of the originals has no effect.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if models is None:
        return
    source = Path(models)
    if not source.is_dir():
        raise NotADirectoryError(f"{source} is no folder of model artifacts")
    shutil.copytree(source, folder, copy_function=_copy, ignore=shutil.ignore_patterns(".*"), dirs_exist_ok=True)
