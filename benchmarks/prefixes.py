"""Prefixes of many models, made of few: one model under many names, since what it costs to have it is the same."""

import os
from collections.abc import Sequence
from itertools import count, islice
from pathlib import Path

LINKS_MAX = 30_000
"""A file takes some 65,000 hard links on ext4."""


def link_many(artifact: Path, folder: Path, names: Sequence[str]) -> None:
    """Hard links, of a further copy for every 30,000."""
    folder.mkdir(parents=True, exist_ok=True)
    for start in count(0, LINKS_MAX):
        part = list(islice(names, start, start + LINKS_MAX))
        if not part:
            return
        copy = folder / part[0]
        copy.write_bytes(artifact.read_bytes())
        for name in part[1:]:
            os.link(copy, folder / name)


def names(prefix: str, number: int) -> list[str]:
    return [f"{prefix}-{index:06}.tar.gz" for index in range(number)]
