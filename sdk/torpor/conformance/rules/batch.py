"""Batch transform: the parameters that a container may give, and requests of several records."""

import json
from typing import Any

from torpor.conformance.container import CheckedContainer
from torpor.conformance.container_client import ContainerAnswer
from torpor.conformance.judging import expect, expect_success, json_of, skip
from torpor.conformance.rule import BATCH, Level, Source, rule

PARAMETERS = "/execution-parameters"
STRATEGIES = ("MULTI_RECORD", "SINGLE_RECORD")
NUMBERS = ("MaxConcurrentTransforms", "MaxPayloadInMB")
RECORDS = 3


@rule(
    "execution-parameters",
    Level.MUST,
    says="The response for a GET execution-parameters request is a JSON object with keys for MaxConcurrentTransforms, "
    "BatchStrategy, and MaxPayloadInMB parameters.",
    source=Source.BATCH,
    mend='Answer GET /execution-parameters with 404, or with 200 and {"MaxConcurrentTransforms": 8, "BatchStrategy": '
    '"MULTI_RECORD", "MaxPayloadInMB": 6}.',
    uses=BATCH,
)
def execution_parameters_are_right_or_absent(container: CheckedContainer) -> None:
    answer = container.get(PARAMETERS)
    if 400 <= answer.status < 500:
        return
    expect(answer.status == 200, f"GET {PARAMETERS} answered {answer.status}, not 200 or 404", answer)
    found = json_of(answer)
    expect(isinstance(found, dict), f"GET {PARAMETERS} is not a JSON object", answer)
    for number in NUMBERS:
        value = found.get(number)
        right = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        expect(right, f"{number} is {json.dumps(value)}, not a whole number", answer)
    strategy = found.get("BatchStrategy")
    expect(strategy in STRATEGIES, f"BatchStrategy is {json.dumps(strategy)}, not {' or '.join(STRATEGIES)}", answer)


@rule(
    "batch-records",
    Level.MUST,
    says="MULTI_RECORD when the container gets as many records as will fit in the payload: each record of a request "
    "has its record in the answer.",
    source=Source.BATCH,
    mend="Predict on each line of a body, and answer a line (or an item of a JSON array) for each, in their order.",
    uses=BATCH,
    needs=("invoke",),
)
def each_record_has_its_prediction(container: CheckedContainer) -> None:
    sample = container.material.sample
    if not sample.has_lines:
        skip(f"the records of {sample.content_type} are not lines: give a CSV with --body FILE")
    once, often = (records(container.invoke(sample.repeated(times))) for times in (1, RECORDS))
    expect(often == RECORDS * once, f"{RECORDS} times the sample's lines got {often} records, and once got {once}")


def records(answer: ContainerAnswer) -> int:
    """How many predictions the answer has. Raises RuleSkipped if they cannot be counted."""
    expect_success(answer)
    if answer.content_type == "application/json":
        found: Any = json_of(answer)
        items = found.get("predictions") if isinstance(found, dict) else found
        return len(items) if isinstance(items, list) else skip("the answer is JSON and no array of predictions")
    if answer.content_type.startswith("text/") or answer.content_type == "application/jsonlines":
        return len(answer.body.decode(errors="replace").split())
    return skip(f"records of {answer.content_type or 'an answer without a type'} cannot be counted")
