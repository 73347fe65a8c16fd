"""Data capture chooses requests with a whole answer, of variants that capture."""

from dataclasses import replace

import pytest

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.passages import passage
from tests.endpoint.helpers.pool_on_fake_host import PoolOnFakeHost
from tests.endpoint.helpers.virtual_time import run
from torpor_endpoint.core.records import DataCapture
from torpor_endpoint.fleet.roster import LiveEndpoint
from torpor_endpoint.services.runtime.capture.observer import CaptureObserver
from torpor_endpoint.services.runtime.passage import Route


@pytest.mark.parametrize(
    ("operation", "percentage", "chosen"),
    [("invocations", 100, True), ("invocations", 0, False), ("invocations-response-stream", 100, False)],
)
def test_a_request_is_chosen_by_its_operation_and_the_sampling(operation: str, percentage: int, chosen: bool) -> None:
    async def story() -> None:
        with FakeHost() as host:
            pool = PoolOnFakeHost(host).pool
            pool.variant = replace(pool.variant, capture=DataCapture("s3://captured/here", percentage))
            request = passage("shop", route=Route(LiveEndpoint("shop", "arn", {"v": pool}), "v", pool, None))
            request.scope["path"] = f"/endpoints/shop/{operation}"
            assert CaptureObserver(lambda: 0.5, lambda sampled, size_bytes: None).reads(request) is chosen

    run(story())
