"""A whole endpoint in a process of its own, and real boto3 clients on its real port. Every live test starts here.

A bucket is a folder, so a model is put by writing a file below `folder(bucket)`.
"""

import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from configparser import ConfigParser
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import boto3
from botocore.config import Config

from tests.helpers.forked_starts.starting import Started, start
from tests.helpers.kill_together import kill_together
from tests.helpers.processes import gone
from tests.helpers.waiting import PATIENCE_S

ACCOUNT = "123456789012"
REGION = "us-east-1"
POLL_S = 0.02
POLL_SHARE = 0.05
"""A long wait is asked after less often: each question takes processor time from what is waited for."""
BUSY = frozenset({"Creating", "Updating", "RollingBack", "Deleting"})


class NotInService(AssertionError):
    """An endpoint that settled in another status than InService."""


@dataclass(frozen=True)
class Variant:
    """One production variant: its ContainerDefinition, or several, and the members that replace one `ml.m5.large`.

    `mode` is the InferenceExecutionConfig of several.
    """

    container: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    name: str = "AllTraffic"
    members: Mapping[str, Any] = field(default_factory=lambda: {"InstanceType": "ml.m5.large"})
    shadow: bool = False
    mode: str = "Serial"

    def model(self) -> dict[str, Any]:
        """CreateModel's members."""
        if isinstance(self.container, Mapping):
            return {"PrimaryContainer": self.container}
        return {"Containers": list(self.container), "InferenceExecutionConfig": {"Mode": self.mode}}

    def production(self, model: str) -> dict[str, Any]:
        count = {} if "ServerlessConfig" in self.members else {"InitialInstanceCount": 1}
        return {"VariantName": self.name, "ModelName": model, **count, **self.members}


NO_GUESS = "--warm-idle", "59"
"""With a second less than the minute of an unused zygote, none is started on a guess: its imports take as long as the
whole rest of a small test."""
MEETING_PLACE = {"TORPOR_SCRIPT_WRITES": tempfile.gettempdir()}
"""Scripts of tests wait for pipes in the tests' own folders, which are no part of their boxes."""


def many(prefix: str, environment: Mapping[str, str] | None = None, **members: Any) -> dict[str, Any]:
    """The container of a multi-model endpoint: `prefix` is `bucket/prefix`."""
    container = {"Image": "torpor", "Mode": "MultiModel", "ModelDataUrl": f"s3://{prefix}", **members}
    return {**container, "Environment": {**MEETING_PLACE, **(environment or {})}}


def one(key: str, environment: Mapping[str, str] | None = None, **members: Any) -> dict[str, Any]:
    """The container of a single-model endpoint: `key` is `bucket/key` of its artifact."""
    container = {"Image": "torpor", "ModelDataUrl": f"s3://{key}", **members}
    return {**container, "Environment": {**MEETING_PLACE, **(environment or {})}}


LIGHT = sys.executable, "-P", str(Path(__file__).with_name("light_endpoint.py"))
WHOLE = sys.executable, "-m", "torpor_endpoint"


class LiveEndpoint:
    """`python -m torpor_endpoint` on a port, which it keeps over a restart; 0 takes a free one. `options` are its
    command line's, `environment` are variables beside those of this process. `launched` is the command that starts its
    command. `frameworks`: its zygotes import them, which takes two seconds of a processor, once, and not each process
    that loads a model of scikit-learn."""

    def __init__(
        self,
        data_dir: Path,
        *options: str,
        environment: Mapping[str, str] | None = None,
        port: int = 0,
        frameworks: bool = False,
        launched: Callable[..., list[str]] = lambda *command: [*command],
    ) -> None:
        self.data_dir = data_dir
        self._launched = launched
        self._program = WHOLE if frameworks else LIGHT
        self._environment = {**os.environ, **(environment or {})}
        self._options = options
        self._process: Started | None = None
        self._port = port

    def __enter__(self) -> "LiveEndpoint":
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()

    # -- the process -----------------------------------------------------------------------------------------------
    def start(self) -> "LiveEndpoint":
        """Starts the endpoint, also for a second time. Requests may be sent at once: the socket listens already."""
        self.data_dir.mkdir(parents=True, exist_ok=True)
        with self._listener() as listener, (self.data_dir / "endpoint.log").open("ab") as log:
            self._port = listener.getsockname()[1]
            command = [*self._program, "--descriptor", str(listener.fileno()), "--port", str(self._port)]
            command += ["--data-dir", str(self.data_dir), *NO_GUESS, *self._options]
            self._process = start(self._launched(*command), log, pass_fds=[listener.fileno()], env=self._environment)
        return self

    def stop(self, within_s: float = 60.0) -> int:
        """Sends SIGTERM, and returns the exit code. An endpoint that does not end in time is killed."""
        assert self._process is not None
        self._process.terminate()
        try:
            return self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def ended(self, within_s: float = 60.0) -> int:
        """The exit code of an endpoint that ends by itself."""
        assert self._process is not None
        return self._process.wait(within_s)

    def kill(self) -> None:
        """`kill -9` of the arbiter and its worker, with no chance to say good-bye: it returns when all is closed."""
        assert self._process is not None
        arbiter, workers = self.pid, self.worker_pids()
        kill_together(arbiter, workers)
        self._process.wait()
        for pid in (arbiter, *workers):
            assert gone(pid)

    def kill_arbiter(self) -> None:
        """`kill -9` of the arbiter alone: its worker is an orphan."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    @property
    def pid(self) -> int:
        """The arbiter's."""
        assert self._process is not None
        return self._process.pid

    def worker_pids(self) -> list[int]:
        with suppress(FileNotFoundError):
            return [int(pid) for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]
        return []

    def output(self) -> str:
        return (self.data_dir / "endpoint.log").read_text(errors="replace")

    # -- its clients -----------------------------------------------------------------------------------------------
    @cached_property
    def keys(self) -> tuple[str, str]:
        """The access key of the tests' clients: with `--auth` the root's, which the first start makes."""
        if "--auth" not in self._options:
            return "test", "test"
        self.page("health")  # it answers when all is made
        parser = ConfigParser(interpolation=None)
        parser.read(self.data_dir / "credentials")
        return parser["default"]["aws_access_key_id"], parser["default"]["aws_secret_access_key"]

    @cached_property
    def _session(self) -> Any:
        return boto3.Session(*self.keys, region_name=REGION)

    @property
    def url(self) -> str:
        return f"{'https' if self.trusted else 'http'}://127.0.0.1:{self._port}"

    @property
    def trusted(self) -> Path | None:
        """What clients trust its certificate by, if it makes one itself."""
        return self.data_dir / "tls" / "trusted.pem" if "--tls-self-signed" in self._options else None

    def page(self, name: str) -> bytes:
        """The body of one of its own pages. Its certificate is not verified: it may not be made yet."""
        unverified = ssl._create_unverified_context() if self.trusted else None
        with urlopen(f"{self.url}/_torpor/{name}", context=unverified) as answer:
            return bytes(answer.read())

    def client(self, service: str, **config: Any) -> Any:
        """A new boto3 client. It tries once, unless `config` says otherwise."""
        options = {"retries": {"total_max_attempts": 1, "mode": "standard"}, "max_pool_connections": 64, **config}
        trust = {"verify": str(self.trusted)} if self.trusted else {}
        return self._session.client(service, endpoint_url=self.url, config=Config(**options), **trust)

    @cached_property
    def sagemaker(self) -> Any:
        return self.client("sagemaker")

    @cached_property
    def runtime(self) -> Any:
        return self.client("sagemaker-runtime")

    @cached_property
    def cloudwatch(self) -> Any:
        return self.client("cloudwatch")

    def invoke(self, endpoint: str, body: bytes, content_type: str = "text/csv", **members: Any) -> Any:
        """InvokeEndpoint's answer, with its Body read."""
        answer = self.runtime.invoke_endpoint(EndpointName=endpoint, Body=body, ContentType=content_type, **members)
        return {**answer, "Body": answer["Body"].read()}

    # -- what it serves --------------------------------------------------------------------------------------------
    def folder(self, bucket: str) -> Path:
        """The folder that is this bucket, made if need be."""
        folder = self.data_dir / "s3" / bucket
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def create(self, name: str, *variants: Variant, **config: Any) -> None:
        """Models, config and endpoint, all of this name; the endpoint is still Creating. `config` are its members."""
        models = {f"{name}-{variant.name}": variant for variant in variants}
        for model, variant in models.items():
            self.sagemaker.create_model(ModelName=model, **variant.model())
        production = [variant.production(model) for model, variant in models.items() if not variant.shadow]
        shadows = [variant.production(model) for model, variant in models.items() if variant.shadow]
        members = {"ProductionVariants": production, **({"ShadowProductionVariants": shadows} if shadows else {})}
        self.sagemaker.create_endpoint_config(EndpointConfigName=name, **members, **config)
        self.sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=name)

    def deploy(self, name: str, *variants: Variant, **config: Any) -> str:
        """The name of an endpoint that is InService. Raises NotInService with the FailureReason."""
        self.create(name, *variants, **config)
        described = self.settled(name)
        if described["EndpointStatus"] != "InService":
            raise NotInService(f"{described['EndpointStatus']}: {described.get('FailureReason')}")
        return name

    def settled(self, name: str, within_s: float = 180.0) -> Any:
        """DescribeEndpoint's answer once nothing is in progress any more."""
        began = time.monotonic()
        while (described := self.sagemaker.describe_endpoint(EndpointName=name))["EndpointStatus"] in BUSY:
            taken_s = time.monotonic() - began
            if taken_s > within_s:
                raise NotInService(f"still {described['EndpointStatus']} after {within_s:g} s: {self.output()[-2000:]}")
            time.sleep(max(POLL_S, POLL_SHARE * taken_s))
        return described

    def shown(self, name: str) -> list[dict[str, Any]]:
        """The variants of an endpoint with their instances and resident models, as `/_torpor/endpoints` shows them."""
        endpoints = json.loads(self.page("endpoints"))["endpoints"]
        return next(endpoint["variants"] for endpoint in endpoints if endpoint["name"] == name)

    # -- inside ----------------------------------------------------------------------------------------------------
    def _listener(self) -> socket.socket:
        """The port may be held for a moment yet, by a worker whose arbiter was killed."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                return socket.create_server(("127.0.0.1", self._port), backlog=1024)
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(POLL_S)
