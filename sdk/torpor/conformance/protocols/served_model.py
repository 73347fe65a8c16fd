"""The model of a server that is asked by a protocol: requests to it, and a body that is made from what it tells."""

import json
from collections.abc import Mapping
from math import prod
from typing import Any, Final
from urllib.parse import quote

from torpor.conformance.container import CheckedContainer
from torpor.conformance.container_client import ContainerAnswer
from torpor.conformance.judging import RuleBroken, expect, expect_success, json_of, skip

JSON: Final = {"Content-Type": "application/json"}
Json = dict[str, Any]
UNKNOWN: Final = "torpor-conformance-knows-no-such-model"
REFUSED: Final = "the model refuses {body}: give a request that it answers with --body"


def asked(container: CheckedContainer, method: str, path: str, body: object = None) -> ContainerAnswer:
    """One request with this JSON, or with these bytes. Raises NoContainerAnswer."""
    content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    return sent(container, method, path, content, JSON if content else {})


def sent(
    container: CheckedContainer, method: str, path: str, content: bytes, headers: Mapping[str, str]
) -> ContainerAnswer:
    """One request with the headers that the server wants. Raises NoContainerAnswer."""
    named = {**container.material.headers, **headers}
    return container.client.send(method, path, content, named, within_s=container.limits.invoke_s)


def model_of(container: CheckedContainer) -> str:
    """The model's name as a part of a path. Raises RuleSkipped where none is given."""
    return quote(container.material.served or skip("give the name of a model with --model NAME"), safe="")


def given_request(container: CheckedContainer) -> Json | None:
    """The request of `--body`; None where none is given. Raises RuleSkipped for one that is no JSON object."""
    if not container.material.request:
        return None
    try:
        found = json.loads(container.material.request)
    except (ValueError, RecursionError):
        skip("--body is no JSON")
    return found if isinstance(found, dict) else skip("--body is no JSON object")


def object_of(answer: ContainerAnswer) -> Json:
    """The answer's body, a JSON object. Raises RuleBroken."""
    expect_success(answer)
    found = json_of(answer)
    expect(isinstance(found, dict), f"the body of {answer.request} is no JSON object", answer)
    assert isinstance(found, dict)
    return found


def text(of: Mapping[str, Any], member: str, answer: ContainerAnswer) -> str:
    """A member that is a text. Raises RuleBroken."""
    found = of.get(member)
    expect(isinstance(found, str), f"{answer.request} has no text in `{member}`", answer)
    return str(found)


def listed(of: Mapping[str, Any], member: str, answer: ContainerAnswer) -> list[Any]:
    """A member that is a list. Raises RuleBroken."""
    found = of.get(member)
    if not isinstance(found, list):
        raise RuleBroken(f"{answer.request} has no list in `{member}`", answer.shown)
    return found


def refusal(answer: ContainerAnswer, what: str) -> None:
    """The answer refuses what was sent, in the form that both protocols have. Raises RuleBroken."""
    expect(400 <= answer.status < 500, f"{what} got {answer.status}, not 4xx", answer)
    found = json_of(answer)
    told = isinstance(found, dict) and isinstance(found.get("error"), str) and bool(found["error"])
    expect(told, f'{what} got an error without {{"error": "…"}}', answer)


def nested(flat: list[Any], shape: list[int]) -> Any:
    """The values as lists within lists, row by row. The flat list for a shape of one dimension or none."""
    if len(shape) < 2:
        return flat
    size = prod(shape[1:])
    return [nested(flat[row * size : (row + 1) * size], shape[1:]) for row in range(shape[0])]


def flattened(values: Any) -> list[Any]:
    if not isinstance(values, list):
        return [values]
    return [one for value in values for one in flattened(value)]
