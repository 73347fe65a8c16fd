"""How a job sends its payloads: what the request says, else what the container advises, else AWS's defaults."""

from collections.abc import Mapping
from typing import Any

from torpor_container.frozen_class import frozen
from torpor_endpoint.core.transform.splitting import BatchStrategy, SplitType

MIB = 1024 * 1024
PAYLOAD_MIB = 6
TIMEOUT_S = 600
RETRIES = 3
PAYLOAD_MIB_MAX = 100
"""Of one payload, and of all payloads that an instance has at the same time."""
UNLIMITED_BYTES = 1 << 62

ADVISED_STRATEGIES = {"SINGLE_RECORD": BatchStrategy.SINGLE_RECORD, "MULTI_RECORD": BatchStrategy.MULTI_RECORD}


class BadAdvice(Exception):
    """What the container advises does not fit. The text tells a person what."""


@frozen
class TransformSettings:
    """`at_once` is the number of payloads that one instance has at the same time. `payload_mib` 0 is no limit."""

    split: SplitType
    strategy: BatchStrategy
    at_once: int
    payload_mib: int
    with_newlines: bool  # AssembleWith Line
    retries: int
    timeout_s: float

    @property
    def payload_bytes(self) -> int:
        return self.payload_mib * MIB or UNLIMITED_BYTES

    @property
    def streamed(self) -> bool:
        """Whether an object is one request, which is sent and answered in pieces."""
        alone = self.strategy is BatchStrategy.SINGLE_RECORD and self.split is not SplitType.NONE
        return not self.payload_mib and not alone

    def __str__(self) -> str:
        """As AWS's data log has it."""
        strategy = next(name for name, value in ADVISED_STRATEGIES.items() if value is self.strategy)
        return f"MaxConcurrentTransforms={self.at_once}, MaxPayloadInMB={self.payload_mib}, BatchStrategy={strategy}"


def settings(request: Mapping[str, Any], advice: Mapping[str, Any]) -> TransformSettings:
    """`advice` is the answer to `GET /execution-parameters`, or empty. Raises BadAdvice."""
    split = SplitType(request["TransformInput"].get("SplitType", "None"))
    client = request.get("ModelClientConfig", {})
    at_once = request.get("MaxConcurrentTransforms") or _number(advice, "MaxConcurrentTransforms") or 1
    payload_mib = request.get("MaxPayloadInMB")
    if payload_mib is None:
        payload_mib = _number(advice, "MaxPayloadInMB") or PAYLOAD_MIB
    if at_once * payload_mib > PAYLOAD_MIB_MAX:
        raise BadAdvice(
            f"MaxConcurrentTransforms ({at_once}) times MaxPayloadInMB ({payload_mib}) is more than {PAYLOAD_MIB_MAX}"
        )
    strategy = request.get("BatchStrategy")
    return TransformSettings(
        split=split,
        strategy=BatchStrategy(strategy) if strategy else _strategy(advice),
        at_once=at_once,
        payload_mib=payload_mib,
        with_newlines=request["TransformOutput"].get("AssembleWith") == "Line",
        retries=client.get("InvocationsMaxRetries", RETRIES),
        timeout_s=float(client.get("InvocationsTimeoutInSeconds", TIMEOUT_S)),
    )


def _number(advice: Mapping[str, Any], name: str) -> int:
    value = advice.get(name, 0)
    if not isinstance(value, int) or value < 0:
        raise BadAdvice(f"GET /execution-parameters answered {name} {value!r}, which is no number from 0")
    return value


def _strategy(advice: Mapping[str, Any]) -> BatchStrategy:
    named = advice.get("BatchStrategy", "MULTI_RECORD")
    if named not in ADVISED_STRATEGIES:
        known = " and ".join(ADVISED_STRATEGIES)
        raise BadAdvice(f"GET /execution-parameters answered BatchStrategy {named!r}: there are {known}")
    return ADVISED_STRATEGIES[named]
