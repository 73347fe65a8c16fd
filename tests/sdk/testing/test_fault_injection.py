"""Faults as tests of an application have them strike."""

from collections.abc import Iterator

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

import torpor
from tests.sdk.helpers.small_models import CITIES, ROWS
from torpor.errors import EndpointRefused, TorporError
from torpor.hosting.shared_process import SharedProcess
from torpor.testing import (
    FaultInjection,
    FaultKind,
    FaultSchedule,
    InjectedFault,
    MovableClock,
    NeverStruck,
    Start,
    drawn,
)


@pytest.fixture(scope="module")
def faulty() -> Iterator[SharedProcess]:
    with SharedProcess(Start(faults=True, travelling_clock=True)) as process:
        yield process.until_ready()


def test_the_same_seed_draws_the_same_schedule() -> None:
    schedule = drawn(7, count=8, models=("a.tar.gz", "b.tar.gz"))
    assert schedule == drawn(7, count=8, models=("a.tar.gz", "b.tar.gz"))
    assert schedule != drawn(8, count=8, models=("a.tar.gz", "b.tar.gz"))
    assert FaultSchedule.parse(str(schedule)) == schedule
    assert len(schedule) == 8


def test_a_schedule_is_drawn_of_the_kinds_that_are_given() -> None:
    schedule = drawn(1, count=30, kinds=(FaultKind.THROTTLED, FaultKind.SLOW_S3), within=4)
    assert {fault.kind for fault in schedule} == {FaultKind.THROTTLED, FaultKind.SLOW_S3}
    assert all(fault.after < 4 for fault in schedule)


PRINTED = """\
instance-frozen after=18 times=3 seconds=0.13
instance-killed after=17 times=3
instance-frozen after=13 times=3 seconds=0.18"""


def test_a_seed_means_the_same_on_every_machine() -> None:
    """A failing test prints its seed: the schedule must not change with a version of Torpor by accident."""
    assert str(drawn(2024, count=3)) == PRINTED


def test_faults_strike_an_endpoint_until_they_are_cleared(faulty: SharedProcess, models: object) -> None:
    injection = FaultInjection(faulty.connection)
    with faulty.local(models, name="faulty") as endpoint:  # type: ignore[arg-type]  # the fixture's folder
        injection.inject(FaultSchedule((InjectedFault(FaultKind.OUT_OF_MEMORY, model=CITIES[0]),)))
        with pytest.raises(ClientError, match="507"):
            endpoint.invoke(CITIES[0], ROWS)
        [strike] = injection.struck
        assert strike.fault == f"out-of-memory model={CITIES[0]}"
        assert strike.on.startswith(f"faulty/{CITIES[0]} on i-")
        injection.inject(FaultSchedule.parse("throttled times=1000"))
        injection.clear()
        assert len(injection.left) == 0
        assert len(endpoint.invoke(CITIES[0], ROWS)) == len(ROWS)


def test_a_fault_that_never_struck_is_named(faulty: SharedProcess) -> None:
    injection = FaultInjection(faulty.connection)
    faulty.bucket_folder("never").joinpath("met.txt").touch()
    injection.inject(FaultSchedule.parse("failing-s3 model=met.txt times=9\nfailing-s3 model=other.txt"))
    with pytest.raises(ClientError):
        faulty.client("s3", config=Config(retries={"total_max_attempts": 1})).get_object(Bucket="never", Key="met.txt")
    assert [str(fault) for fault in injection.never_struck] == ["failing-s3 model=other.txt"]
    injection.clear()
    with pytest.warns(NeverStruck, match=r"never struck: failing-s3 model=other\.txt$"):
        injection.warn()


def test_of_a_drawn_schedule_one_strike_is_enough(faulty: SharedProcess) -> None:
    injection = FaultInjection(faulty.connection)
    injection.inject(drawn(1, count=2, kinds=(FaultKind.FAILING_S3,), models=("drawn.txt",), within=1))
    assert len(injection.never_struck) == 2
    faulty.bucket_folder("never").joinpath("drawn.txt").touch()
    with pytest.raises(ClientError):
        faulty.client("s3", config=Config(retries={"total_max_attempts": 1})).get_object(
            Bucket="never", Key="drawn.txt"
        )
    assert not injection.never_struck
    injection.clear()


def test_a_fault_waits_for_its_moment(faulty: SharedProcess, models: object) -> None:
    injection, clock = FaultInjection(faulty.connection), MovableClock(faulty.connection)
    with faulty.local(models, name="moment") as endpoint:  # type: ignore[arg-type]  # as above
        injection.inject(FaultSchedule.parse("throttled from_s=3600"))
        runtime = endpoint.client("sagemaker-runtime", config=Config(retries={"total_max_attempts": 1}))
        call = {"EndpointName": "moment", "TargetModel": CITIES[0], "ContentType": "text/csv", "Body": "1,2,3,4"}
        assert runtime.invoke_endpoint(**call)["Body"].read()
        clock.advance(hours=1)
        with pytest.raises(ClientError, match="ThrottlingException"):
            runtime.invoke_endpoint(**call)
        injection.clear()


def test_an_endpoint_without_faults_is_refused_with_the_way_out(shared: SharedProcess) -> None:
    with pytest.raises(TorporError, match=r"--faults; in tests: torpor\.testing\.Start"):
        FaultInjection(shared.connection)


def test_the_page_of_faults_is_the_endpoints_own(endpoint: torpor.Local) -> None:
    with pytest.raises(EndpointRefused, match="start it with --faults"):
        endpoint.connection.page("faults")
