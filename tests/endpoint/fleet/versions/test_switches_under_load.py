"""Switches and rollbacks of versions under load, at the control and at a router, with instances killed meanwhile.

Each answer is the number of its version. A caller notes which versions were withdrawn before its call began.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.endpoint.fleet.versions.test_live_versions import label, page
from tests.endpoint.helpers.constant_models import constant, number_of
from tests.endpoint.helpers.endpoint_pages import forked
from tests.endpoint.helpers.live_endpoint import REGION, LiveEndpoint, Variant, many
from tests.endpoint.helpers.live_router import LiveRouter
from tests.helpers.waiting import soon

FLEET = {"InstanceType": "ml.m5.large", "InitialInstanceCount": 2}


class Callers:
    """Callers who never stop. `withdrawn` has the versions that no call that begins now may be answered by."""

    def __init__(self, clients: list[Any], endpoint: str) -> None:
        self.withdrawn: frozenset[int] = frozenset()
        self.answered = 0
        self.failed: list[str] = []
        self.broken: list[str] = []  # by an instance that was killed while it had the call
        self.stale: list[float] = []
        self.counted = threading.Condition()
        self._endpoint = endpoint
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._call, args=(client,)) for client in clients]

    @contextmanager
    def calling(self) -> Iterator["Callers"]:
        for thread in self._threads:
            thread.start()
        try:
            yield self
        finally:
            self._over.set()
            for thread in self._threads:
                thread.join(90.0)

    def some(self, calls: int) -> None:
        """Wait for so many more answers."""
        with self.counted:
            until = self.answered + calls
            assert self.counted.wait_for(lambda: self.answered >= until or self.failed, 120.0)

    def _call(self, client: Any) -> None:
        while not self._over.is_set():
            withdrawn = self.withdrawn
            try:
                answer = client.invoke_endpoint(
                    EndpointName=self._endpoint, Body=b"1", ContentType="text/csv", TargetModel="iris"
                )
                number = number_of({"Body": answer["Body"].read()})
            except ClientError as error:
                broken = error.response["Error"]["Code"] == "ModelError"
                (self.broken if broken else self.failed).append(str(error))
            else:
                self.stale += [number] * (number in withdrawn & self.withdrawn)  # it was not brought back
            with self.counted:
                self.answered += 1
                self.counted.notify_all()


def runtime(url: str) -> Any:
    config = Config(retries={"total_max_attempts": 5, "mode": "standard"}, read_timeout=90)
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    return boto3.client("sagemaker-runtime", REGION, endpoint_url=url, config=config, **keys)


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
