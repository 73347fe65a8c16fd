"""Log groups of moto beside the endpoint's own: each is found, and no group is taken for another."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.loaders import Loader
from botocore.model import ServiceModel

from tests.account.helpers.logs_over_folder import GROUP, NOON_MS, STREAM, LogsOverFolder
from torpor_account.logs.guards import GUARDS
from torpor_account.logs.service import OPERATIONS
from torpor_account.moto.longtail import LongTail

JOBS = "/aws/sagemaker/PipelineJobs"
EVENT = {"timestamp": 1, "message": "m"}
QUERY = {"startTime": 0, "endTime": 1, "queryString": "fields @message"}
MEMBERS = {"logGroupName", "logGroupNames", "logGroupIdentifier", "logGroupIdentifiers"}


@pytest.fixture
def boto(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    tail = LongTail(f"{abs(hash(request.node.name)) % 10**12:012}")  # moto's accounts are apart
    log_files = LogsOverFolder(tmp_path, otherwise=tail.answer)
    log_files.say("a\n", NOON_MS)
    yield log_files.client()
    log_files.database.close()
    tail.close()


def listed(boto: Any, **filters: Any) -> list[str]:
    pages = boto.get_paginator("describe_log_groups").paginate(**filters, PaginationConfig={"PageSize": 2})
    return [group["logGroupName"] for page in pages for group in page["logGroups"]]


def test_a_created_group_is_found_among_own_groups_and_motos(boto: Any) -> None:
    for name in ("/app", JOBS, "zoo"):
        boto.create_log_group(logGroupName=name)
    assert listed(boto) == ["/app", GROUP, JOBS, "zoo"]
    assert listed(boto, logGroupNamePrefix="/aws/sagemaker/") == [GROUP, JOBS]
    assert listed(boto, logGroupNamePrefix="/aws/sagemaker/P") == [JOBS]
    assert listed(boto, logGroupNamePrefix=GROUP) == [GROUP]
    assert listed(boto, logGroupNamePattern="o") == [GROUP, JOBS, "zoo"]
    boto.create_log_stream(logGroupName=JOBS, logStreamName="s")
    boto.put_log_events(logGroupName=JOBS, logStreamName="s", logEvents=[{"timestamp": 1, "message": "m" * 1_000_000}])


def test_a_group_below_the_endpoints_that_bears_no_endpoints_name_is_refused(boto: Any) -> None:
    with pytest.raises(ClientError, match=r"InvalidParameterException.*bears an endpoint's name"):
        boto.create_log_group(logGroupName="/aws/sagemaker/Endpoints/a_b")


@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("create_log_stream", {"logGroupName": GROUP, "logStreamName": "mine"}),
        ("put_log_events", {"logGroupName": GROUP, "logStreamName": STREAM, "logEvents": [EVENT]}),
        ("start_query", {"logGroupNames": ["/app", GROUP], **QUERY}),
        ("start_query", {"logGroupIdentifiers": [f"arn:aws:logs:us-east-1:1:log-group:{GROUP}"], **QUERY}),
    ],
)
def test_an_operation_without_support_for_the_endpoints_groups_names_the_group(
    boto: Any, operation: str, members: dict[str, Any]
) -> None:
    with pytest.raises(ClientError, match=f"InvalidParameterException.*Torpor does not implement .* for {GROUP}"):
        getattr(boto, operation)(**members)


def test_no_operation_on_a_group_is_left_to_others_unlooked_at() -> None:
    model = ServiceModel(Loader().load_service_model("logs", "service-2"), "logs")
    shapes = {name: model.operation_model(name).input_shape for name in model.operation_names}
    on_groups = {name for name, shape in shapes.items() if shape is not None and MEMBERS & set(shape.members)}
    assert on_groups - set(OPERATIONS) <= set(GUARDS)


def test_older_clients_tag_groups_too_and_fifty_tags_are_the_most(boto: Any) -> None:
    boto.tag_log_group(logGroupName=GROUP, tags={"a": "1", "b": "2"})
    boto.untag_log_group(logGroupName=GROUP, tags=["a"])
    assert boto.list_tags_log_group(logGroupName=GROUP)["tags"] == {"b": "2"}
    arn = f"arn:aws:logs:us-east-1:123456789012:log-group:{GROUP}"
    with pytest.raises(ClientError, match="TooManyTagsException"):
        boto.tag_resource(resourceArn=arn, tags={str(number): "" for number in range(50)})
    assert boto.list_tags_for_resource(resourceArn=arn)["tags"] == {"b": "2"}
