"""The page of transform jobs: how far each is, how fast, and how long it takes yet."""

from collections.abc import Iterable

from torpor_container.frozen_class import frozen
from torpor_container.typed_json import read, written
from torpor_endpoint.core.pages import Json


@frozen
class JobProgress:
    """What one job has done, also before a restart of the endpoint. `ended` jobs are those of this run of it.

    `share` is the part of the objects that is read, from 0 to 1: half of an object counts half. `records_per_s` and
    `left_s` come from the time since the job began, or went on. `left_s` is None before anything is read.
    """

    name: str
    ended: bool
    objects: int
    done: int
    failed: int
    share: float
    records: int
    records_per_s: float
    left_s: float | None


def transform_jobs_page(jobs: Iterable[JobProgress]) -> Json:
    return {"jobs": written(list(jobs))}


def read_transform_jobs(page: Json) -> list[JobProgress]:
    return read(list[JobProgress], page["jobs"])
