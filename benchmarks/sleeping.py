"""Endpoints that sleep after a second without a call: makes them, waits until they sleep, and counts their wakes."""

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.request import urlopen

from torpor.hosting.endpoint_deployment import EndpointPlan, deploy
from torpor.hosting.endpoint_process import ChildEndpoint
from torpor_container.processes import process_tree

BUCKET = "benchmark"
IDLE = {"TORPOR_IDLE_SECONDS": "1"}
POLL_S = 0.05


class StillAwake(Exception):
    """An instance still runs although nothing calls it."""


class Sleepers:
    """The endpoints of one process, all with one prefix, and the processes below it: worker, zygotes, instances."""

    def __init__(self, process: ChildEndpoint) -> None:
        self.process = process
        self._sagemaker = process.client("sagemaker")

    @property
    def port(self) -> int:
        return int(self.process.url.rpartition(":")[2])

    def add(self, name: str, instances: int = 1) -> None:
        """An endpoint in service, of at most so many instances. (A serverless one takes 200 requests at once.)"""
        deploy(
            self._sagemaker,
            EndpointPlan(name, f"s3://{BUCKET}/models/", IDLE, instance_count=instances, instances_min=0),
        )

    def until_asleep(self, within_s: float = 60.0) -> None:
        """Wait until all endpoints sleep. Raises StillAwake."""
        deadline_s = time.monotonic() + within_s
        while awake := [*self._wanted(), *(str(pid) for pid in self.instances())]:
            if time.monotonic() > deadline_s:
                raise StillAwake(f"after {within_s:g} s there is still {', '.join(awake)}")
            time.sleep(POLL_S)

    def _wanted(self) -> Iterator[str]:
        with urlopen(f"{self.process.url}/_torpor/endpoints") as answer:
            for endpoint in json.load(answer)["endpoints"]:
                if any(variant["wanted"] + variant["leaving"] for variant in endpoint["variants"]):
                    yield endpoint["name"]

    def started(self, name: str) -> int:
        """How many instances an endpoint ever had, since each has a log of its own."""
        return sum(1 for _ in (self.process.data_dir / "logs" / "endpoints" / name).glob("*/*.log"))

    # -- its processes ---------------------------------------------------------------------------------------------
    def own(self) -> list[int]:
        """The endpoint's own processes: gunicorn's arbiter and its worker."""
        return [self.process.pid, *children(self.process.pid)]

    def zygotes(self) -> list[int]:
        return [pid for worker in children(self.process.pid) for pid in children(worker)]

    def instances(self) -> list[int]:
        """The processes that they started, which are all forked by a zygote."""
        return [pid for zygote in self.zygotes() for pid in children(zygote)]

    def end_zygotes(self) -> None:
        """Stop the zygotes, as their idle time would."""
        for pid in self.zygotes():
            os.kill(pid, signal.SIGKILL)
        while self.zygotes():
            time.sleep(POLL_S)


def children(pid: int) -> list[int]:
    """The running processes, without zombies."""
    return [child for child in process_tree.children(pid) if _state(child) != "Z"]


def _state(pid: int) -> str:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return "Z"


def rss_mib(pids: list[int]) -> float:
    """The resident memory; shared pages count for each process."""
    pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids)
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def pss_mib(pids: list[int]) -> float:
    """The proportional memory: a page that several processes share counts for each by its part."""
    rows = (Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines() for pid in pids)
    return sum(int(row.split()[1]) for found in rows for row in found if row.startswith("Pss:")) / 1024


@contextmanager
def sleepers() -> Iterator[Sleepers]:
    with ChildEndpoint() as process:
        yield Sleepers(process.until_ready())
