"""Asserts that an answer was cold or warm: by the steps in its `Server-Timing` header, and the ledger's reason."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torpor.calling.answer import Answer, steps_ms
from torpor.pages.observed_endpoint import ObservedEndpoint, cold_start
from torpor_endpoint.core.ledger import is_cold
from torpor_endpoint.core.pages.plain_figures import milliseconds
from torpor_endpoint.core.pages.story import why_cold


@dataclass(frozen=True)
class AnswerSteps:
    """What an answer says of its request: seconds by step, and the number of the request."""

    steps: Mapping[str, float]
    request_id: str

    @classmethod
    def read(cls, response: Any) -> "AnswerSteps":
        """The steps of boto3's response, or of a `torpor.Answer`. Raises TypeError for anything else."""
        headers = response.headers if isinstance(response, Answer) else _headers_of(response)
        timing = headers.get("server-timing", "")
        if not timing:
            raise TypeError("the answer has no header Server-Timing: it is no answer of InvokeEndpoint by Torpor")
        steps = {step: took_ms / 1000 for step, took_ms in steps_ms(timing).items()}
        return cls(steps, headers.get("x-amzn-requestid", ""))

    @property
    def cold(self) -> bool:
        return is_cold(self.steps)

    def __str__(self) -> str:
        """`request 584c…: download 0.6 ms, load 9.6 ms, predict 6.8 ms`"""
        took = ", ".join(f"{step} {milliseconds(took_s)}" for step, took_s in self.steps.items())
        return f"request {self.request_id}: {took}"


def assert_cold(response: Any, endpoint: ObservedEndpoint | None = None, *, reason: str | None = None) -> None:
    """Assert that the request waited for an instance or for its model.

    `response` is what boto3's `invoke_endpoint`, `invoke_raw` or a `torpor.Caller` returned. With the endpoint,
    `reason` must be a part of the ledger's reason, such as "first request" or "evicted before".
    """
    __tracebackhide__ = True
    answer = AnswerSteps.read(response)
    if not answer.cold:
        raise AssertionError(f"the answer is warm: the request waited for no instance and no model\n  {answer}")
    if reason is None:
        return
    if endpoint is None:
        raise TypeError("reason= needs the endpoint: assert_cold(response, endpoint, reason=…)")
    found = _why(answer, endpoint)
    if reason not in found:
        raise AssertionError(f"the answer is cold for another reason than {reason!r}\n  {answer}\n  ledger: {found}")


def assert_warm(response: Any, endpoint: ObservedEndpoint | None = None) -> None:
    """Assert that instance and model were ready. With the endpoint, the failure message has the ledger's reason."""
    __tracebackhide__ = True
    answer = AnswerSteps.read(response)
    if answer.cold:
        why = "" if endpoint is None else f"\n  ledger: {_why(answer, endpoint)}"
        raise AssertionError(f"the answer is cold\n  {answer}{why}")


def _why(answer: AnswerSteps, endpoint: ObservedEndpoint) -> str:
    """The ledger's reason, and the models that were evicted; which step says it where the ledger knows no reason."""
    found = cold_start(endpoint, answer.request_id)
    if found is None:
        return "it has no cold start with this number"
    return why_cold(found) or "the model was in memory; the request waited for an instance"


def _headers_of(response: Any) -> Mapping[str, str]:
    try:
        headers: Mapping[str, str] = response["ResponseMetadata"]["HTTPHeaders"]
    except (TypeError, KeyError):
        raise TypeError(
            f"an answer is needed, not {type(response).__name__}: what boto3's invoke_endpoint, "
            "torpor.Local.invoke_raw or torpor.Caller.invoke returns (torpor.Local.invoke returns the prediction alone)"
        ) from None
    return headers
