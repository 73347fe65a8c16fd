"""Switches and rollbacks of versions under load, at the control and at a router, with instances killed meanwhile.

Each answer is the number of its version. A caller notes which versions were withdrawn before its call began.
"""

import os
import signal
from functools import partial
from pathlib import Path

import pytest

from tests.endpoint.fleet.versions.test_live_versions import label, page
from tests.endpoint.helpers.constant_models import constant
from tests.endpoint.helpers.endpoint_pages import forked
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.live_router import LiveRouter
from tests.endpoint.helpers.restless_callers import Callers, runtime
from tests.helpers.waiting import soon

FLEET = {"InstanceType": "ml.m5.large", "InitialInstanceCount": 2}


def _answers(live: LiveEndpoint, endpoint: str, number: int) -> bool:
    return bool(page(live, endpoint, "iris")["default"] == number)


@pytest.mark.parametrize(
    ("switches", "rollbacks", "calls"),
    [(3, 1, 30), pytest.param(20, 5, 400, marks=pytest.mark.thorough)],
)
def test_no_call_fails_and_none_is_answered_by_a_withdrawn_version(
    tmp_path: Path, switches: int, rollbacks: int, calls: int
) -> None:
    with LiveEndpoint(tmp_path / "data") as live:
        s3 = live.client("s3")
        s3.create_bucket(Bucket="load")
        s3.put_object(Bucket="load", Key="shop/iris/1/m.tar", Body=constant(1.0))
        shop = live.deploy("Load", Variant(many("load/shop", {"TORPOR_VERSIONS": "all"}), members=FLEET))
        router = LiveRouter(live.url, tmp_path / "router.log")
        try:
            clients = [runtime(url) for url in (live.url, live.url, router.url, router.url)]
            kills = 0
            with Callers(clients, shop).calling() as callers:
                for number in range(2, switches + 2):
                    callers.some(calls)
                    s3.put_object(Bucket="load", Key=f"shop/iris/{number}/m.tar", Body=constant(float(number)))
                    assert soon(partial(_answers, live, shop, number), within_s=60)
                    label(live, shop, "iris", label="seen", version=str(number))  # it returns once routers follow
                    callers.withdrawn = frozenset(range(1, number))  # the label's call has returned
                    if number % 4 == 2:
                        os.kill(forked(live)[0], signal.SIGKILL)
                        kills += 1
                for _ in range(rollbacks):
                    callers.some(calls)
                    newest = switches + 1
                    callers.withdrawn = frozenset()
                    label(live, shop, "iris", label="default", version=str(newest - 1))
                    callers.withdrawn = frozenset({newest})
                    callers.some(calls)
                    callers.withdrawn = frozenset()
                    label(live, shop, "iris", label="default")  # the newest again
                    callers.withdrawn = frozenset({newest - 1})
                callers.some(calls)
        finally:
            router.kill()
        assert callers.failed == []
        assert callers.stale == []
        assert len(callers.broken) <= kills * len(clients)
        # each waits for the first load of each instance, and once more where that meets a switch; never for a switch
        assert len(callers.waited) <= 2 * (1 + kills) * len(clients)
