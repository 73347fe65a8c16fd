"""Tags: added, replaced, listed, removed."""

import pytest

from tests.endpoint.services.helpers.in_memory_control_plane import ARN, MULTI_MODEL, InMemoryControlPlane

MODEL = f"{ARN}:model/m"


def test_new_tags_are_added_to_the_existing_ones(control_plane: InMemoryControlPlane) -> None:
    control_plane("CreateModel", ModelName="m", PrimaryContainer=MULTI_MODEL, Tags=[{"Key": "a", "Value": "1"}])
    added = [{"Key": "a", "Value": "2"}, {"Key": "b", "Value": ""}]
    assert control_plane("AddTags", ResourceArn=MODEL, Tags=added) == {"Tags": added}
    control_plane("DeleteTags", ResourceArn=MODEL, TagKeys=["a", "never"])
    assert control_plane("ListTags", ResourceArn=MODEL) == {"Tags": [{"Key": "b", "Value": ""}]}


def test_a_resource_cannot_collect_more_than_fifty(control_plane: InMemoryControlPlane) -> None:
    tags = [{"Key": f"{number:02}", "Value": ""} for number in range(50)]
    control_plane("CreateModel", ModelName="m", PrimaryContainer=MULTI_MODEL, Tags=tags)
    control_plane("AddTags", ResourceArn=MODEL, Tags=tags[:1])
    code, _, _ = control_plane.refusal("AddTags", ResourceArn=MODEL, Tags=[{"Key": "one more", "Value": ""}])
    assert code == "ResourceLimitExceeded"
    assert control_plane("ListTags", ResourceArn=MODEL) == {"Tags": tags}


def test_a_key_that_is_given_twice_is_refused_and_nothing_is_made(control_plane: InMemoryControlPlane) -> None:
    twice = [{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}]
    code, _, text = control_plane.refusal("CreateModel", ModelName="m", PrimaryContainer=MULTI_MODEL, Tags=twice)
    assert (code, "unique" in text) == ("ValidationException", True)
    control_plane("CreateModel", ModelName="m", PrimaryContainer=MULTI_MODEL)
    assert control_plane.refusal("AddTags", ResourceArn=MODEL, Tags=twice)[0] == "ValidationException"
    assert control_plane("ListTags", ResourceArn=MODEL) == {"Tags": []}


@pytest.mark.parametrize("key", ["aws:owner", "AWS:x"])
def test_the_keys_that_aws_keeps_for_itself_are_refused(control_plane: InMemoryControlPlane, key: str) -> None:
    tags = [{"Key": key, "Value": ""}]
    code, _, text = control_plane.refusal("CreateModel", ModelName="m", PrimaryContainer=MULTI_MODEL, Tags=tags)
    assert (code, f"reserved: {key}" in text) == ("ValidationException", True)
    control_plane("CreateModel", ModelName="m", PrimaryContainer=MULTI_MODEL)
    assert control_plane.refusal("AddTags", ResourceArn=MODEL, Tags=tags)[0] == "ValidationException"
    control_plane("AddTags", ResourceArn=MODEL, Tags=[{"Key": "aws-owner", "Value": ""}])


def test_endpoints_and_configs_have_tags_too(control_plane: InMemoryControlPlane) -> None:
    control_plane.create("ep")
    for segment in ("endpoint", "endpoint-config", "model"):
        arn = f"{ARN}:{segment}/ep"
        control_plane("AddTags", ResourceArn=arn, Tags=[{"Key": "what", "Value": segment}])
        assert control_plane("ListTags", ResourceArn=arn)["Tags"] == [{"Key": "what", "Value": segment}]


def test_an_arn_made_up_of_a_name_with_capitals_finds_its_resource(control_plane: InMemoryControlPlane) -> None:
    control_plane.create("Ep")
    control_plane("AddTags", ResourceArn=f"{ARN}:endpoint/Ep", Tags=[{"Key": "a", "Value": "1"}])
    assert control_plane("ListTags", ResourceArn=f"{ARN}:endpoint/ep")["Tags"] == [{"Key": "a", "Value": "1"}]
    assert "Nobody" in control_plane.refusal("ListTags", ResourceArn=f"{ARN}:endpoint/Nobody")[2]
