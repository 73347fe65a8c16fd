"""Tags: added, replaced, listed, taken away."""

from tests.endpoint.services.helpers.in_memory_control_plane import ARN, MULTI_MODEL, InMemoryControlPlane

MODEL = f"{ARN}:model/m"


def test_tags_are_added_to_those_that_are_there(desk: InMemoryControlPlane) -> None:
    desk("CreateModel", ModelName="m", PrimaryContainer=MULTI_MODEL, Tags=[{"Key": "a", "Value": "1"}])
    added = [{"Key": "a", "Value": "2"}, {"Key": "b", "Value": ""}]
    assert desk("AddTags", ResourceArn=MODEL, Tags=added) == {"Tags": added}
    desk("DeleteTags", ResourceArn=MODEL, TagKeys=["a", "never"])
    assert desk("ListTags", ResourceArn=MODEL) == {"Tags": [{"Key": "b", "Value": ""}]}


def test_a_resource_cannot_collect_more_than_fifty(desk: InMemoryControlPlane) -> None:
    tags = [{"Key": f"{number:02}", "Value": ""} for number in range(50)]
    desk("CreateModel", ModelName="m", PrimaryContainer=MULTI_MODEL, Tags=tags)
    desk("AddTags", ResourceArn=MODEL, Tags=tags[:1])
    code, _, _ = desk.refusal("AddTags", ResourceArn=MODEL, Tags=[{"Key": "one more", "Value": ""}])
    assert code == "ResourceLimitExceeded"
    assert desk("ListTags", ResourceArn=MODEL) == {"Tags": tags}


def test_a_key_that_is_given_twice_is_refused_and_nothing_is_made(desk: InMemoryControlPlane) -> None:
    twice = [{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}]
    code, _, text = desk.refusal("CreateModel", ModelName="m", PrimaryContainer=MULTI_MODEL, Tags=twice)
    assert (code, "unique" in text) == ("ValidationException", True)
    desk("CreateModel", ModelName="m", PrimaryContainer=MULTI_MODEL)
    assert desk.refusal("AddTags", ResourceArn=MODEL, Tags=twice)[0] == "ValidationException"
    assert desk("ListTags", ResourceArn=MODEL) == {"Tags": []}


def test_endpoints_and_configs_have_tags_too(desk: InMemoryControlPlane) -> None:
    desk.create("ep")
    for segment in ("endpoint", "endpoint-config", "model"):
        arn = f"{ARN}:{segment}/ep"
        desk("AddTags", ResourceArn=arn, Tags=[{"Key": "what", "Value": segment}])
        assert desk("ListTags", ResourceArn=arn)["Tags"] == [{"Key": "what", "Value": segment}]


def test_an_arn_made_up_of_a_name_with_capitals_finds_its_resource(desk: InMemoryControlPlane) -> None:
    desk.create("Ep")
    desk("AddTags", ResourceArn=f"{ARN}:endpoint/Ep", Tags=[{"Key": "a", "Value": "1"}])
    assert desk("ListTags", ResourceArn=f"{ARN}:endpoint/ep")["Tags"] == [{"Key": "a", "Value": "1"}]
    assert "Nobody" in desk.refusal("ListTags", ResourceArn=f"{ARN}:endpoint/Nobody")[2]
