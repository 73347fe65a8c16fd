"""AWS's rules for parameters, generated from botocore's models: each constraint of each answered operation is broken
once and met at its borders. A new operation is held without a new test."""

import asyncio
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from tests.endpoint.aws.helpers.input_rules import Broken, Met, cases, shapes_of
from tests.endpoint.aws.helpers.java_patterns import PROBES, matches, text_of
from tests.endpoint.aws.helpers.operation_parameters import (
    AUTOSCALING,
    CLOUDWATCH,
    EXPERIMENTS,
    IAM,
    LOGS,
    SAGEMAKER,
    STS,
    TRAINING,
    TRANSFORM,
)
from tests.endpoint.aws.helpers.operation_walk import Row
from tests.endpoint.aws.helpers.resting_endpoint import resting
from tests.endpoint.aws.helpers.unchecked_calls import Outcome, called, model_of
from torpor_endpoint.aws.java_patterns import translated
from torpor_endpoint.aws.wire.asgi import App
from torpor_endpoint.services.registry import SERVICES

CODES = {
    "sagemaker": "ValidationException",
    "application-autoscaling": "ValidationException",
    "logs": "InvalidParameterException",
    "cloudwatch": "ValidationError",
    "iam": "ValidationError",
    "sts": "ValidationError",
}
"""The services with the JSON or the query protocol, and the code with which AWS refuses a broken constraint there."""
IN_CLOUDWATCHS_WORDS = ("PutMetricData", "GetMetricStatistics")
"""CloudWatch names a parameter that is missing, or that is in no enumeration, in words of its own here."""

ROWS: Mapping[str, Mapping[str, Row]] = {
    "sagemaker": {**SAGEMAKER, **EXPERIMENTS, **TRAINING, **TRANSFORM},
    "cloudwatch": CLOUDWATCH,
    "iam": IAM,
    "application-autoscaling": AUTOSCALING,
    "logs": LOGS,
    "sts": STS,
}

VALUE = re.compile(r"Value (?:null |'.*?' )?at '(?=[^']+' failed)", re.DOTALL)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    with resting(tmp_path_factory.mktemp("rules")) as made:
        yield made


@cache
def cases_of(service: str) -> list[tuple[str, Broken | Met]]:
    (tables,) = (one.tables() for one in SERVICES if one.name == service)
    return [(name, case) for name in tables.operations for case in cases(model_of(service).operation_model(name))]


def outcomes(app: App, service: str, calls: list[tuple[str, dict[str, Any]]]) -> Iterator[Outcome]:
    async def all_called() -> list[Outcome]:
        return [await called(app, service, operation, params) for operation, params in calls]

    yield from asyncio.run(all_called())


def said(case: Broken) -> str:
    """AWS's message, without the values."""
    faults = "; ".join(f"Value at '{path}' failed to satisfy constraint: {text}" for path, text in case.said)
    return f"{len(case.said)} validation error{'s' if len(case.said) > 1 else ''} detected: {faults}"


def refusal(service: str, operation: str, case: Broken) -> tuple[str, str]:
    """The code and the message of AWS."""
    ((path, text), *_) = case.said
    words = service == "cloudwatch" and operation in IN_CLOUDWATCHS_WORDS
    parameter = re.sub(r"\.(\d+)\.member", r".member.\1", path)
    parameter = ".".join(part[0].upper() + part[1:] if part != "member" else part for part in parameter.split("."))
    if words and text == "Member must not be null":
        return "MissingParameter", f"The parameter {parameter} is required."
    if words and "enum value set: [" in text:
        known = text.rpartition("[")[2].rstrip("]")
        parameter += ".member.1" if text.startswith("Member must satisfy constraint") else ""
        return "InvalidParameterValue", f"The parameter {parameter} must be a value in the set [ {known} ]."
    return CODES[service], said(case)


@pytest.mark.parametrize("service", CODES)
def test_a_broken_constraint_is_refused_in_the_words_of_aws_with_the_path_of_the_member(app: App, service: str) -> None:
    broken = [(operation, case) for operation, case in cases_of(service) if isinstance(case, Broken)]
    assert len(broken) > 90
    answers = outcomes(app, service, [(operation, case.params) for operation, case in broken])
    wrong = [
        (operation, wanted, (answer.status, answer.code, answer.message))
        for (operation, case), answer in zip(broken, answers, strict=True)
        if (wanted := refusal(service, operation, case)) != (answer.code, VALUE.sub("Value at '", answer.message))
        or answer.status != 400
    ]
    assert wrong == []


OWN_RULES = re.compile(
    # AWS's documentation has these rules, and its model lacks them.
    r"must be 10, 20, 30 or a multiple of 60|must be one of missing, ignore|must be JSON|it is no JSON|service:Action"
    # Members that exclude each other, or of which one is needed.
    r"|xactly one of|xactly one must|cannot both be|mutually exclusive|cannot be combined|either \w+ or|Direct needs"
    r"|CallerArn must name"
    # The state of this endpoint.
    r"|must be InService|already exists|No scalable target|the only one here|Invalid Marker|nextToken is invalid"
    # What differences.py tells that Torpor does not have.
    r"|not supported|Torpor does not|do not know|Torpor supports|Torpor trains on this|must be None|Torpor's catalogue"
)
"""The reasons for which Torpor refuses a value that AWS's model takes."""


@pytest.mark.parametrize("service", CODES)
def test_a_value_at_the_border_is_taken_or_refused_for_another_reason(app: App, service: str) -> None:
    met = [(operation, case) for operation, case in cases_of(service) if isinstance(case, Met)]
    rows = {name: row for name, row in ROWS[service].items() if isinstance(row, dict)}
    calls = [(operation, case.within(rows[operation]) if operation in rows else case.params) for operation, case in met]
    wrong = [
        (operation, case.member, str(case.value)[:60], (answer.status, answer.code, answer.message[:200]))
        for (operation, case), answer in zip(met, outcomes(app, service, calls), strict=True)
        if answer.status >= 300 and _blames(case, answer)
    ]
    assert wrong == []


def _blames(case: Met, answer: Outcome) -> bool:
    """Whether the refusal is that of the value, and for no reason that is known."""
    if answer.status >= 500 or "failed to satisfy constraint" in answer.message:
        return True
    named = re.search(rf"\b{case.name}\b", answer.message, re.IGNORECASE) is not None
    return named and not OWN_RULES.search(answer.message)


@pytest.mark.parametrize("service", [service.name for service in SERVICES])
def test_patterns_take_what_java_takes(service: str) -> None:
    """All patterns of a service's parameters, by a second reading of them, with letters of every kind at each place."""
    (tables,) = (one.tables() for one in SERVICES if one.name == service)
    shapes = [shape for name in tables.operations for shape in shapes_of(model_of(service).operation_model(name))]
    patterns = {pattern for shape in shapes if (pattern := shape.metadata.get("pattern"))}
    assert patterns
    assert [
        (pattern, text)
        for pattern in patterns
        for text in _tried(pattern)
        if (translated(pattern).fullmatch(text) is not None) is not matches(pattern, text)
    ] == []


def _tried(pattern: str) -> Iterator[str]:
    body = next((text for length in range(60) if (text := text_of(pattern, length)) is not None), "")
    for probe in PROBES:
        yield from (probe, body + probe, probe + body, body[:-1] + probe, body[: len(body) // 2] + probe)
