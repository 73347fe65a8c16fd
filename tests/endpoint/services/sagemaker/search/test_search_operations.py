"""Search over what is kept: each kind, filters by its shape, pages, and what is refused."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.endpoint.services.helpers.in_memory_control_plane import InMemoryControlPlane, production
from torpor_account.aws.calls import Call
from torpor_account.aws.errors import AwsError
from torpor_endpoint.services.jobs.stages import Transition
from torpor_endpoint.services.sagemaker.search.search_operations import OPERATIONS, Searching
from torpor_endpoint.services.sagemaker.search.searched_kinds import searched_kinds
from torpor_endpoint.services.training.lifecycle import TrainingJob, TrainingStage

ONE = {"Containers": [{"Image": "torpor", "ModelDataUrl": "s3://bucket/one.tar.gz"}]}
SPECIFICATION = {**ONE, "SupportedContentTypes": [], "SupportedResponseMIMETypes": []}


class SearchPlane(InMemoryControlPlane):
    """Three versions of one package group, two models, an endpoint, and training jobs with rates 0.1, 0.5 and 0.5."""

    def __init__(self) -> None:
        super().__init__()
        tags = [{"Key": "team", "Value": "plants"}]
        self("CreateModelPackageGroup", ModelPackageGroupName="Iris", Tags=tags)
        for status in ("Approved", "Rejected", "Approved"):
            self.now_s += 1
            given = {"InferenceSpecification": SPECIFICATION, "ModelApprovalStatus": status}
            self("CreateModelPackage", ModelPackageGroupName="Iris", **given)
        for name in ("shop", "spare"):
            self(
                "CreateModel", ModelName=name, PrimaryContainer={"Image": "torpor"}, Tags=tags if name == "shop" else []
            )
        self("CreateEndpointConfig", EndpointConfigName="shop", ProductionVariants=[production(ModelName="shop")])
        self("CreateEndpoint", EndpointName="shop", EndpointConfigName="shop", Tags=tags)
        self.jobs = tuple(job(number, rate) for number, rate in enumerate(("0.1", "0.5", "0.5")))
        self.searching = Searching(searched_kinds(self.control, lambda: self.jobs, tuple, tuple))

    def asked(self, operation: str, resource: str, **params: Any) -> Any:
        call = Call(operation, {"Resource": resource, **params}, "us-east-1", "123456789012", "id")
        return OPERATIONS[operation](self.searching, call)

    def found(self, resource: str, *filters: dict[str, str], **params: Any) -> list[Any]:
        given = {"SearchExpression": {"Filters": list(filters)}} if filters else {}
        answer = self.asked("Search", resource, **given, **params)
        return [next(iter(record.values())) for record in answer["Results"]]

    def refused(self, resource: str, **params: Any) -> str:
        with pytest.raises(AwsError) as error:
            self.asked("Search", resource, **params)
        assert error.value.code == "ValidationException"
        return error.value.message


def job(number: int, rate: str) -> TrainingJob:
    name, channel = (
        f"job-{number}",
        {"ChannelName": "train", "DataSource": {"S3DataSource": {"S3Uri": f"s3://in/{number}"}}},
    )
    other = {"ChannelName": "test", "DataSource": {"S3DataSource": {"S3Uri": "s3://in/0"}}}
    request = {
        "HyperParameters": {"rate": rate},
        "InputDataConfig": [channel, other],
        "OutputDataConfig": {"S3OutputPath": "s3://out"},
    }
    ended = Transition(TrainingStage.COMPLETED, 20.0 - number)
    return TrainingJob(name, f"arn:{name}", 10.0, request, (ended,))


def asks(name: str, value: str, operator: str = "Equals") -> dict[str, str]:
    return {"Name": name, "Operator": operator, "Value": value}


@pytest.fixture(scope="module")
def plane() -> Iterator[SearchPlane]:
    plane = SearchPlane()
    yield plane
    plane.close()


def test_packages_are_found_by_group_approval_and_version(plane: SearchPlane) -> None:
    found = plane.found("ModelPackage", asks("ModelPackageGroupName", "Iris"), asks("ModelApprovalStatus", "Approved"))
    assert [one["ModelPackageVersion"] for one in found] == [3, 1], "the one that was changed last comes first"
    newer = plane.found("ModelPackage", asks("ModelPackageVersion", "1", "GreaterThan"), SortOrder="Ascending")
    assert [one["ModelPackageVersion"] for one in newer] == [2, 3]


def test_each_kind_is_found_by_its_tags_with_what_is_described_of_it(plane: SearchPlane) -> None:
    tagged = asks("Tags.team", "plants")
    [group], [endpoint] = plane.found("ModelPackageGroup", tagged), plane.found("Endpoint", tagged)
    [model] = plane.found("Model", tagged)
    assert group["ModelPackageGroupName"] == "Iris"
    assert (endpoint["EndpointName"], endpoint["Tags"]) == ("shop", [{"Key": "team", "Value": "plants"}])
    assert (model["Model"]["ModelName"], [one["EndpointName"] for one in model["Endpoints"]]) == ("shop", ["shop"])
    assert plane.found("Model", asks("ModelName", "spare")) == plane.found("Model", asks("Model.ModelName", "spare"))
    assert plane.found("TrainingJob", {"Name": "Tags.team", "Operator": "Exists"}) == []


def test_jobs_are_found_by_hyperparameters_and_by_one_channel_as_a_whole(plane: SearchPlane) -> None:
    by_rate = plane.found("TrainingJob", asks("HyperParameters.rate", "0.2", "GreaterThan"))
    assert [one["TrainingJobName"] for one in by_rate] == ["job-1", "job-2"], "the last one that changed is first"
    name, uri = "InputDataConfig.ChannelName", "InputDataConfig.DataSource.S3DataSource.S3Uri"
    nested = {"NestedPropertyName": "InputDataConfig", "Filters": [asks(name, "train"), asks(uri, "in/0", "Contains")]}
    found = plane.asked("Search", "TrainingJob", SearchExpression={"NestedFilters": [nested]})
    assert [one["TrainingJob"]["TrainingJobName"] for one in found["Results"]] == ["job-0"]
    assert found["TotalHits"] == {"Value": 1, "Relation": "EqualTo"}
    assert len(plane.found("TrainingJob", asks(name, "train"), asks(uri, "in/0", "Contains"))) == 3


def test_an_expression_within_may_ask_for_one_of_several(plane: SearchPlane) -> None:
    either = {"Operator": "Or", "Filters": [asks("TrainingJobName", "job-0"), asks("HyperParameters.rate", "0.5")]}
    expression = {"SubExpressions": [either], "Filters": [asks("TrainingJobName", "job-1", "NotEquals")]}
    found = plane.asked("Search", "TrainingJob", SearchExpression=expression, SortBy="HyperParameters.rate")
    assert [one["TrainingJob"]["TrainingJobName"] for one in found["Results"]] == ["job-2", "job-0"]


def test_pages_follow_each_other_and_a_token_is_for_its_own_order(plane: SearchPlane) -> None:
    sorted_by = {"SortBy": "HyperParameters.rate", "MaxResults": 2}
    first = plane.asked("Search", "TrainingJob", **sorted_by)
    last = plane.asked("Search", "TrainingJob", NextToken=first["NextToken"], **sorted_by)
    names = [one["TrainingJob"]["TrainingJobName"] for one in (*first["Results"], *last["Results"])]
    assert (names, last["NextToken"], first["TotalHits"]["Value"]) == (["job-2", "job-1", "job-0"], None, 3)
    assert "NextToken" in plane.refused("TrainingJob", NextToken=first["NextToken"])
    assert "NextToken" in plane.refused("Endpoint", NextToken="abc")
    assert plane.found("Endpoint", CrossAccountFilterOption="CrossAccount") == []


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ({"Filters": [asks("ModelPackageGroup", "x")]}, "Unknown property name 'ModelPackageGroup': ModelPackage has"),
        ({"Filters": [asks("Tags.", "x")]}, "Unknown property name 'Tags.'"),
        ({"Filters": [asks("ModelPackageVersion", "one")]}, "'ModelPackageVersion' is a number, and Value 'one'"),
        ({"Filters": [asks("ModelPackageArn", "a", "Contains")] * 2}, "'CONTAINS' operator usage limit of 1 exceeded."),
        ({}, "at least one of Filters, NestedFilters and SubExpressions"),
        ({"SubExpressions": [{"Operator": "Or"}]}, "at least one of"),
        ({"SubExpressions": [{"Filters": [asks("ModelPackageArn", "a")] * 20}] * 3}, "63 filters and expressions"),
        (
            {"NestedFilters": [{"NestedPropertyName": "ModelPackageArn", "Filters": [asks("ModelPackageArn", "a")]}]},
            "NestedPropertyName 'ModelPackageArn' is no list",
        ),
        (
            {"NestedFilters": [{"NestedPropertyName": "Tags", "Filters": [asks("Key", "a")]}]},
            "in NestedFilters it begins with 'Tags.'",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused_and_says_what_to_do(plane: SearchPlane, expression: Any, why: str) -> None:
    assert why in plane.refused("ModelPackage", SearchExpression=expression)


def test_other_resources_and_visibility_are_refused_by_name(plane: SearchPlane) -> None:
    known = "It searches TrainingJob, HyperParameterTuningJob, Endpoint, Model, ModelPackage, ModelPackageGroup."
    assert plane.refused("Experiment") == f"Torpor keeps nothing of Resource Experiment. {known}"
    assert "VisibilityConditions" in plane.refused("Endpoint", VisibilityConditions=[{"Key": "a", "Value": "b"}])
    assert "SortBy 'InferenceSpecification'" in plane.refused("ModelPackage", SortBy="InferenceSpecification")


def test_names_of_hyperparameters_and_tags_are_suggested(plane: SearchPlane) -> None:
    def suggested(resource: str, hint: str) -> list[str]:
        query = {"PropertyNameQuery": {"PropertyNameHint": hint}}
        answer = plane.asked("GetSearchSuggestions", resource, SuggestionQuery=query)
        return [one["PropertyName"] for one in answer["PropertyNameSuggestions"]]

    assert suggested("TrainingJob", "hyper") == ["HyperParameters.rate"]
    assert (suggested("Model", "Tags.t"), suggested("Endpoint", "Metrics")) == (["Tags.team"], [])
