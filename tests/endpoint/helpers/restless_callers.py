"""Callers of one model who never stop: each answer is the number of its version, and each notes what was withdrawn."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.endpoint.helpers.constant_models import number_of
from tests.endpoint.helpers.live_endpoint import REGION


class Callers:
    """Callers who never stop. `withdrawn` has the versions that no call that begins now may be answered by, and
    `waited` the steps of the calls that waited for a load."""

    def __init__(self, clients: list[Any], endpoint: str, target: str = "iris") -> None:
        self.withdrawn: frozenset[int] = frozenset()
        self.answered = 0
        self.failed: list[str] = []
        self.broken: list[str] = []  # by an instance that was killed while it had the call
        self.stale: list[float] = []
        self.waited: list[str] = []
        self._target = target
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
                    EndpointName=self._endpoint, Body=b"1", ContentType="text/csv", TargetModel=self._target
                )
                number = number_of({"Body": answer["Body"].read()})
            except ClientError as error:
                broken = error.response["Error"]["Code"] == "ModelError"
                (self.broken if broken else self.failed).append(str(error))
            else:
                steps = answer["ResponseMetadata"]["HTTPHeaders"]["server-timing"]
                self.waited += [steps] * ("load;" in steps)
                self.stale += [number] * (number in withdrawn & self.withdrawn)  # it was not brought back
            with self.counted:
                self.answered += 1
                self.counted.notify_all()


def runtime(url: str) -> Any:
    config = Config(retries={"total_max_attempts": 5, "mode": "standard"}, read_timeout=90)
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    return boto3.client("sagemaker-runtime", REGION, endpoint_url=url, config=config, **keys)
