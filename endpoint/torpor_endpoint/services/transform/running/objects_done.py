"""Keeps which objects a job has, and which of them are done, in the endpoint's database: a job goes on after a restart,
also on another machine."""

import json
from collections.abc import Callable, Iterable, Sequence

from torpor_account.storage.databases.database import Database
from torpor_container.typed_json import read, written
from torpor_endpoint.services.transform.running.inputs import JobObject

BATCH = 1000
"""So many objects of the input are one row."""
TABLES = ("transform_inputs", "transform_done")
"""Their rows leave with the job's move to its end (`JobRecords`)."""
NOTED = """
    INSERT INTO transform_done (job, result, records)
    SELECT job, ?, ? FROM transform_inputs WHERE job = ? AND place = 0 ON CONFLICT DO NOTHING
"""


class ObjectList:
    """The objects of one job as they were when it began: its own results may be below the prefix that it reads.

    Its methods block, so call them in a worker thread; they raise DatabaseFault. `results` maps the results that are
    there to their records.
    """

    def __init__(self, database: Database, job: str) -> None:
        self._database = database
        self._job = job
        self.results: dict[str, int] = {}

    def read(self, find: Callable[[], Iterable[JobObject]]) -> list[JobObject]:
        """The objects. The first call of a job finds them."""
        if not (found := self._stored()):
            found = list(find())
            self._store(found)
        done = self._database.rows("SELECT result, records FROM transform_done WHERE job = ?", self._job)
        self.results = dict(done)
        return found

    def add(self, result: str, records: int) -> None:
        """Note that a result is there. It may be called again where nobody knows whether it was noted. After the job's
        end, which removes its objects, nothing is written."""
        self._database.changed(NOTED, result, records, self._job)
        self.results[result] = records

    def _stored(self) -> list[JobObject]:
        rows = self._database.rows("SELECT objects FROM transform_inputs WHERE job = ? ORDER BY place", self._job)
        return [one for (objects,) in rows for one in read(list[JobObject], json.loads(objects))]

    def _store(self, found: Sequence[JobObject]) -> None:
        starts = range(0, len(found), BATCH)
        rows = ((self._job, start, json.dumps(written(found[start : start + BATCH]))) for start in starts)
        with self._database.transaction():
            self._database.write_many("INSERT INTO transform_inputs (job, place, objects) VALUES (?, ?, ?)", rows)
