"""The endpoint process of a soak test, and its endpoints: how they are made, and what is visible from outside."""

import json
import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import boto3

from benchmarks.sleeping import children
from torpor_container.processes.process_tree import TRIAL, is_named

BUCKET = "soak"
SERVERLESS = {"ServerlessConfig": {"MemorySizeInMB": 1024, "MaxConcurrency": 200}}
WARM_IDLE_S = 1.0
TO_ZERO = {
    "InstanceType": "ml.m5.large",
    "InitialInstanceCount": 1,
    "ManagedInstanceScaling": {"Status": "ENABLED", "MinInstanceCount": 0, "MaxInstanceCount": 2},
}


@dataclass(frozen=True)
class Kind:
    """One endpoint over the bucket's models: its instances, and its container's settings."""

    name: str
    capacity: Mapping[str, Any]
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def revalidates(self) -> bool:
        return self.environment.get("TORPOR_REVALIDATE") == "disk"


KINDS = (
    Kind("serverless", SERVERLESS),
    Kind("serverless-fresh", SERVERLESS, {"TORPOR_REVALIDATE": "disk", "TORPOR_MODEL_IDLE_SECONDS": "1"}),
    Kind("to-zero", TO_ZERO, {"TORPOR_MODEL_IDLE_SECONDS": "1"}),
    Kind("to-zero-fresh", TO_ZERO, {"TORPOR_REVALIDATE": "disk", "TORPOR_MEMORY_MIB": "48"}),
)
"""Models leave for lack of calls, for lack of room, or not at all; what is loaded again is asked for in S3, or not."""


class Stage:
    """One endpoint process. Everything that it starts carries a mark in its environment, and a temporary folder."""

    def __init__(self, folder: Path) -> None:
        self.data_dir = folder / "endpoint"
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self._mark = uuid.uuid4().hex
        environment = {**os.environ, "TMPDIR": str(self.temporary), "TORPOR_SOAK": self._mark}
        with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener, self._log.open("wb") as log:
            self.port: int = listener.getsockname()[1]
            descriptor = listener.fileno()
            command = [sys.executable, "-m", "torpor_endpoint", "--data-dir", str(self.data_dir)]
            command += ["--port", str(self.port), "--descriptor", str(descriptor), "--warm-idle", str(WARM_IDLE_S)]
            self._process = subprocess.Popen(
                command,
                env=environment,
                stdout=log,
                stderr=log,
                pass_fds=[descriptor],
            )

    @property
    def _log(self) -> Path:
        return self.temporary.parent / "endpoint.log"

    def output(self) -> list[str]:
        return self._log.read_text(errors="replace").splitlines()

    def stop(self) -> int:
        """Stop the process. Returns its exit code."""
        self._process.terminate()
        return self._process.wait(60.0)

    # -- its endpoints ---------------------------------------------------------------------------------------------
    @cached_property
    def sagemaker(self) -> Any:
        session = boto3.Session("soak", "soak", region_name="us-east-1")
        return session.client("sagemaker", endpoint_url=f"http://127.0.0.1:{self.port}")

    def configure(self, kind: Kind, config: str) -> None:
        """A model and an endpoint configuration of this name. No two are alike, so each needs instances of its own."""
        container = {
            "Image": "torpor",
            "Mode": "MultiModel",
            "ModelDataUrl": f"s3://{BUCKET}/models/",
            "Environment": {"TORPOR_IDLE_SECONDS": "1", "SOAK_CONFIG": config, **kind.environment},
        }
        variant = {"VariantName": "AllTraffic", "ModelName": config, **kind.capacity}
        self.sagemaker.create_model(ModelName=config, PrimaryContainer=container)
        self.sagemaker.create_endpoint_config(EndpointConfigName=config, ProductionVariants=[variant])

    def forget(self, config: str) -> None:
        self.sagemaker.delete_endpoint_config(EndpointConfigName=config)
        self.sagemaker.delete_model(ModelName=config)

    def present(self) -> dict[str, int]:
        """Instances that are wanted or not gone yet, by endpoint, as the endpoint's own page has it."""
        with urlopen(f"http://127.0.0.1:{self.port}/_torpor/endpoints", timeout=120.0) as answer:
            endpoints = json.load(answer)["endpoints"]
        return {
            endpoint["name"]: sum(variant["wanted"] + variant["leaving"] for variant in endpoint["variants"])
            for endpoint in endpoints
        }

    def until_quiet(self, within_s: float) -> None:
        """Wait until no endpoint has an instance, for at most this time."""
        deadline_s = time.monotonic() + within_s
        while any(self.present().values()) and time.monotonic() < deadline_s:
            time.sleep(0.1)

    # -- its processes ---------------------------------------------------------------------------------------------
    def own(self) -> list[int]:
        """gunicorn's arbiter, and its worker."""
        return [self._process.pid, *children(self._process.pid)]

    def zygotes(self) -> list[int]:
        return [pid for worker in children(self._process.pid) for pid in children(worker)]

    def forked(self) -> list[int]:
        """What the zygotes have forked: instances, and the scripts of their models."""
        return [pid for zygote in self.zygotes() for pid in children(zygote) if not is_named(pid, TRIAL)]

    def instances(self, endpoint: str) -> list[int]:
        """Those whose output goes to a log of this endpoint."""
        logs = self.data_dir / "logs" / "endpoints" / endpoint
        return [pid for pid in self.forked() if _output(pid).is_relative_to(logs)]

    def marked(self) -> list[int]:
        """Every process with the mark, whatever its parent is now."""
        return [int(folder.name) for folder in Path("/proc").glob("[0-9]*") if self._mark in _environment(folder)]

    def started(self) -> int:
        """How many instances there ever were, since each has a log of its own."""
        return sum(1 for _ in (self.data_dir / "logs" / "endpoints").glob("*/*/*.log"))


def _output(pid: int) -> Path:
    with suppress(OSError):
        return Path(os.readlink(f"/proc/{pid}/fd/1"))
    return Path("/")


def _environment(folder: Path) -> str:
    with suppress(OSError):
        return (folder / "environ").read_bytes().decode("latin-1")
    return ""


@contextmanager
def stage(folder: Path) -> Iterator[Stage]:
    """Ended with the block, and killed whole if it does not end."""
    made = Stage(folder)
    try:
        yield made
    finally:
        with suppress(subprocess.TimeoutExpired):
            made.stop()
        for pid in made.marked():
            with suppress(ProcessLookupError):
                os.kill(pid, 9)
