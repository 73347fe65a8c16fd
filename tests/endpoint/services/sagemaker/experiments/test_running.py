"""Experiments from their creation to their end, through boto3 and a clock that the test turns."""

from pathlib import Path
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
from torpor_endpoint.services.sagemaker.experiments.differences import DIFFERENCES
from torpor_endpoint.services.sagemaker.members.known import KNOWN, Treatment

BOTH: dict[str, list[str]] = {"production": ["Old"], "shadow": ["New"]}
BEFORE: dict[str, list[str]] = {"production": ["Old"], "shadow": []}
TOMORROW = {"Schedule": {"StartTime": at(NOON_S + DAY_S), "EndTime": at(NOON_S + 3 * DAY_S)}}


# -- start and schedule ------------------------------------------------------------------------------------------------
def test_an_experiment_starts_at_once_and_takes_seven_days(lab: InMemoryExperiments) -> None:
    lab.create()
    assert lab.described()["Status"] == "Creating"
    lab.look()
    described = lab.described()
    assert (described["Status"], lab.serves()) == ("Running", BOTH)
    assert described["Schedule"]["StartTime"] == at(NOON_S)
    assert described["Schedule"]["EndTime"] == at(NOON_S + 7 * DAY_S)
    assert {each["VariantName"]: each["Status"] for each in described["ModelVariants"]} == {
        "Old": "InService",
        "New": "InService",
    }


def test_the_sampling_percentage_is_the_share_of_copies(lab: InMemoryExperiments) -> None:
    lab.deploy(production(InitialVariantWeight=4.0), name="weighted")
    lab.running(EndpointName="weighted", ShadowModeConfig=sampled(25))
    described = lab.endpoint("weighted")
    assert described["ShadowProductionVariants"][0]["CurrentWeight"] == 0.25
    assert described["ProductionVariants"][0]["CurrentWeight"] == 1.0


def test_both_variants_get_the_infrastructure_of_the_experiment(lab: InMemoryExperiments) -> None:
    lab.running(ModelVariants=[variant("Old", "old", 2), variant("New", "new", 3, "ml.c5.large")])
    config = lab.client.describe_endpoint_config(EndpointConfigName=lab.endpoint()["EndpointConfigName"])
    (old,), (new,) = config["ProductionVariants"], config["ShadowProductionVariants"]
    assert (old["InstanceType"], old["InitialInstanceCount"]) == ("ml.m5.large", 2)
    assert (new["InstanceType"], new["InitialInstanceCount"]) == ("ml.c5.large", 3)
    assert [each["DesiredInstanceCount"] for each in lab.endpoint()["ProductionVariants"]] == [2]


OTHER_MODEL = {"ModelVariants": [variant("Old", "new"), variant("New", "old")]}


def served_models(lab: InMemoryExperiments) -> dict[str, str]:
    """The model of each variant that the endpoint serves."""
    record = lab.store.endpoint("houses")
    assert record is not None
    return {one.name: one.model_name for one in record.variants}


def test_the_production_variant_gets_the_model_of_the_experiment_until_its_end(lab: InMemoryExperiments) -> None:
    lab.running(**OTHER_MODEL, Schedule={"EndTime": at(NOON_S + 2 * HOUR_S)})
    assert served_models(lab) == {"Old": "new", "New": "old"}
    config = lab.client.describe_endpoint_config(EndpointConfigName=lab.endpoint()["EndpointConfigName"])
    assert config["ProductionVariants"][0]["ModelName"] == "new"
    lab.look(2 * HOUR_S)
    assert (lab.described()["Status"], served_models(lab)) == ("Completed", {"Old": "old"})


@pytest.mark.parametrize("desired", [{}, {"DesiredModelVariants": [variant("Old", "new", 2)]}])
def test_a_production_variant_that_is_retained_keeps_the_model_of_the_experiment(
    lab: InMemoryExperiments, desired: dict[str, Any]
) -> None:
    lab.running(**OTHER_MODEL)
    lab.stop("Retain", "Remove", **desired)
    assert (lab.described()["Status"], served_models(lab)) == ("Completed", {"Old": "new"})
    assert lab.serves() == BEFORE


def test_an_experiment_starts_when_its_schedule_says_so(lab: InMemoryExperiments) -> None:
    lab.create(**TOMORROW)
    lab.look(DAY_S - 1.0)
    assert (lab.described()["Status"], lab.serves()) == ("Created", BEFORE)
    assert {each["VariantName"]: each["Status"] for each in lab.described()["ModelVariants"]}["New"] == "Creating"
    lab.look(2.0)
    assert (lab.described()["Status"], lab.serves()) == ("Running", BOTH)


def test_an_experiment_that_is_started_early_keeps_its_end(lab: InMemoryExperiments) -> None:
    lab.create(**TOMORROW)
    lab.look()
    lab.client.start_inference_experiment(Name="trial")
    lab.look()
    described = lab.described()
    assert (described["Status"], described["Schedule"]["EndTime"]) == ("Running", at(NOON_S + 3 * DAY_S))
    assert lab.serves() == BOTH


def test_an_early_start_never_makes_an_experiment_longer_than_thirty_days(lab: InMemoryExperiments) -> None:
    later = {"StartTime": at(NOON_S + 20 * DAY_S), "EndTime": at(NOON_S + 50 * DAY_S)}
    lab.create(Schedule=later)
    lab.look()
    lab.client.start_inference_experiment(Name="trial")
    schedule = lab.described()["Schedule"]
    assert (schedule["EndTime"] - schedule["StartTime"]).total_seconds() == 30 * DAY_S


def test_the_end_of_the_schedule_gives_the_endpoint_back_as_it_was(lab: InMemoryExperiments) -> None:
    before = lab.endpoint()
    lab.running(ModelVariants=[variant("Old", "old", 3), NEW], Schedule={"EndTime": at(NOON_S + 2 * HOUR_S)})
    during = lab.endpoint()["EndpointConfigName"]
    lab.look(2 * HOUR_S)
    described, now = lab.described(), lab.endpoint()
    assert (described["Status"], lab.serves()) == ("Completed", BEFORE)
    assert described["CompletionTime"] >= at(NOON_S + 2 * HOUR_S)
    assert now["EndpointConfigName"] == before["EndpointConfigName"]
    assert now["ProductionVariants"][0]["DesiredInstanceCount"] == 1
    assert {each["VariantName"]: each["Status"] for each in described["ModelVariants"]}["New"] == "Deleted"
    with pytest.raises(ClientError, match="Could not find endpoint configuration"):
        lab.client.describe_endpoint_config(EndpointConfigName=during)


def test_an_endpoint_gets_its_own_shadow_variant_back(lab: InMemoryExperiments) -> None:
    shadow = production("New", "new", InitialVariantWeight=1.0)
    lab.deploy(name="shadowed", ShadowProductionVariants=[shadow])
    lab.running(EndpointName="shadowed", Schedule={"EndTime": at(NOON_S + HOUR_S)})
    assert lab.endpoint("shadowed")["ShadowProductionVariants"][0]["CurrentWeight"] == 0.5
    lab.look(HOUR_S)
    assert lab.endpoint("shadowed")["ShadowProductionVariants"][0]["CurrentWeight"] == 1.0


def test_an_endpoint_that_cannot_start_the_shadow_goes_on_without_it(lab: InMemoryExperiments) -> None:
    lab.fails = "The primary container for production variant New did not pass the ping health check."
    lab.create()
    lab.look()
    described = lab.described()
    assert (described["Status"], lab.serves()) == ("Cancelled", BEFORE)
    assert "did not pass the ping" in described["StatusReason"]
    names = [each["EndpointConfigName"] for each in lab.client.list_endpoint_configs()["EndpointConfigs"]]
    assert names == ["houses-plain"]


# -- restart -----------------------------------------------------------------------------------------------------------
def test_the_schedule_holds_over_restarts(tmp_path: Path) -> None:
    lab = InMemoryExperiments(tmp_path / "db")
    lab.models()
    lab.deploy()
    lab.create(Schedule={"StartTime": at(NOON_S + HOUR_S), "EndTime": at(NOON_S + 4 * HOUR_S)})
    lab.restart()
    lab.look(HOUR_S)
    assert lab.described()["Status"] == "Running"
    lab.restart()
    lab.look(5 * HOUR_S)  # its end passed while the endpoint was stopped
    assert (lab.described()["Status"], lab.serves()) == ("Completed", BEFORE)
    lab.close()


@pytest.mark.parametrize("ready", [True, False], ids=["the update succeeds", "the update fails"])
def test_a_restart_while_the_endpoint_changes_loses_nothing(lab: InMemoryExperiments, ready: bool) -> None:
    lab.holds = True
    lab.create()
    lab.runner.look()  # the endpoint is Updating, and the process is killed
    assert (lab.described()["Status"], lab.endpoint()["EndpointStatus"]) == ("Starting", "Updating")
    lab.restart()
    lab.runner.look()
    lab.fails = None if ready else "no room"
    lab.settle()
    lab.look()
    assert lab.described()["Status"] == ("Running" if ready else "Cancelled")
    assert lab.serves() == (BOTH if ready else BEFORE)


def test_a_schedule_that_passed_as_a_whole_while_the_endpoint_was_stopped_is_cancelled(
    lab: InMemoryExperiments,
) -> None:
    lab.create(**TOMORROW)
    lab.look()
    lab.restart()
    lab.look(4 * DAY_S)
    described = lab.described()
    assert (described["Status"], described["StatusReason"]) == (
        "Cancelled",
        "The schedule ended before the experiment could start.",
    )


# -- update ------------------------------------------------------------------------------------------------------------
def test_a_running_experiment_takes_another_percentage(lab: InMemoryExperiments) -> None:
    lab.running()
    lab.client.update_inference_experiment(Name="trial", ShadowModeConfig=sampled(10), Description="less")
    assert lab.described()["Status"] == "Updating"
    lab.look()
    described = lab.described()
    assert (described["Status"], described["Description"]) == ("Running", "less")
    assert described["ShadowModeConfig"] == sampled(10)
    assert lab.endpoint()["ShadowProductionVariants"][0]["CurrentWeight"] == 0.1
    lab.stop("Retain", "Remove")
    assert lab.endpoint()["EndpointConfigName"] == "houses-plain"


def test_an_update_that_the_endpoint_cannot_take_leaves_the_experiment_as_it_was(lab: InMemoryExperiments) -> None:
    lab.running()
    lab.fails = "no room"
    lab.client.update_inference_experiment(Name="trial", ShadowModeConfig=sampled(10))
    lab.look()
    described = lab.described()
    assert (described["Status"], described["ShadowModeConfig"]) == ("Running", sampled(50))
    assert "no room" in described["StatusReason"]


def test_a_running_experiment_takes_another_end(lab: InMemoryExperiments) -> None:
    lab.running()
    schedule = {**lab.described()["Schedule"], "EndTime": at(NOON_S + 2 * HOUR_S)}
    lab.client.update_inference_experiment(Name="trial", Schedule=schedule)
    assert lab.described()["Status"] == "Running"
    lab.look(2 * HOUR_S)
    assert lab.described()["Status"] == "Completed"


def test_an_experiment_that_has_not_started_takes_everything_but_other_models(lab: InMemoryExperiments) -> None:
    lab.create(**TOMORROW)
    lab.look()
    storage = {"Destination": "s3://bucket/trial"}
    lab.client.update_inference_experiment(
        Name="trial",
        Schedule={"StartTime": at(NOON_S + HOUR_S)},
        ModelVariants=[variant("New", "new", 2)],
        DataStorageConfig=storage,
        ShadowModeConfig=sampled(100),
    )
    lab.look(HOUR_S)
    described = lab.described()
    assert (described["Status"], described["DataStorageConfig"]) == ("Running", storage)
    assert [
        lab.endpoint()[kind][0]["DesiredInstanceCount"] for kind in ("ProductionVariants", "ShadowProductionVariants")
    ] == [1, 2]


# -- stop --------------------------------------------------------------------------------------------------------------
def test_remove_drops_the_shadow_and_reverts(lab: InMemoryExperiments) -> None:
    lab.running(ModelVariants=[variant("Old", "old", 2), NEW])
    lab.stop("Retain", "Remove", Reason="too slow", DesiredState="Cancelled")
    described = lab.described()
    assert (described["Status"], described["StatusReason"]) == ("Cancelled", "too slow")
    assert (lab.serves(), lab.endpoint()["EndpointConfigName"]) == (BEFORE, "houses-plain")


def test_remove_with_desired_variants_keeps_the_production_variant_in_that_size(lab: InMemoryExperiments) -> None:
    lab.running()
    lab.stop("Retain", "Remove", DesiredModelVariants=[variant("Old", "old", 4, "ml.c5.large")])
    (old,) = lab.endpoint()["ProductionVariants"]
    assert (lab.serves(), old["DesiredInstanceCount"], lab.described()["Status"]) == (BEFORE, 4, "Completed")


def test_promote_puts_the_shadow_into_production(lab: InMemoryExperiments) -> None:
    lab.running(ModelVariants=[OLD, variant("New", "new", 2)])
    lab.stop("Remove", "Promote")
    assert lab.serves() == {"production": ["New"], "shadow": []}
    config = lab.client.describe_endpoint_config(EndpointConfigName=lab.endpoint()["EndpointConfigName"])
    assert config["ProductionVariants"] == [production("New", "new", InitialInstanceCount=2, InitialVariantWeight=1.0)]
    assert "ShadowProductionVariants" not in config
    statuses = {each["VariantName"]: each["Status"] for each in lab.described()["ModelVariants"]}
    assert statuses == {"Old": "Deleted", "New": "InService"}


def test_promote_in_the_size_of_production(lab: InMemoryExperiments) -> None:
    lab.running()
    lab.stop("Remove", "Promote", DesiredModelVariants=[variant("New", "new", 3)])
    assert lab.endpoint()["ProductionVariants"][0]["DesiredInstanceCount"] == 3


def test_retain_keeps_both_as_they_are(lab: InMemoryExperiments) -> None:
    lab.running()
    during = lab.endpoint()["EndpointConfigName"]
    lab.stop("Retain", "Retain")
    assert (lab.described()["Status"], lab.serves()) == ("Completed", BOTH)
    assert lab.endpoint()["EndpointConfigName"] == during
    assert lab.client.describe_endpoint_config(EndpointConfigName=during)["ShadowProductionVariants"]


def test_retain_both_in_other_sizes(lab: InMemoryExperiments) -> None:
    lab.running()
    lab.stop("Retain", "Retain", DesiredModelVariants=[variant("Old", "old", 2), variant("New", "new", 3)])
    counts = [
        lab.endpoint()[kind][0]["DesiredInstanceCount"] for kind in ("ProductionVariants", "ShadowProductionVariants")
    ]
    assert (counts, lab.endpoint()["ShadowProductionVariants"][0]["CurrentWeight"]) == ([2, 3], 0.5)


def test_a_stop_that_the_endpoint_cannot_take_leaves_the_experiment_running(lab: InMemoryExperiments) -> None:
    lab.running()
    lab.fails = "no room"
    lab.stop("Remove", "Promote")
    described = lab.described()
    assert (described["Status"], lab.serves()) == ("Running", BOTH)
    assert "no room" in described["StatusReason"]
    lab.fails = None
    lab.stop("Remove", "Promote")
    assert (lab.described()["Status"], lab.serves()["production"]) == ("Completed", ["New"])


def test_only_configurations_of_the_experiment_are_deleted(lab: InMemoryExperiments) -> None:
    def names() -> set[str]:
        return {each["EndpointConfigName"] for each in lab.client.list_endpoint_configs()["EndpointConfigs"]}

    lab.running()
    during = lab.endpoint()["EndpointConfigName"]
    lab.fails = "no room"
    lab.client.update_inference_experiment(Name="trial", ShadowModeConfig=sampled(10))
    lab.look()
    lab.stop("Remove", "Promote")
    lab.stop("Retain", "Remove")
    assert (lab.described()["Status"], names()) == ("Running", {"houses-plain", during})
    lab.fails = None
    lab.stop("Retain", "Remove")
    assert names() == {"houses-plain"}


def test_the_end_of_the_schedule_tries_once(lab: InMemoryExperiments) -> None:
    lab.running(Schedule={"EndTime": at(NOON_S + HOUR_S)})
    lab.fails = "no room"
    lab.look(HOUR_S)
    described = lab.described()
    assert (described["Status"], lab.serves()) == ("Cancelled", BOTH)
    assert "no room" in described["StatusReason"]


def test_a_stop_before_the_start_leaves_the_endpoint_alone(lab: InMemoryExperiments) -> None:
    lab.create(**TOMORROW)
    lab.look()
    lab.stop("Retain", "Remove", Reason="not now")
    described = lab.described()
    assert (described["Status"], described["StatusReason"], lab.serves()) == ("Cancelled", "not now", BEFORE)


# -- capture -----------------------------------------------------------------------------------------------------------
STORAGE = {"Destination": "s3://bucket/trial", "KmsKey": "key", "ContentType": {"CsvContentTypes": ["text/csv"]}}
OWN_CAPTURE = {
    "InitialSamplingPercentage": 20,
    "DestinationS3Uri": "s3://bucket/own",
    "CaptureOptions": [{"CaptureMode": "Input"}],
}


def test_the_data_of_an_experiment_is_captured_while_it_runs(lab: InMemoryExperiments) -> None:
    lab.running(DataStorageConfig=STORAGE)
    during = lab.endpoint()
    config = lab.client.describe_endpoint_config(EndpointConfigName=during["EndpointConfigName"])["DataCaptureConfig"]
    assert during["DataCaptureConfig"]["DestinationS3Uri"] == "s3://bucket/trial"
    assert (during["DataCaptureConfig"]["CurrentSamplingPercentage"], config["KmsKeyId"]) == (100, "key")
    assert config["CaptureOptions"] == [{"CaptureMode": "Input"}, {"CaptureMode": "Output"}]
    assert config["CaptureContentTypeHeader"] == {"CsvContentTypes": ["text/csv"]}
    lab.stop("Remove", "Promote")
    assert "DataCaptureConfig" not in lab.endpoint()


def test_the_endpoints_own_capture_goes_on_unless_the_experiment_has_one(lab: InMemoryExperiments) -> None:
    lab.deploy(name="captured", DataCaptureConfig=OWN_CAPTURE)
    lab.running(EndpointName="captured")
    assert lab.endpoint("captured")["DataCaptureConfig"]["DestinationS3Uri"] == "s3://bucket/own"
    lab.stop("Remove", "Promote")
    assert lab.endpoint("captured")["DataCaptureConfig"]["CurrentSamplingPercentage"] == 20


# -- what others do to the endpoint ------------------------------------------------------------------------------------
@pytest.mark.parametrize("schedule", [{}, TOMORROW], ids=["running", "created"])
def test_an_endpoint_that_is_deleted_cancels_its_experiment(lab: InMemoryExperiments, schedule: dict[str, Any]) -> None:
    lab.create(**schedule)
    lab.look()
    lab.client.delete_endpoint(EndpointName="houses")
    lab.look(2.0)
    described = lab.described()
    assert (described["Status"], described["StatusReason"]) == ("Cancelled", "The endpoint was deleted.")
    assert described["EndpointMetadata"] == {"EndpointName": "houses"}


def test_another_endpoint_of_the_same_name_is_not_the_experiments(lab: InMemoryExperiments) -> None:
    lab.create(**TOMORROW)
    lab.look()
    lab.client.delete_endpoint(EndpointName="houses")
    lab.now_s += 1.0
    lab.client.create_endpoint(EndpointName="houses", EndpointConfigName="houses-plain")
    lab.look(DAY_S)
    assert (lab.described()["StatusReason"], lab.serves()) == ("The endpoint was deleted.", BEFORE)


def test_an_update_by_another_call_ends_the_experiment_and_stays(lab: InMemoryExperiments) -> None:
    lab.running()
    lab.client.update_endpoint(EndpointName="houses", EndpointConfigName="houses-plain")
    lab.look(2.0)
    described = lab.described()
    assert (described["Status"], lab.serves()) == ("Cancelled", BEFORE)
    assert "houses-plain by another call" in described["StatusReason"]


def test_weights_and_capacities_may_change_meanwhile(lab: InMemoryExperiments) -> None:
    lab.running()
    weights = [{"VariantName": "New", "DesiredWeight": 1.0}]
    lab.client.update_endpoint_weights_and_capacities(EndpointName="houses", DesiredWeightsAndCapacities=weights)
    lab.look(2.0)
    assert lab.described()["Status"] == "Running"


def test_an_endpoint_that_no_longer_fits_when_the_experiment_starts_cancels_it(lab: InMemoryExperiments) -> None:
    lab.create(**TOMORROW)
    lab.look()
    lab.client.create_endpoint_config(
        EndpointConfigName="two", ProductionVariants=[production(), production("Other", "new")]
    )
    lab.client.update_endpoint(EndpointName="houses", EndpointConfigName="two")
    lab.look(DAY_S)
    described = lab.described()
    assert described["Status"] == "Cancelled"
    assert "exactly one production variant" in described["StatusReason"]


def test_a_model_that_was_deleted_meanwhile_can_still_be_promoted_and_reverted(lab: InMemoryExperiments) -> None:
    lab.client.create_model(ModelName="brief", PrimaryContainer={"Image": "torpor"})
    lab.running(ModelVariants=[OLD, variant("New", "brief")])
    lab.client.delete_model(ModelName="brief")
    lab.client.delete_endpoint_config(EndpointConfigName="houses-plain")
    lab.stop("Remove", "Promote")
    assert lab.serves() == {"production": ["New"], "shadow": []}


# -- records -----------------------------------------------------------------------------------------------------------
def test_experiments_are_listed_tagged_and_deleted(lab: InMemoryExperiments) -> None:
    arn = lab.create(Tags=[{"Key": "team", "Value": "houses"}], **TOMORROW)
    lab.look()
    assert lab.client.list_tags(ResourceArn=arn)["Tags"] == [{"Key": "team", "Value": "houses"}]
    listed = lab.client.list_inference_experiments(NameContains="tri", StatusEquals="Created", Type="ShadowMode")
    assert [each["Name"] for each in listed["InferenceExperiments"]] == ["trial"]
    assert lab.client.list_inference_experiments(StatusEquals="Running")["InferenceExperiments"] == []
    assert lab.client.delete_inference_experiment(Name="trial")["InferenceExperimentArn"] == arn
    with pytest.raises(ClientError, match="ResourceNotFound"):
        lab.described()
    with pytest.raises(ClientError, match="Could not find resource"):
        lab.client.list_tags(ResourceArn=arn)


def test_an_endpoint_is_free_for_the_next_experiment_after_the_end_of_one(lab: InMemoryExperiments) -> None:
    lab.running()
    lab.stop("Retain", "Remove")
    lab.client.create_inference_experiment(**experiment(Name="next"))
    lab.look()
    assert (lab.described("next")["Status"], lab.serves()) == ("Running", BOTH)


def test_what_is_kept_is_described_and_documented(lab: InMemoryExperiments) -> None:
    lab.create(KmsKey="key", DataStorageConfig=STORAGE)
    lab.look()
    described = lab.described()
    config = lab.client.describe_endpoint_config(EndpointConfigName=lab.endpoint()["EndpointConfigName"])
    assert (described["KmsKey"], config["KmsKeyId"], described["DataStorageConfig"]) == ("key", "key", STORAGE)
    for shape in ("CreateInferenceExperimentRequest", "InferenceExperimentDataStorageConfig"):
        for member in (name for name, found in KNOWN[shape].items() if found is Treatment.KEPT):
            assert member in DIFFERENCES["CreateInferenceExperiment"]
