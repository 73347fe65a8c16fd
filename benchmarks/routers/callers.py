"""Callers of two routers, with boto3: each keeps to one router, and takes the other when a connection fails."""

import bisect
import random
import threading
import time
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionError, HTTPClientError

from benchmarks.interrupted.stand import REGION

NO_RESPONSE = "could not get a response"
"""The answer to a call that was in an instance as that ended."""
TURNED_AWAY = "takes no more requests here: try again"
"""The answer, a 503, to a call that a router held as it ended: it was sent to no instance."""
ENDPOINT = "shop"


@dataclass
class Called:
    """What the callers got."""

    right: int = 0
    moved: int = 0  # a connection failed, and the caller took the other router
    broken_at_s: list[float] = field(default_factory=list)  # calls in flight in an instance that ended
    turned_away_at_s: list[float] = field(default_factory=list)  # calls that a router held as it ended
    faults: list[str] = field(default_factory=list)
    slowest_s: float = 0.0


class Callers:
    """`answers` has the number that each model answers; the first model is called most, by Zipf's law. A
    caller pauses for so long between two calls."""

    def __init__(
        self, urls: list[str], answers: dict[str, float], threads: int, seed: int, pause_s: float = 0.0
    ) -> None:
        self.called = Called()
        self._urls = urls
        self._answers = answers
        self._models = list(answers)
        self._weights = list(accumulate(1 / (rank + 1) for rank in range(len(answers))))
        self._pause_s = pause_s
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run, args=(place, seed + place)) for place in range(threads)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _run(self, place: int, seed: int) -> None:
        dice = random.Random(seed)
        clients = [client_of(url) for url in self._urls]
        while not self._over.is_set():
            point = dice.random() * self._weights[-1]
            place = self._call(clients, place, self._models[bisect.bisect_left(self._weights, point)])
            self._over.wait(self._pause_s)

    def _call(self, clients: list[Any], place: int, model: str) -> int:
        """Make one call, over all routers if need be. The router to call next."""
        began_s = time.monotonic()
        while not self._over.is_set():
            try:
                said = clients[place % len(clients)].invoke_endpoint(
                    EndpointName=ENDPOINT, TargetModel=model, ContentType="text/csv", Body="1"
                )
                number = float(said["Body"].read().decode().strip("[]\n"))
            except (ConnectionError, HTTPClientError):
                place += 1
                with self._lock:
                    self.called.moved += 1
                time.sleep(0.05)
                continue
            except ClientError as error:
                with self._lock:
                    self._refused(model, str(error))
                return place
            with self._lock:
                self.called.slowest_s = max(self.called.slowest_s, time.monotonic() - began_s)
                if number == self._answers[model]:
                    self.called.right += 1
                else:
                    self.called.faults.append(f"{model} answered {number}, not {self._answers[model]}")
            return place
        return place

    def _refused(self, model: str, said: str) -> None:
        if NO_RESPONSE in said:
            self.called.broken_at_s.append(time.monotonic())
        elif TURNED_AWAY in said:
            self.called.turned_away_at_s.append(time.monotonic())
        else:
            self.called.faults.append(f"{model}: {said}")


def client_of(url: str) -> Any:
    config = Config(retries={"total_max_attempts": 1}, read_timeout=90, connect_timeout=5)
    keys = {"aws_access_key_id": "x", "aws_secret_access_key": "y"}
    return boto3.client("sagemaker-runtime", REGION, endpoint_url=url, config=config, **keys)
