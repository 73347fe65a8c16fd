"""Operations that Torpor does not carry out: each is refused with what to use, or lists nothing."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.serialize import create_serializer

from tests.endpoint.services.helpers.in_memory_control_plane import InMemoryControlPlane
from torpor_account.aws.in_process import client
from torpor_account.aws.service_models import service_model
from torpor_endpoint.core.left_out.empty_lists import EMPTY_LISTS
from torpor_endpoint.core.left_out.substitutes import SUBSTITUTES, substitute
from torpor_endpoint.services.sagemaker.service import service
from torpor_endpoint.services.service_register import SERVICES

MODEL = service_model("sagemaker")
CARRIED_OUT = set(SERVICES[0].tables().operations)
REFUSED = [name for name in MODEL.operation_names if name not in CARRIED_OUT]


@pytest.fixture
def boto3(control_plane: InMemoryControlPlane) -> Iterator[Any]:
    made = client(service(control_plane.control, account="123456789012"))
    made._serializer = create_serializer(MODEL.metadata["protocol"], include_validation=False)  # calls without members
    yield made
    made.close()


def test_every_operation_of_the_model_is_carried_out_or_says_what_to_use() -> None:
    assert [name for name in REFUSED if not substitute(name)] == []


def test_every_family_has_an_operation_of_the_model() -> None:
    names = MODEL.operation_names
    assert [pattern for pattern, _ in SUBSTITUTES if not any(re.fullmatch(pattern, name) for name in names)] == []


def test_every_refused_operation_answers_its_name_and_what_to_use(boto3: Any) -> None:
    for name in REFUSED:
        with pytest.raises(ClientError) as refused:
            boto3._make_api_call(name, {})
        response = refused.value.response
        assert response["ResponseMetadata"]["HTTPStatusCode"] == 400
        assert response["Error"]["Code"] == "UnknownOperationException"
        assert response["Error"]["Message"] == (
            f"Torpor does not implement the operation {name} of sagemaker. {substitute(name)}"
        )


def test_no_empty_list_asks_for_the_name_of_a_resource() -> None:
    for name, member in EMPTY_LISTS.items():
        model = MODEL.operation_model(name)
        assert not model.input_shape.required_members
        assert model.output_shape.members[member].type_name == "list"


def test_a_list_of_what_cannot_exist_is_empty_and_gave_no_token(boto3: Any) -> None:
    assert boto3.list_notebook_instances()["NotebookInstances"] == []
    with pytest.raises(ClientError, match="NextToken is not one"):
        boto3.list_notebook_instances(NextToken="any")
