"""What the operations on experiments refuse: each refusal names the member."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.services.helpers.in_memory_experiments import (
    DAY_S,
    HOUR_S,
    NEW,
    NOON_S,
    OLD,
    InMemoryExperiments,
    at,
    experiment,
    production,
    sampled,
    variant,
)
from torpor_account.aws.calls import Call
from torpor_account.aws.errors import AwsError
from torpor_endpoint.services.sagemaker.experiments.context import Experimenting
from torpor_endpoint.services.sagemaker.experiments.operations import OPERATIONS

LATER: dict[str, Any] = {"Schedule": {"StartTime": at(NOON_S + DAY_S)}}
MANY = {"Image": "torpor", "Mode": "MultiModel", "ModelDataUrl": "s3://bucket/models/"}


def refused(lab: InMemoryExperiments, operation: str, **params: Any) -> tuple[str, str]:
    """Code and message of the refusal. Nothing has changed."""
    before = lab.client.list_inference_experiments(), lab.endpoint()
    with pytest.raises(ClientError) as refusal:
        getattr(lab.client, operation)(**params)
    now = lab.client.list_inference_experiments(), lab.endpoint()
    for answer in (*before, *now):
        del answer["ResponseMetadata"]
    assert now == before
    error = refusal.value.response["Error"]
    return error["Code"], error["Message"]


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"EndpointName": "ghost"}, 'Could not find endpoint "arn:'),
        ({"ModelVariants": [OLD]}, "ModelVariants must have two entries"),
        ({"ModelVariants": [OLD, OLD]}, "ModelVariants must have two entries with different VariantNames"),
        ({"ShadowModeConfig": sampled(5, source="Other")}, "SourceModelVariantName must be the VariantName"),
        ({"ShadowModeConfig": sampled(5, shadow="Other")}, "ShadowModelVariantName must be the VariantName"),
        ({"ShadowModeConfig": sampled(5, shadow="Old")}, "must be different variants"),
        ({"ShadowModeConfig": sampled(5, "Old", "New")}, "SourceModelVariantName must be the endpoint's production"),
        ({"ShadowModeConfig": sampled(-1)}, "SamplingPercentage must be from 0 to 100"),
        ({"ModelVariants": [variant("Old", "ghost"), NEW]}, 'could not find model "ghost" of Old'),
        ({"ModelVariants": [OLD, variant("New", "ghost")]}, 'could not find model "ghost" of New'),
        ({"ModelVariants": [OLD, variant("New", "new", 0)]}, "cannot have 0 instances"),
        ({"ModelVariants": [OLD, variant("New", "new", 1, "ml.dl1.24xlarge")]}, "no instance type ml.dl1.24xlarge"),
        ({"DataStorageConfig": {"Destination": "https://e/bucket"}}, "Destination of DataStorageConfig must be s3://"),
        ({"Schedule": {"EndTime": at(NOON_S - 1)}}, "Schedule.EndTime must be in the future"),
        ({"Schedule": {"EndTime": at(NOON_S + HOUR_S - 61)}}, "at least 1 hour after the start"),
        ({"Schedule": {"EndTime": at(NOON_S + 30 * DAY_S + 1)}}, "at most 30 days after the start"),
        ({"Tags": [{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}]}, "Tag keys must be unique"),
    ],
)
def test_an_experiment_that_cannot_be_is_refused(lab: InMemoryExperiments, members: dict[str, Any], text: str) -> None:
    code, message = refused(lab, "create_inference_experiment", **experiment(**members))
    assert (code, text in message) == ("ValidationException", True), message


def test_a_member_of_a_newer_service_model_is_refused(lab: InMemoryExperiments) -> None:
    context: Any = Experimenting(lab.control, None)  # type: ignore[arg-type]  # the records are never read
    for operation in ("CreateInferenceExperiment", "UpdateInferenceExperiment", "StopInferenceExperiment"):
        with pytest.raises(AwsError, match="Torpor does not know Newest"):
            OPERATIONS[operation](context, Call(operation, {"Name": "trial", "Newest": 1}, "us-east-1", "1", "id"))


@pytest.mark.parametrize(
    ("variants", "config", "text"),
    [
        ([production(), production("Other", "new")], {}, "must have exactly one production variant"),
        (
            [production()],
            {"ShadowProductionVariants": [production("Other", "new")]},
            "has a shadow variant that is not the experiment's New",
        ),
        (
            [production()],
            {"ShadowProductionVariants": [production("New", "old")]},
            "has a shadow variant that is not the experiment's New with the same model",
        ),
        (
            [production(ServerlessConfig={"MemorySizeInMB": 1024, "MaxConcurrency": 1})],
            {},
            "the endpoint must not be serverless",
        ),
    ],
)
def test_an_endpoint_that_cannot_have_an_experiment_is_refused(
    lab: InMemoryExperiments, variants: list[dict[str, Any]], config: dict[str, Any], text: str
) -> None:
    lab.deploy(*variants, name="other", **config)
    code, message = refused(lab, "create_inference_experiment", **experiment(EndpointName="other"))
    assert (code, "EndpointName" in message, text in message) == ("ValidationException", True, True), message


def test_an_endpoint_that_changes_is_refused(lab: InMemoryExperiments) -> None:
    lab.holds = True
    lab.client.update_endpoint(EndpointName="houses", EndpointConfigName="houses-plain")
    _, message = refused(lab, "create_inference_experiment", **experiment())
    assert 'the endpoint "houses" is Updating. It must be InService' in message


def test_a_scalable_target_keeps_its_instance_type(lab: InMemoryExperiments) -> None:
    lab.scaled = {"Old"}
    larger = [variant("Old", "old", 1, "ml.c5.large"), NEW]
    _, message = refused(lab, "create_inference_experiment", **experiment(ModelVariants=larger))
    assert "Old" in message
    assert "deregister it" in message
    lab.running()
    actions = {"Old": "Remove", "New": "Promote"}
    _, message = refused(lab, "stop_inference_experiment", Name="trial", ModelVariantActions=actions)
    assert "deregister it before you remove it" in message


def test_a_name_and_an_endpoint_have_one_experiment_at_a_time(lab: InMemoryExperiments) -> None:
    lab.create(**LATER)
    code, message = refused(lab, "create_inference_experiment", **experiment(Name="another"))
    assert (code, 'has the inference experiment "trial"' in message) == ("ResourceInUse", True)
    lab.deploy(name="other")
    code, message = refused(lab, "create_inference_experiment", **experiment(EndpointName="other"))
    assert (code, "already existing" in message) == ("ResourceInUse", True)


@pytest.fixture
def strict() -> Iterator[InMemoryExperiments]:
    lab = InMemoryExperiments(strict=True)
    lab.models()
    lab.client.create_model(ModelName="many", PrimaryContainer=MANY)
    yield lab
    lab.close()


def test_strict_mode_refuses_endpoints_of_many_models(strict: InMemoryExperiments) -> None:
    strict.deploy()
    _, message = refused(
        strict, "create_inference_experiment", **experiment(ModelVariants=[OLD, variant("New", "many")])
    )
    assert "multi-model endpoints are not supported" in message
    strict.running()


def test_an_asynchronous_endpoint_is_refused(lab: InMemoryExperiments) -> None:
    output = {
        "S3OutputPath": "s3://bucket/out",
        "NotificationConfig": {"ErrorTopic": "arn:aws:sns:us-east-1:123456789012:t"},
    }
    config = {"OutputConfig": output, "ClientConfig": {"MaxConcurrentInvocationsPerInstance": 3}}
    lab.deploy(name="later", AsyncInferenceConfig=config)
    assert lab.endpoint("later")["AsyncInferenceConfig"] == config
    _, message = refused(lab, "create_inference_experiment", **experiment(EndpointName="later"))
    assert "EndpointName: the endpoint is asynchronous" in message


def test_an_endpoint_for_inference_components_is_refused(lab: InMemoryExperiments) -> None:
    variant = {"VariantName": "Old", "InstanceType": "ml.m5.large", "InitialInstanceCount": 1}
    role = "arn:aws:iam::123456789012:role/walk"
    lab.client.create_endpoint_config(EndpointConfigName="room", ProductionVariants=[variant], ExecutionRoleArn=role)
    lab.client.create_endpoint(EndpointName="room", EndpointConfigName="room")
    lab.settle("room")
    _, message = refused(lab, "create_inference_experiment", **experiment(EndpointName="room"))
    assert "inference components have no shadow variants" in message


# -- statuses ----------------------------------------------------------------------------------------------------------
STOPS = {"ModelVariantActions": {"Old": "Retain", "New": "Remove"}}


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("start_inference_experiment", {}),
        ("stop_inference_experiment", STOPS),
        ("update_inference_experiment", {"Description": "late"}),
    ],
)
def test_an_experiment_that_has_ended_takes_no_order(
    lab: InMemoryExperiments, operation: str, params: dict[str, Any]
) -> None:
    lab.running()
    lab.stop("Retain", "Remove")
    code, message = refused(lab, operation, Name="trial", **params)
    assert (code, "is Completed" in message) == ("ConflictException", True)


@pytest.mark.parametrize(
    ("operation", "params"), [("start_inference_experiment", {}), ("delete_inference_experiment", {})]
)
def test_an_experiment_that_runs_is_neither_started_nor_deleted(
    lab: InMemoryExperiments, operation: str, params: dict[str, Any]
) -> None:
    lab.running()
    code, message = refused(lab, operation, Name="trial", **params)
    assert (code, "is Running" in message) == ("ConflictException", True)


@pytest.mark.parametrize("operation", ["describe", "start", "delete", "update", "stop"])
def test_an_experiment_that_is_missing_is_not_found(lab: InMemoryExperiments, operation: str) -> None:
    more = STOPS if operation == "stop" else {}
    code, message = refused(lab, f"{operation}_inference_experiment", Name="ghost", **more)
    assert (code, "ghost" in message) == ("ResourceNotFound", True)


# -- update ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"ModelVariants": [variant("New", "new", 2)]}, "ModelVariants cannot change after the experiment has started"),
        ({"DataStorageConfig": {"Destination": "s3://bucket/trial"}}, "DataStorageConfig cannot change after"),
        ({"Schedule": {"StartTime": at(NOON_S + HOUR_S)}}, "Schedule.StartTime cannot change after"),
        ({"Schedule": {"EndTime": at(NOON_S - HOUR_S)}}, "Schedule.EndTime must be in the future"),
        ({"Schedule": {"EndTime": at(NOON_S + 31 * DAY_S)}}, "at most 30 days"),
        ({"ShadowModeConfig": sampled(101)}, "less than or equal to 100"),
        ({"ShadowModeConfig": sampled(10, shadow="Other")}, "an update can change SamplingPercentage only"),
        ({"ModelVariants": [variant("Other", "new")]}, "ModelVariants: the experiment has no variant Other"),
        ({"ModelVariants": [variant("New", "old")]}, "the ModelName of New must stay new"),
    ],
)
def test_what_a_running_experiment_cannot_change_is_refused(
    lab: InMemoryExperiments, members: dict[str, Any], text: str
) -> None:
    lab.running()
    code, message = refused(lab, "update_inference_experiment", Name="trial", **members)
    assert (code, text in message) == ("ValidationException", True), message


def test_settings_that_do_not_change_are_no_change(lab: InMemoryExperiments) -> None:
    lab.running()
    lab.client.update_inference_experiment(Name="trial", ModelVariants=[OLD, NEW], ShadowModeConfig=sampled(50))
    assert lab.described()["Status"] == "Running"


def test_an_experiment_that_has_not_started_is_checked_again(lab: InMemoryExperiments) -> None:
    lab.create(**LATER)
    lab.look()
    too_many = [variant("New", "new", 0)]
    _, message = refused(lab, "update_inference_experiment", Name="trial", ModelVariants=too_many)
    assert "cannot have 0 instances" in message
    schedule = {"StartTime": at(NOON_S + 2 * DAY_S), "EndTime": at(NOON_S + 2 * DAY_S + 60)}
    _, message = refused(lab, "update_inference_experiment", Name="trial", Schedule=schedule)
    assert "at least 1 hour" in message


# -- stop --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("actions", "more", "text"),
    [
        ({"New": "Promote"}, {}, "must have one action for each of Old and New"),
        ({"Old": "Retain", "Other": "Remove"}, {}, "must have one action for each of Old and New"),
        ({"Old": "Promote", "New": "Remove"}, {}, "Old is the production variant already"),
        ({"Old": "Retain", "New": "Promote"}, {}, "Promote of New needs Remove of Old"),
        ({"Old": "Remove", "New": "Retain"}, {}, "Remove of Old needs Promote of New"),
        ({"Old": "Remove", "New": "Remove"}, {}, "Remove of Old needs Promote of New"),
        ({"Old": "Remove", "New": "Promote"}, {"DesiredModelVariants": [OLD]}, "each variant that the endpoint keeps"),
        ({"Old": "Retain", "New": "Retain"}, {"DesiredModelVariants": [OLD]}, "endpoint keeps: Old and New"),
        (
            {"Old": "Remove", "New": "Promote"},
            {"DesiredModelVariants": [variant("New", "old")]},
            "DesiredModelVariants: the ModelName of New must stay new",
        ),
        (
            {"Old": "Remove", "New": "Promote"},
            {"DesiredModelVariants": [variant("New", "new", 0)]},
            "cannot have 0 instances",
        ),
    ],
)
def test_a_stop_that_cannot_be_is_refused(
    lab: InMemoryExperiments, actions: dict[str, str], more: dict[str, Any], text: str
) -> None:
    lab.running()
    code, message = refused(lab, "stop_inference_experiment", Name="trial", ModelVariantActions=actions, **more)
    assert (code, text in message) == ("ValidationException", True), message


@pytest.mark.parametrize(
    ("actions", "more", "text"),
    [
        ({"Old": "Remove", "New": "Promote"}, {}, "New cannot be promoted before"),
        ({"Old": "Retain", "New": "Remove"}, {"DesiredState": "Completed"}, "DesiredState must be Cancelled before"),
        ({"Old": "Retain", "New": "Remove"}, {"DesiredModelVariants": [OLD]}, "DesiredModelVariants cannot be given"),
    ],
)
def test_a_stop_before_the_start_can_only_cancel(
    lab: InMemoryExperiments, actions: dict[str, str], more: dict[str, Any], text: str
) -> None:
    lab.create(**LATER)
    lab.look()
    code, message = refused(lab, "stop_inference_experiment", Name="trial", ModelVariantActions=actions, **more)
    assert (code, text in message) == ("ValidationException", True), message
