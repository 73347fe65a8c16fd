"""The answer to a call, and the steps that its `Server-Timing` header lists."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_STEP = re.compile(r"([\w-]+)\s*;\s*dur=(\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer. Header names are in lower case."""

    body: bytes
    headers: Mapping[str, str]
    status: int = 200

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "")

    @property
    def invoked_production_variant(self) -> str:
        return self.headers.get("x-amzn-invoked-production-variant", "")

    @property
    def custom_attributes(self) -> str:
        return self.headers.get("x-amzn-sagemaker-custom-attributes", "")

    @property
    def request_id(self) -> str:
        return self.headers.get("x-amzn-requestid", "")

    @property
    def steps_ms(self) -> dict[str, float]:
        """Milliseconds by step of the request, from `Server-Timing`. AWS's endpoints send no such header."""
        return steps_ms(self.headers.get("server-timing", ""))


def steps_ms(server_timing: str) -> dict[str, float]:
    """Milliseconds by step, from the value of a `Server-Timing` header."""
    return {step: float(took) for step, took in _STEP.findall(server_timing)}
