"""Every operation that is left to moto, by botocore's models: what moto lacks is refused before moto is called, and
what moto has done is answered as done."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest
from botocore.model import Shape

from tests.endpoint.account.helpers.unchecked_calls import Outcome, called, model_of
from tests.helpers.thorough_values import one_in
from torpor_account.aws.in_process import client
from torpor_account.aws.service import Service
from torpor_account.moto import longtail
from torpor_account.moto.longtail import LongTail, moto_has
from torpor_endpoint.services.service_register import SERVICES

if TYPE_CHECKING:
    from botocore.awsrequest import AWSPreparedRequest

ACCOUNT = "111122223333"
ANSWERED = {service.name: service.tables().operations for service in SERVICES}
ONLY_A_NAME = ("ecr", "GetDownloadUrlForLayer")
"""A handler of moto that does nothing but raise NotImplementedError."""
NOT_IMPLEMENTED = "does not implement"


def forwarded(service: str) -> list[str]:
    return [name for name in model_of(service).operation_names if name not in ANSWERED.get(service, ())]


def needed(service: str, operation: str) -> dict[str, Any]:
    shape = model_of(service).operation_model(operation).input_shape
    members = {} if shape is None else filled(shape)
    if (service, operation) == ("sns", "Subscribe"):
        members["Protocol"] = "sqs"  # others are refused: moto would reach the network
    return members


def filled(shape: Shape) -> Any:
    """A value of this shape with all that is required, whatever its patterns are."""
    match shape.type_name:
        case "structure":
            return {name: filled(shape.members[name]) for name in shape.required_members}
        case "list":
            return [filled(shape.member)]
        case "map":
            return {filled(shape.key): filled(shape.value)}
        case "string":
            return (shape.metadata.get("enum") or ["a" * max(1, shape.metadata.get("min", 1))])[0]
        case "blob":
            return b"a"
        case kind:
            return kind == "boolean" or 1


def outcomes(service: str, tail: LongTail) -> dict[str, Outcome]:
    """Each forwarded operation of the service, called with no more than its required parameters."""
    app = Service(service, None, {}, account=ACCOUNT, otherwise=tail.answer)

    async def walk() -> dict[str, Outcome]:
        return {name: await called(app, service, name, needed(service, name)) for name in forwarded(service)}

    try:
        return asyncio.run(walk())
    finally:
        tail.close()


@pytest.mark.parametrize("service", one_in(3, longtail.SERVICES))
def test_an_operation_that_moto_lacks_is_refused_before_moto_is_called(service: str) -> None:
    begun: list[str] = []
    asked: set[str] = set()

    def has(service: str, operation: str) -> bool:
        begun.append(operation)
        return moto_has(service, operation)

    def ask(request: "AWSPreparedRequest") -> tuple[int, Mapping[str, str], str]:
        asked.add(begun[-1])
        return 200, {}, ""

    answers = outcomes(service, LongTail(ACCOUNT, ask, has))
    known = {name for name in answers if moto_has(service, name)}
    assert {name for name, answer in answers.items() if NOT_IMPLEMENTED in answer.message} == answers.keys() - known
    assert asked == known


@pytest.mark.parametrize("service", one_in(3, longtail.SERVICES))
@pytest.mark.parametrize("body", ["null", ""])
def test_an_operation_that_answers_with_nothing_is_answered_as_done(service: str, body: str) -> None:
    answers = outcomes(service, LongTail(ACCOUNT, lambda request: (200, {}, body)))
    failed = {name: answer.code for name, answer in answers.items() if answer.status != 200 and moto_has(service, name)}
    assert failed == {}


@pytest.mark.parametrize("service", one_in(3, longtail.SERVICES))
def test_no_operation_that_moto_has_is_called_not_implemented(service: str) -> None:
    answers = outcomes(service, LongTail(ACCOUNT))
    refused = {
        name for name, answer in answers.items() if NOT_IMPLEMENTED in answer.message and moto_has(service, name)
    }
    assert refused == {name for owner, name in (ONLY_A_NAME,) if owner == service}


@pytest.mark.parametrize("service", one_in(3, longtail.SERVICES))
def test_a_call_that_lacks_a_required_parameter_is_refused_before_moto_is_called(service: str) -> None:
    """moto's handlers fail on such a call in words of Python."""
    tail = LongTail(ACCOUNT, lambda request: (200, {}, ""))
    app = Service(service, None, {}, account=ACCOUNT, otherwise=tail.answer)
    model = model_of(service)
    known = [name for name in forwarded(service) if moto_has(service, name)]
    shapes = {name: shape for name in known if (shape := model.operation_model(name).input_shape) is not None}
    lacking = [name for name, shape in shapes.items() if shape.required_members]

    async def walk() -> list[str]:
        return [(await called(app, service, name, {})).message for name in lacking]

    told = asyncio.run(walk())
    tail.close()
    assert all("Member must not be null" in message or "is required" in message for message in told)
    assert lacking


def test_the_operations_of_kms_that_answer_with_nothing_are_done() -> None:
    tail = LongTail(ACCOUNT)
    kms = client(Service("kms", None, {}, account=ACCOUNT, otherwise=tail.answer))
    key = kms.create_key(Description="x")["KeyMetadata"]["KeyId"]
    kms.create_alias(AliasName="alias/a", TargetKeyId=key)
    kms.update_alias(AliasName="alias/a", TargetKeyId=key)
    kms.enable_key_rotation(KeyId=key)
    assert kms.get_key_rotation_status(KeyId=key)["KeyRotationEnabled"]
    kms.disable_key_rotation(KeyId=key)
    kms.disable_key(KeyId=key)
    kms.enable_key(KeyId=key)
    kms.update_key_description(KeyId=key, Description="y")
    kms.put_key_policy(KeyId=key, PolicyName="default", Policy="{}")
    kms.delete_alias(AliasName="alias/a")
    assert kms.describe_key(KeyId=key)["KeyMetadata"]["Description"] == "y"
    tail.close()
