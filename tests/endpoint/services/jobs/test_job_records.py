"""A name may be used again: what an earlier job still has to write changes no later job of that name."""

from dataclasses import replace

import pytest

from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.services.jobs.job_records import JobRecords
from torpor_endpoint.services.jobs.stages import begun
from torpor_endpoint.services.processing.lifecycle import ProcessingJob, ProcessingStage
from torpor_endpoint.storage.schema import RECORDS

ENDED = (ProcessingStage.STOPPING, ProcessingStage.STOPPED)


def later_job(records: JobRecords[ProcessingJob]) -> tuple[ProcessingJob, ProcessingJob]:
    """A job that was removed, and a later one of its name."""
    earlier, later = (begun(ProcessingJob, "job", "arn", {}, created_s) for created_s in (1.0, 2.0))
    assert records.add(earlier)
    for stage in ENDED:
        assert records.move(earlier, stage)
    assert records.remove(earlier)
    assert records.add(later)
    return earlier, later


@pytest.fixture
def records() -> JobRecords[ProcessingJob]:
    return JobRecords(SqliteFile(":memory:", RECORDS), "processing_jobs", ProcessingJob, lambda: 3.0)


def test_a_move_of_an_earlier_job_moves_no_later_one(records: JobRecords[ProcessingJob]) -> None:
    """Its first try may have been committed, and its answer lost."""
    earlier, later = later_job(records)
    assert not records.move(earlier, ProcessingStage.FAILED, "of the earlier job")
    assert records.get("job") == later


def test_what_an_earlier_job_said_is_not_a_later_ones(records: JobRecords[ProcessingJob]) -> None:
    earlier, later = later_job(records)
    records.update(earlier, lambda now: replace(now, exit_message="of the earlier job"))
    assert records.get("job") == later
    assert records.of(earlier) is None
    assert records.of(later) == later


def test_a_removal_of_an_earlier_job_leaves_a_later_one_that_is_over(records: JobRecords[ProcessingJob]) -> None:
    earlier, later = later_job(records)
    for stage in ENDED:
        assert records.move(later, stage)
    assert not records.remove(earlier, lambda: pytest.fail("nothing further leaves with a job that stays"))
    assert records.get("job") is not None
