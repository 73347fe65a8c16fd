"""The container or server that is checked, as a check sees it: requests, models by name, and what may be sent."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar
from urllib.parse import quote

from torpor.conformance.container_client import NO_HEADERS, ContainerAnswer, ContainerClient, NoContainerAnswer
from torpor.conformance.judging import expect_success, skip
from torpor.conformance.limits import ContractLimits
from torpor.conformance.sample_inputs import DEFAULT_SAMPLE, ModelArtifact, Sample, model_id
from torpor.conformance.started_container import StartedContainer
from torpor_container import wire

T = TypeVar("T")
JSON_BOTH = {"Content-Type": "application/json", "Accept": "application/json"}


class UseCase(StrEnum):
    """What SageMaker uses a container for, or another protocol that a server speaks. Each rule applies to some."""

    SINGLE = "single"
    MULTI = "multi"
    STREAMING = "streaming"
    PIPELINE = "pipeline"
    BATCH = "batch"
    V2 = "v2"
    TFS = "tfs"


@dataclass(frozen=True)
class Material:
    """What the caller gives for the checks. A check for which something is missing is skipped."""

    sample: Sample = DEFAULT_SAMPLE
    slow: Sample | None = None
    stream: Sample | None = None
    models: Sequence[ModelArtifact] = ()
    too_large: ModelArtifact | None = None
    listed_models: int = 3
    """How many models are loaded to see all pages of the list."""
    served: str = ""
    """The name of the model that a server of another protocol has."""
    request: bytes = b""
    """A request in that protocol's JSON; empty: one of ones is made."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """What such a server wants with each request, as who calls."""


@dataclass
class CheckedContainer:
    """Everything that a check may use. Close it: it unloads the model that it keeps for invocations."""

    client: ContainerClient
    uses: frozenset[UseCase]
    material: Material = Material()
    limits: ContractLimits = field(default_factory=ContractLimits)
    process: StartedContainer | None = None
    run: str = ""
    """Makes the names of models differ from those of another run against the same container."""
    _resident: str | None = field(default=None, init=False)

    @property
    def is_multi(self) -> bool:
        return UseCase.MULTI in self.uses

    # -- requests --------------------------------------------------------------------------------------------------
    def get(self, path: str, within_s: float | None = None) -> ContainerAnswer:
        """Raises NoContainerAnswer, as every request does."""
        return self.client.send("GET", path, within_s=within_s or self.limits.invoke_s)

    def ping(self) -> ContainerAnswer:
        """One health check, within the two seconds that it may take."""
        return self.client.send("GET", wire.PING, within_s=self.limits.ping_s)

    def invoke(
        self, sample: Sample | None = None, headers: Mapping[str, str] = NO_HEADERS, name: str | None = None
    ) -> ContainerAnswer:
        """One invocation with this sample, else with the caller's: of the single model, or of the model of this name,
        else of the one that is kept loaded. Raises RuleSkipped if that one cannot be loaded."""
        sent = sample or self.material.sample
        path = self.invocation_path(name)
        return self.client.send(
            "POST", path, sent.body, self.invocation_headers(sent, headers), within_s=self.limits.invoke_s
        )

    def invocation_path(self, name: str | None = None) -> str:
        return f"{model_path(name or self.resident())}/invoke" if self.is_multi else wire.INVOCATIONS

    def invocation_headers(self, sample: Sample, more: Mapping[str, str] = NO_HEADERS) -> dict[str, str]:
        target = {wire.TARGET_MODEL: self.artifact.target} if self.is_multi else {}
        return {"Content-Type": sample.content_type, **target, **more}

    def at_once(self, calls: Sequence[Callable[[], T]]) -> list[T]:
        """What the calls return, made at the same time. Raises what the first one raises that fails."""
        with ThreadPoolExecutor(len(calls)) as pool:
            return [future.result() for future in [pool.submit(call) for call in calls]]

    # -- models ----------------------------------------------------------------------------------------------------
    @property
    def artifact(self) -> ModelArtifact:
        """The first model that was given. Raises RuleSkipped if there is none."""
        return self.material.models[0] if self.material.models else skip("give a model with --model NAME=PATH")

    def name(self, purpose: str) -> str:
        """A model's name, which no other purpose and no other run has."""
        return model_id(f"{self.run} {purpose}")

    def load(self, name: str, artifact: ModelArtifact | None = None) -> ContainerAnswer:
        """LoadModel under this name, of this artifact, else of the first."""
        given = artifact or self.artifact
        body = json.dumps({"model_name": name, "url": str(given.folder)}).encode()
        headers = {**JSON_BOTH, wire.TARGET_MODEL: given.target}
        return self.client.send("POST", wire.MODELS, body, headers, within_s=self.limits.load_s)

    def described(self, name: str) -> ContainerAnswer:
        """GetModel."""
        return self.get(model_path(name))

    def unload(self, name: str) -> ContainerAnswer:
        """UnloadModel."""
        return self.client.send("DELETE", model_path(name), within_s=self.limits.unload_s)

    @contextmanager
    def loaded(self, purpose: str, artifact: ModelArtifact | None = None) -> Iterator[str]:
        """The name of a model that is loaded within the block. Raises RuleBroken if it cannot be."""
        name = self.name(purpose)
        try:
            expect_success(self.load(name, artifact))
            yield name
        finally:
            self.forget(name)

    def forget(self, name: str) -> None:
        """Unload a model, whatever the container answers."""
        with suppress(NoContainerAnswer):
            self.unload(name)

    def resident(self) -> str:
        """The name of the model that is kept loaded for invocations. Raises RuleSkipped if it cannot be loaded."""
        if self._resident is None:
            name = self.name("resident")
            answer = self.load(name)
            if not answer.is_success:
                skip(f"no model can be loaded: LoadModel answered {answer.status}")
            self._resident = name
        return self._resident

    def close(self) -> None:
        if self._resident is not None:
            self.forget(self._resident)
            self._resident = None


def model_path(name: str) -> str:
    return f"{wire.MODELS}/{quote(name, safe='')}"
