"""Keeps which objects a job has, and which of them are done, in files, so that both are known after a restart."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from torpor_container.typed_json import read
from torpor_endpoint.services.transform.running.inputs import JobObject


class ObjectList:
    """The objects of one job as they were when it began: its own results may be below the prefix that it reads.

    Its methods block, so call them in a worker thread. `results` maps the results that are there to their records.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._done = folder / "done"
        self.results: dict[str, int] = {}

    def read(self, find: Callable[[], Iterable[JobObject]]) -> list[JobObject]:
        """The objects. The first call of a job finds them."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self.results = dict(_rows(self._done))
        path = self._folder / "objects"
        if not path.is_file():
            draft = path.with_suffix(".draft")
            draft.write_text("".join(f"{json.dumps(one)}\n" for one in find()))
            draft.replace(path)
        with path.open() as file:
            return [read(JobObject, json.loads(line)) for line in file]

    def add(self, result: str, records: int) -> None:
        self.results[result] = records
        with self._done.open("a") as file:
            file.write(f"\n{json.dumps([result, records])}\n")


def _rows(path: Path) -> list[tuple[str, int]]:
    if not path.is_file():
        return []
    rows = []
    for line in path.read_text().splitlines():
        if line.startswith("[") and line.endswith("]"):  # a crash may cut a line
            rows.append(read(tuple[str, int], json.loads(line)))
    return rows
