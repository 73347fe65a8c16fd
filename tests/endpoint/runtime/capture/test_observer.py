"""Data capture chooses requests of variants that capture, once each, and says so where there is no memory for one."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.passages import passage
from tests.endpoint.helpers.pool_on_fake_host import PoolOnFakeHost
from tests.endpoint.helpers.virtual_time import run
from torpor_endpoint.core.resource_records import DataCapture
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint
from torpor_endpoint.runtime.capture.observer import CaptureObserver
from torpor_endpoint.runtime.passage import Passage, Route


def with_request(percentage: int, story: Callable[[Passage], None]) -> None:
    """A request of a variant that captures so many percent."""

    async def told() -> None:
        with FakeHost() as host:
            pool = PoolOnFakeHost(host).pool
            pool.variant = replace(pool.variant, capture=DataCapture("s3://captured/here", percentage))
            story(passage("shop", route=Route(FleetEndpoint("shop", "arn", {"v": pool}), "v", pool, None)))

    run(told())


def observer(draw: Callable[[], float] = lambda: 0.5, lost: list[tuple[str, str]] | None = None) -> CaptureObserver:
    missed = [] if lost is None else lost
    return CaptureObserver(draw, lambda sampled, size_bytes: None, lambda *which: missed.append(which))


@pytest.mark.parametrize("operation", ["invocations", "invocations-response-stream"])
@pytest.mark.parametrize(("percentage", "chosen"), [(100, True), (51, True), (50, False), (0, False)])
def test_the_sampling_chooses_a_request_and_asks_for_its_models_version(
    operation: str, percentage: int, chosen: bool
) -> None:
    def story(request: Passage) -> None:
        request.scope["path"] = f"/endpoints/shop/{operation}"
        assert observer().reads(request) is request.wants_version is chosen

    with_request(percentage, story)


def test_a_request_that_comes_by_another_way_keeps_its_draw() -> None:
    def story(request: Passage) -> None:
        draws = iter([0.4, 0.9])
        capturing = observer(lambda: next(draws))
        again = replace(request, readers=None)
        assert [capturing.reads(request), capturing.reads(again)] == [True, True]

    with_request(50, story)


def test_a_request_that_there_is_no_memory_for_is_counted_as_lost() -> None:
    def story(request: Passage) -> None:
        lost: list[tuple[str, str]] = []
        observer(lost=lost).missed(request)
        assert lost == [("shop", "v")]

    with_request(100, story)
