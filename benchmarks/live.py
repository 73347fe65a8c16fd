"""Runs a multi-model endpoint in a process of its own, finds the processes below it, and signs requests to it."""

import asyncio
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Protocol
from urllib.request import urlopen

from benchmarks import client, scene
from benchmarks.measure import Target
from benchmarks.sleeping import POLL_S, StillAwake, children
from torpor.hosting.endpoint_deployment import EndpointPlan, deploy, until_in_service, withdraw
from torpor.hosting.endpoint_process import ChildEndpoint, Start
from torpor_container.processes.process_tree import TRIAL, is_named

BUCKET = "benchmark"
PREFIX = "models"
NAME = "bench"
TARGET = "x-amzn-sagemaker-target-model"
LOADERS = 4
ENDED_WITHIN_S = 60.0
CSV = {"content-type": "text/csv"}


class EndpointProcess(Protocol):
    """A process of an endpoint that answers."""

    @property
    def url(self) -> str: ...

    @property
    def pid(self) -> int: ...

    def client(self, service: str) -> Any: ...

    def bucket_folder(self, name: str) -> Path: ...


class Live:
    """No endpoint is in service before `deploy`. All endpoints use one prefix."""

    def __init__(self, process: EndpointProcess, prefix: str = PREFIX) -> None:
        self.process = process
        self.folder = process.bucket_folder(BUCKET) / prefix
        self.folder.mkdir(exist_ok=True)
        self._prefix = prefix
        self._sagemaker = process.client("sagemaker")
        self._endpoints: set[str] = set()

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", int(self.process.url.rpartition(":")[2])

    def deploy(self, instances: int = 1, endpoint: str = NAME, **environment: object) -> None:
        """Deploy an endpoint with these TORPOR_… settings."""
        settings = {name: str(value) for name, value in environment.items()}
        deploy(
            self._sagemaker,
            EndpointPlan(endpoint, f"s3://{BUCKET}/{self._prefix}/", settings, instance_count=instances),
        )
        self._endpoints.add(endpoint)

    def shadow(self, endpoint: str) -> None:
        """Update the endpoint to one that has a shadow variant too, of the same model, with a copy of every request."""
        config = self._sagemaker.describe_endpoint(EndpointName=endpoint)["EndpointConfigName"]
        (variant,) = self._sagemaker.describe_endpoint_config(EndpointConfigName=config)["ProductionVariants"]
        name, shadow = f"{config}-shadowed", {**variant, "VariantName": "Shadow"}
        variants = {"ProductionVariants": [variant], "ShadowProductionVariants": [shadow]}
        self._sagemaker.create_endpoint_config(EndpointConfigName=name, **variants)
        self._sagemaker.update_endpoint(EndpointName=endpoint, EndpointConfigName=name)
        until_in_service(self._sagemaker, endpoint, name)

    def deploy_containers(self, endpoint: str, keys: Sequence[str]) -> None:
        """Deploy an endpoint with one container for each artifact below the prefix, in their order."""
        url = f"s3://{BUCKET}/{self._prefix}"
        containers = [{"Image": "torpor", "ModelDataUrl": f"{url}/{key}"} for key in keys]
        variant = {"VariantName": "AllTraffic", "ModelName": endpoint, "InstanceType": "ml.m5.large"}
        self._sagemaker.create_model(ModelName=endpoint, Containers=containers)
        self._sagemaker.create_endpoint_config(
            EndpointConfigName=endpoint, ProductionVariants=[{**variant, "InitialInstanceCount": 1}]
        )
        self._sagemaker.create_endpoint(EndpointName=endpoint, EndpointConfigName=endpoint)
        until_in_service(self._sagemaker, endpoint, endpoint)
        self._endpoints.add(endpoint)

    def withdraw(self) -> None:
        """Delete the endpoints, and wait until their instances are gone. Raises StillAwake."""
        for endpoint in self._endpoints:
            withdraw(self._sagemaker, endpoint)
        deadline_s = time.monotonic() + ENDED_WITHIN_S
        while left := self.instances():
            if time.monotonic() > deadline_s:
                raise StillAwake(f"after {ENDED_WITHIN_S:g} s there are still the instances {left}")
            time.sleep(POLL_S)

    def link(self, models: Path) -> None:
        """Copy the files of a folder to objects below the prefix."""
        for path in models.iterdir():
            os.link(path, self.folder / path.name)

    # -- its processes ---------------------------------------------------------------------------------------------
    def pids(self) -> list[int]:
        return scene.tree(self.process.pid)

    def own(self) -> list[int]:
        """The endpoint's own processes: gunicorn's arbiter and its worker."""
        return [self.process.pid, *children(self.process.pid)]

    def instances(self) -> list[int]:
        """The instances' processes, which are forked by the zygote, a child of the worker."""
        parents = (parent for worker in children(self.process.pid) for parent in children(worker))
        return [pid for parent in parents for pid in children(parent) if not is_named(pid, TRIAL)]

    def trials(self) -> list[int]:
        """The processes that try models."""
        return [pid for pid in self.pids() if is_named(pid, TRIAL)]

    def seen(self, endpoint: str = NAME) -> list[dict[str, Any]]:
        """The endpoint's instances, by its own page, each with what its one container holds."""
        with urlopen(f"{self.process.url}/_torpor/endpoints") as answer:
            found = [one for one in json.load(answer)["endpoints"] if one["name"] == endpoint]
        instances = [instance for one in found for variant in one["variants"] for instance in variant["instances"]]
        return [{**instance, **instance["containers"][0]} for instance in instances]

    def resident(self, endpoint: str = NAME) -> int:
        """The number of models in memory, over all instances."""
        return sum(len(instance["models"]) for instance in self.seen(endpoint))

    # -- requests --------------------------------------------------------------------------------------------------
    def request(self, model: str, endpoint: str = NAME, body: bytes = scene.ROW) -> bytes:
        """The bytes of a signed InvokeEndpoint request with CSV."""
        path = f"/endpoints/{endpoint}/invocations"
        return client.request(path, _signed(self.process.url + path, {**CSV, TARGET: model}, body), body)

    def load(self, models: Sequence[str], endpoint: str = NAME) -> None:
        """Call each model once, a few at a time. Raises RuntimeError."""
        found = asyncio.run(client.together(self.address, [self.request(model, endpoint) for model in models], LOADERS))
        failed = [body for status, body in found if status != 200]
        if failed:
            raise RuntimeError(f"{len(failed)} of {len(models)} models did not answer: {failed[0]!r}")

    def through(self, name: str, expected: Mapping[str, float], endpoint: str = NAME) -> Target:
        """The endpoint's port as a target."""
        requests = [self.request(model, endpoint) for model in expected]
        return Target(name, self.address, requests, list(expected.values()), self.pids)

    def direct(self, name: str, expected: Mapping[str, float]) -> Target:
        """The only instance as a target, by its Unix socket. Only its own processor time counts."""
        requests = [client.request("/invocations", {**CSV, TARGET: model}, scene.ROW) for model in expected]
        (instance,) = self.instances()
        return Target(name, self._socket(), requests, list(expected.values()), lambda: [instance])

    def _socket(self) -> str:
        """The Unix socket with the instance's name."""
        listening = Path("/proc/net/unix").read_text().splitlines()
        (instance,) = self.seen()
        return next(line.split()[-1] for line in listening if line.endswith(str(instance["id"])))


Serve = Callable[[], AbstractContextManager[Live]]
"""An endpoint process that answers, without models and endpoints."""


@contextmanager
def live(otel: bool = False) -> Iterator[Live]:
    """A process of its own."""
    with ChildEndpoint(Start(otel=otel)) as process:
        yield Live(process.until_ready())


@contextmanager
def one_process() -> Iterator[Serve]:
    """One process for several users, one after another: it starts once, and imports the frameworks once."""
    with ChildEndpoint() as process:
        process.until_ready()
        number = count()

        @contextmanager
        def live() -> Iterator[Live]:
            running = Live(process, f"{PREFIX}-{next(number)}")
            yield running
            running.withdraw()

        yield live


def _signed(url: str, headers: dict[str, str], body: bytes) -> dict[str, str]:
    """The headers with a Signature Version 4, which is made once, since Torpor does not check its date."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    request = AWSRequest("POST", url, headers, body)
    SigV4Auth(Credentials("benchmark", "benchmark"), "sagemaker", "us-east-1").add_auth(request)
    return dict(request.headers.items())
