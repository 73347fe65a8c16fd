"""Which objects of a transform job are done is known after a restart, on any machine, until the job has ended."""

from tests.account.helpers.databases import OpenPart
from torpor_account.storage.databases.database import Database
from torpor_endpoint.services.jobs.job_records import JobRecords
from torpor_endpoint.services.jobs.stages import begun
from torpor_endpoint.services.transform.lifecycle import TransformJob, TransformStage
from torpor_endpoint.services.transform.running.inputs import JobObject
from torpor_endpoint.services.transform.running.objects_done import BATCH, TABLES, ObjectList
from torpor_endpoint.storage.schema import RECORDS

OBJECTS = [JobObject("scores", f"in/{number}", f"out/{number}.out", "naïve") for number in range(BATCH + 1)]


def never() -> list[JobObject]:
    raise AssertionError("the objects are looked for once")


def test_the_objects_and_those_that_are_done_are_known_to_the_next_process(opened: OpenPart) -> None:
    before = ObjectList(opened(RECORDS), "j")
    assert before.read(lambda: OBJECTS) == OBJECTS
    before.add("out/0.out", 20)
    before.add("out/7.out", 0)
    before.add("out/0.out", 20)  # nobody knew whether it was noted
    after = ObjectList(opened(RECORDS), "j")
    assert after.read(never) == OBJECTS
    assert after.results == {"out/0.out": 20, "out/7.out": 0}


def test_each_job_has_objects_of_its_own(opened: OpenPart) -> None:
    database = opened(RECORDS)
    first, second = ObjectList(database, "a"), ObjectList(database, "b")
    first.read(lambda: OBJECTS[:1])
    second.read(lambda: OBJECTS[1:2])
    first.add("out/0.out", 1)
    assert ObjectList(database, "b").read(never) == OBJECTS[1:2]
    second.read(never)
    assert second.results == {}


def begun_jobs(database: Database, *names: str) -> tuple[JobRecords[TransformJob], dict[str, TransformJob]]:
    """Their records, and jobs that transform, with one object done."""
    records = JobRecords(database, "transform_jobs", TransformJob, lambda: 1.0, TABLES)
    jobs = {name: begun(TransformJob, name, f"arn:aws:sagemaker:r:1:transform-job/{name}", {}, 1.0) for name in names}
    for name, job in jobs.items():
        assert records.add(job)
        listing = ObjectList(database, name)
        listing.read(lambda: OBJECTS)
        listing.add("out/0.out", 1)
        assert records.move(job, TransformStage.TRANSFORMING)
    return records, jobs


def jobs_with_rows(database: Database) -> list[set[str]]:
    return [{job for (job,) in database.rows(f"SELECT job FROM {table}")} for table in TABLES]


def test_they_leave_with_the_jobs_move_to_its_end_and_not_before(opened: OpenPart) -> None:
    database = opened(RECORDS)
    records, jobs = begun_jobs(database, "a", "b")
    assert ObjectList(database, "a").read(never) == OBJECTS
    assert records.move(jobs["a"], TransformStage.COMPLETED)
    assert not records.move(jobs["a"], TransformStage.STOPPED)
    assert jobs_with_rows(database) == [{"b"}, {"b"}]


def test_nothing_is_noted_for_a_job_that_has_ended(opened: OpenPart) -> None:
    """Work that nobody waits for any more may note its object late: it would be done for whoever reads it next."""
    database = opened(RECORDS)
    records, jobs = begun_jobs(database, "a")
    late = ObjectList(database, "a")
    late.read(never)
    assert records.move(jobs["a"], TransformStage.FAILED)
    late.add("out/1.out", 20)
    assert jobs_with_rows(database) == [set(), set()]
