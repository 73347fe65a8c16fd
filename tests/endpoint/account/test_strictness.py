"""The check of answers finds each kind of fault."""

from collections.abc import Mapping
from typing import Any

import pytest
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.parsers import create_parser

from tests.endpoint.account.helpers.strictness import Answered, complaints

ARN = "arn:aws:sagemaker:us-east-1:123456789012:model/a"


def said(service: str, operation: str, body: str) -> list[str]:
    """The complaints about this body."""
    model = ServiceModel(Loader().load_service_model(service, "service-2"), service)
    called = model.operation_model(operation)
    response: Mapping[str, Any] = {"status_code": 200, "headers": {}, "body": body.encode()}
    parsed = create_parser(model.resolved_protocol).parse(response, called.output_shape)
    return complaints(Answered(called, body.encode(), parsed))


@pytest.mark.parametrize(
    ("members", "complaint"),
    [
        ("", None),
        (', "VpcConfig": {}', ".VpcConfig is empty"),
        (', "Containers": []', ".Containers is empty"),
        (', "PrimaryContainer": null', ".PrimaryContainer is null"),
        (', "Colour": "red"', ".Colour is not in the model"),
        (', "PrimaryContainer": {"Mode": "Many"}', "primaryContainer.mode"),
    ],
)
def test_a_fault_in_a_json_answer_is_found(members: str, complaint: str | None) -> None:
    found = said("sagemaker", "DescribeModel", f'{{"ModelName": "a", "ModelArn": "{ARN}", "CreationTime": 1{members}}}')
    assert found == [] if complaint is None else complaint in " ".join(found)


def test_a_required_member_that_is_missing_is_seen() -> None:
    assert "modelArn" in " ".join(said("sagemaker", "DescribeModel", '{"ModelName": "a", "CreationTime": 1}'))


@pytest.mark.parametrize(
    ("inside", "complaint"),
    [
        ("<Name>a</Name>", None),
        ("<Colour>red</Colour>", "Colour is not in the model"),
        ("<Contents><Key>a</Key><Odd/></Contents>", "Odd is not in the model"),
        ("<Contents><StorageClass>COLD</StorageClass></Contents>", "storageClass"),
    ],
)
def test_a_fault_in_an_xml_answer_is_found(inside: str, complaint: str | None) -> None:
    found = said("s3", "ListObjectsV2", f"<ListBucketResult>{inside}</ListBucketResult>")
    assert found == [] if complaint is None else complaint in " ".join(found)


def test_an_item_by_the_wrong_name_is_seen() -> None:
    tags = "<ListRoleTagsResult><Tags><Tag/></Tags></ListRoleTagsResult>"
    found = said("iam", "ListRoleTags", f"<ListRoleTagsResponse>{tags}</ListRoleTagsResponse>")
    assert "has an item called Tag, not member" in " ".join(found)
