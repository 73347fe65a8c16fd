"""Keeps the verdicts of this machine: one small file for each content that was tried, whatever its keys and instances.

A verdict holds for what was tried: all files of an artifact, what of them is loaded, and the software that loads it.
Together they are its key, so nothing that differs has the same verdict. A file that cannot be read, or is incomplete,
is no verdict: the content is tried again. Methods block; any number of processes may call them at the same time.
"""

import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from torpor_container import typed_json
from torpor_container.core.trials import Verdict

KEPT_MAX = 100_000
"""The oldest verdicts leave beyond this many: their contents would be tried again."""
PRUNED_EVERY = 1000
"""How many verdicts are written between two counts of all."""


def key_of(content: str, *decided: str) -> str:
    """The key of a content, as its seal has it, and of all else that decides what is loaded and by which software: 32
    hexadecimal digits."""
    return hashlib.sha256("\0".join((content, *decided)).encode(errors="surrogatepass")).hexdigest()[:32]


class Verdicts:
    """The verdicts in one folder, which the instances of a machine share."""

    def __init__(self, folder: Path, kept_max: int = KEPT_MAX) -> None:
        self._folder = folder
        self._kept_max = kept_max
        self._written = 0

    def read(self, key: str) -> Verdict | None:
        """The verdict; None if there is none that can be read."""
        try:
            with open(f"{self._folder}/{key}", "rb", buffering=0) as file:
                return typed_json.read(Verdict, json.loads(file.read()))
        except (OSError, ValueError):
            return None

    def write_all(self, verdicts: Mapping[str, Verdict]) -> None:
        for key, verdict in verdicts.items():
            self.write(key, verdict)

    def write(self, key: str, verdict: Verdict) -> None:
        """Write the whole verdict or none. If the write fails, the content is tried again."""
        with suppress(OSError):
            os.makedirs(self._folder, exist_ok=True)
            new = f"{self._folder}/.{key}.{secrets.token_hex(4)}"
            with open(new, "xb", buffering=0) as file:
                file.write(json.dumps(typed_json.written(verdict)).encode())
            os.rename(new, f"{self._folder}/{key}")
            if self._written % PRUNED_EVERY == 0:
                self._prune()
            self._written += 1

    def pardon(self, key: str) -> None:
        """Remove the verdict of a trial that quarantines the content. One that ended instances stays quarantined."""
        verdict = self.read(key)
        if verdict is not None and verdict.reason and not verdict.deaths:
            (self._folder / key).unlink(missing_ok=True)

    def _prune(self) -> None:
        with os.scandir(self._folder) as entries:
            found = [entry.path for entry in entries]
        if len(found) > self._kept_max:
            for path in sorted(found, key=_written_ns)[: len(found) - self._kept_max]:
                with suppress(FileNotFoundError):
                    os.unlink(path)


def _written_ns(path: str) -> int:
    with suppress(OSError):
        return os.stat(path).st_mtime_ns
    return 0
