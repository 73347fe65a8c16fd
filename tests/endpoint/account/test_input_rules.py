"""AWS's rules for parameters, generated from botocore's models: each constraint of each answered operation is broken
once and met at its borders. A new operation is held without a new test."""

import asyncio
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from tests.account.aws.helpers.java_patterns import PROBES, matches, text_of
from tests.endpoint.account.helpers.input_rules import Broken, Met, cases, shapes_of
from tests.endpoint.account.helpers.operation_parameters import (
    AUTOSCALING,
    CLOUDWATCH,
    COMPONENTS,
    EXPERIMENTS,
    IAM,
    JOBS,
    LOGS,
    S3,
    SAGEMAKER,
    STS,
)
from tests.endpoint.account.helpers.operation_walk import Row
from tests.endpoint.account.helpers.resting_endpoint import resting
from tests.endpoint.account.helpers.unchecked_calls import Outcome, called, model_of, scope_of
from torpor_account.aws.java_patterns import translated
from torpor_account.aws.wire.asgi import App
from torpor_endpoint.runtime.asynchronous.async_request import AsyncParameters, parse_async
from torpor_endpoint.runtime.errors import RuntimeFault
from torpor_endpoint.runtime.request import Invoke
from torpor_endpoint.runtime.streams import stream_headers
from torpor_endpoint.services.service_register import SERVICES

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
    "sagemaker": {**SAGEMAKER, **COMPONENTS, **EXPERIMENTS, **JOBS},
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
    r"|must be a policy document|Torpor keeps nothing of"
    # A search names properties that the resource has, and values of their types.
    r"|has no such property|is a number, and Value|is no list of structures|in NestedFilters it begins with"
    r"|Invalid schedule|time ?zone"
    # Members that exclude each other, or of which one is needed.
    r"|xactly one of|xactly one must|cannot both be|mutually exclusive|cannot be combined|either \w+ or|Direct needs"
    r"|CallerArn must name"
    r"|ScaleInPolicy needs|cannot be given with|ArtifactUrl alone|nly one of|must be given"
    r"|must have a ModelName|must not have the same|of Type \w+ needs|belongs to a TrafficRoutingConfiguration"
    # Shares of one hundred, sizes of batches and archives, which AWS's documentation bounds and its model does not.
    r"|must be from 5 to 50|must not be more than|must not be smaller than|one archive"
    # Lists that are always empty, and what jobs of this machine can have.
    r"|NextToken is not one|need ContainerEntrypoint|runs no other container|must be a folder below"
    r"|InstanceCount must be 1|MinValue and MaxValue must be|CategoricalParameterRanges only|needs a continuous range"
    # Members of recommendations jobs that go together.
    r"|A Default job has no|must have Phases for"
    # The state of this endpoint.
    r"|give one of them|names a part of a model package|Cannot determine which one"
    r"|must be InService|already exists|No scalable target|the only one here|Invalid Marker|nextToken is invalid"
    # What differences.py tells that Torpor does not have.
    r"|supported by Torpor for"
    r"|not supported|Torpor does not|do not know|Torpor supports|Torpor trains on this|must be None|Torpor's catalogue"
)
"""The reasons for which Torpor refuses a value that AWS's model takes."""


NAMES = {
    "CreateModel": "ModelName",
    "CreateEndpointConfig": "EndpointConfigName",
    "CreateEndpoint": "EndpointName",
    "CreateTrainingJob": "TrainingJobName",
    "CreateProcessingJob": "ProcessingJobName",
    "CreateHyperParameterTuningJob": "HyperParameterTuningJobName",
    "CreateTransformJob": "TransformJobName",
    "CreatePipeline": "PipelineName",
    "CreateInferenceRecommendationsJob": "JobName",
    "CreateInferenceExperiment": "Name",
    "CreateAction": "ActionName",
    "CreateContext": "ContextName",
    "CreateRole": "RoleName",
    "CreateUser": "UserName",
    "CreateGroup": "GroupName",
    "CreatePolicy": "PolicyName",
    "CreateLogGroup": "logGroupName",
}
"""The operations that take a name once, and its member: each case has a name of its own."""
TAKEN_OF_TEN = {"sagemaker": 3, "cloudwatch": 5, "iam": 4, "application-autoscaling": 0, "logs": 2, "sts": 9}
"""How many of ten cases are taken at least, so that no fault of the calls hides all. For the others something must be
there that a fleet makes, or that another call made under another name."""


OF_LINEAGE = re.compile("Lineage|Association|Artifact|Context")
"""The operations that look through all jobs and models for what came of what: first, while there are few."""


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("service", CODES)
def test_a_value_at_the_border_is_taken_or_refused_for_another_reason(app: App, service: str, every: int) -> None:
    met = [(operation, case) for operation, case in cases_of(service) if isinstance(case, Met)][::every]
    met.sort(key=lambda one: OF_LINEAGE.search(one[0]) is None)
    first = [(name, row) for name, row in ROWS[service].items() if name in NAMES and isinstance(row, dict)]
    calls = [(operation, _call(service, operation, case, at)) for at, (operation, case) in enumerate(met)]
    answers = list(outcomes(app, service, first + calls))[len(first) :]
    wrong = [
        (operation, case.member, str(case.value)[:60], (answer.status, answer.code, answer.message[:200]))
        for (operation, case), answer in zip(met, answers, strict=True)
        if answer.status >= 300 and _blames(case, answer)
    ]
    assert wrong == [], "\n".join(map(str, wrong))
    assert sum(answer.status < 300 for answer in answers) * 10 >= TAKEN_OF_TEN[service] * len(met)


def _call(service: str, operation: str, case: Met, number: int) -> dict[str, Any]:
    params = case.within(_row(ROWS[service], operation, case))
    name = NAMES.get(operation, "")
    taken = name and case.member.lower() != name.lower()
    return {**params, name: f"case-{number}"} if taken else params


def _blames(case: Met, answer: Outcome) -> bool:
    """Whether the refusal is that of the value, and for no reason that is known."""
    if answer.status >= 500 or "failed to satisfy constraint" in answer.message:
        return True
    named = re.search(rf"\b{case.name}\b", answer.message, re.IGNORECASE) is not None
    return named and not OWN_RULES.search(answer.message)


TAKEN = {
    ("InvokeEndpoint", "targetModel"),  # it may have any letters: it is a key of S3
    ("InvokeEndpointWithResponseStream", "sessionId"),  # a stream may begin a session: NEW_SESSION
}
"""The headers of which Torpor takes more than AWS's model."""
RUNTIME = ("InvokeEndpoint", "InvokeEndpointAsync", "InvokeEndpointWithResponseStream")


@pytest.mark.parametrize("operation", RUNTIME)
def test_a_broken_header_of_an_invocation_is_refused_in_the_words_of_aws(operation: str) -> None:
    broken = [
        case
        for name, case in cases_of("sagemaker-runtime")
        if name == operation and isinstance(case, Broken) and case.location == "header"
    ]
    wrong = [
        (case.said, refused)
        for case in broken
        if (operation, case.said[0][0]) not in TAKEN
        if (refused := VALUE.sub("Value at '", _refused(operation, case))) != said(case)
    ]
    assert len(broken) > 15
    assert wrong == []


def _refused(operation: str, case: Broken) -> str:
    """The message for a call of an endpoint that is there; empty for one that is taken."""
    scope, _ = scope_of("sagemaker-runtime", operation, {"EndpointName": "e", "Body": b"1", **case.params})
    try:
        if operation == "InvokeEndpointAsync":
            parse_async(scope).check()
            AsyncParameters.read(scope, 0)
        elif operation == "InvokeEndpointWithResponseStream":
            stream_headers(scope).check()
        else:
            Invoke.read(scope).check()
    except RuntimeFault as fault:
        return str(fault.fields["detail"])
    return ""


@pytest.fixture(scope="module")
def there(app: App) -> dict[str, str]:
    """What there is in S3."""
    place = {"Bucket": "walk", "Key": "a"}
    made: list[tuple[str, dict[str, Any]]] = [
        ("CreateBucket", {"Bucket": "walk"}),
        ("PutObject", {**place, "Body": b"x"}),
        ("CreateMultipartUpload", place),
    ]
    *_, upload = outcomes(app, "s3", made)
    return {**place, "UploadId": upload.members["UploadId"], "CopySource": "walk/a"}


def placed(params: dict[str, Any], member: str, there: dict[str, str]) -> dict[str, Any]:
    """The parameters, for what there is, but for this member."""
    return {
        name: there[name] if name in there and name.lower() != member.lower() else value
        for name, value in params.items()
    }


def is_of_another_operation(case: Broken) -> bool:
    """Whether the request line, which names the operation, lacks a part."""
    ((path, text), *_) = case.said
    return case.location == "uri" or ("null" in text and (case.location == "querystring" or path == "copySource"))


def test_s3_refuses_each_broken_constraint_for_what_it_is(app: App, there: dict[str, str]) -> None:
    """S3 has codes of its own, and no path of a member in its messages."""
    broken = [
        (operation, case)
        for operation, case in cases_of("s3")
        if isinstance(case, Broken) and not is_of_another_operation(case)
    ]
    answers = outcomes(app, "s3", [(name, placed(case.params, case.said[0][0], there)) for name, case in broken])
    wrong = [
        (operation, case.said, (answer.status, answer.code))
        for (operation, case), answer in zip(broken, answers, strict=True)
        if not 400 <= answer.status < 500 or answer.code.startswith(("NoSuch", "404"))
    ]
    assert wrong == []


S3_HAS_NOT = re.compile(
    r"no directory buckets|one namespace of buckets|storage class you|Object Lock|algorithm provided is unsupported"
)
S3_STATES = re.compile(r"already own it|to itself without|can only be used with the x-amz-checksum-algorithm")


def test_s3_takes_a_value_at_the_border_or_refuses_it_for_another_reason(app: App, there: dict[str, str]) -> None:
    met = [
        (operation, case)
        for operation, case in cases_of("s3")
        if isinstance(case, Met) and not operation.startswith(("Delete", "Abort", "Complete"))
    ]
    calls = [(name, placed(case.within(_row(S3, name, case)), case.member, there)) for name, case in met]
    wrong = [
        (operation, case.member, case.value, (answer.status, answer.code, answer.message))
        for (operation, case), answer in zip(met, outcomes(app, "s3", calls), strict=True)
        if answer.status >= 300 and not (S3_HAS_NOT.search(answer.message) or S3_STATES.search(answer.message))
    ]
    assert wrong == []


def _row(rows: Mapping[str, Row], operation: str, case: Met) -> dict[str, Any]:
    """A whole call of the operation, or no more than what the case has."""
    row = rows.get(operation)
    return row if isinstance(row, dict) else case.params


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
