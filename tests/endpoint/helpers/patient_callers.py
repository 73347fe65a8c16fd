"""Callers of a live endpoint who call again what was cut or refused for now, and who end its processes meanwhile."""

import os
import random
import signal
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionError, HTTPClientError

from tests.endpoint.helpers.constant_models import number_of
from tests.endpoint.helpers.live_endpoint import REGION, LiveEndpoint
from tests.helpers.processes import children, gone, serving

CALLERS = 3
TRIES = 2_400
"""A control that was killed takes a while to come back, on a busy machine."""
ONCE = Config(retries={"total_max_attempts": 1}, read_timeout=90)


@dataclass
class Calls:
    """What callers got, who send these `members` of InvokeEndpoint and may get these numbers. A call that was cut or
    refused for now is made again, as boto3 does; it is lost if no answer comes."""

    members: Mapping[str, Any]
    right: Collection[float]
    answers: int = 0
    wrong: list[float] = field(default_factory=list)
    broken: int = 0  # answered by an instance that was killed meanwhile
    lost: list[str] = field(default_factory=list)

    def call(self, clients: list[Any], place: int) -> None:
        again = ""
        for turn in range(TRIES):
            try:
                said = clients[(place + turn) % len(clients)].invoke_endpoint(
                    **self.members, ContentType="text/csv", Body=b"1"
                )
                number = number_of({"Body": said["Body"].read()})
            except (ConnectionError, HTTPClientError) as error:
                again = str(error)
            except ClientError as error:
                if error.response["Error"]["Code"] == "ModelError":
                    self.broken += 1
                    return
                again = str(error)
            else:
                self.answers += 1
                self.wrong += [number] * (number not in self.right)
                return
            time.sleep(0.05)
        self.lost.append(again)


@contextmanager
def called(urls: list[str], seen: Calls) -> Iterator[Calls]:
    """Callers at all of these ports in turn."""
    over = threading.Event()
    keys = {"aws_access_key_id": "x", "aws_secret_access_key": "y"}

    def caller(place: int) -> None:
        clients = [boto3.client("sagemaker-runtime", REGION, endpoint_url=url, config=ONCE, **keys) for url in urls]
        while not over.is_set():
            place += 1
            seen.call(clients, place)

    threads = [threading.Thread(target=caller, args=(place,)) for place in range(CALLERS)]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        over.set()
        for thread in threads:
            thread.join(180.0)


def zygotes(live: LiveEndpoint) -> list[int]:
    """The processes that instances are forked from."""
    return [pid for worker in live.worker_pids() for pid in children(worker) if serving(pid)]


def kill(live: LiveEndpoint, victim: str, dice: random.Random) -> int:
    """End an `instance`, the `zygote`, or the `control`, which starts again. How many instances that may have ended: a
    caller may have had a request in each of them, one after the other."""
    instances = [pid for parent in zygotes(live) for pid in serving(parent)]
    match victim:
        case "instance":
            if instances:
                _end(dice.choice(instances))
            return min(1, len(instances))
        case "zygote":
            for pid in zygotes(live):
                _end(pid)
        case "control":
            live.kill()
            live.start()
    return len(instances)


def _end(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    assert gone(pid, 60)
