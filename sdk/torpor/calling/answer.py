"""What comes back of a call: the answer, and what it says of its own time."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_STEP = re.compile(r"([\w-]+)\s*;\s*dur=(\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer. Header names are in lower case."""

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
        """What the request waited for, by step, as its `Server-Timing` says. AWS's endpoints have none."""
        return steps_ms(self.headers.get("server-timing", ""))


def steps_ms(server_timing: str) -> dict[str, float]:
    """Milliseconds by step."""
    return {step: float(took) for step, took in _STEP.findall(server_timing)}
