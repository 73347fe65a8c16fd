"""The records of a live endpoint's invocations: cold starts and costs in the ledger, and the serverless metrics."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import ROW, booster, packed, put
from tests.helpers.waiting import soon

MODEL = packed({"model.json": booster()})
SERVERLESS = {"ServerlessConfig": {"MemorySizeInMB": 1024, "MaxConcurrency": 20, "ProvisionedConcurrency": 5}}


@pytest.fixture(scope="module")
def counted(live: LiveEndpoint) -> str:
    put(live.folder("accounted"), {f"{name}.tar.gz": MODEL for name in "abc"})
    return live.deploy("Accounted", Variant(many("accounted"), members=SERVERLESS))


def page(live: LiveEndpoint, name: str, **query: Any) -> Any:
    with urlopen(f"{live.url}/_torpor/{name}?{urlencode(query)}") as answer:
        return json.load(answer)


def statistics(live: LiveEndpoint, metric: str, statistic: str) -> float:
    now = datetime.now(UTC)
    found = live.cloudwatch.get_metric_statistics(
        Namespace="AWS/SageMaker",
        MetricName=metric,
        Dimensions=[{"Name": "EndpointName", "Value": "Accounted"}, {"Name": "VariantName", "Value": "AllTraffic"}],
        StartTime=now - timedelta(minutes=10),
        EndTime=now + timedelta(minutes=1),
        Period=900,
        Statistics=[statistic],
    )["Datapoints"]
    return float(max(point[statistic] for point in found))


def test_a_cold_start_is_recorded_whole_and_its_steps_add_up(live: LiveEndpoint, counted: str) -> None:
    for name, members in (("a", {"InferenceId": "call 1"}), ("a", {"InferenceId": "call 2"}), ("b", {})):
        live.invoke(counted, ROW, TargetModel=f"{name}.tar.gz", **members)
    told = page(live, "cold-starts", endpoint=counted)["cold_starts"]
    assert [(one["model"], one["inference_id"]) for one in told] == [("a.tar.gz", "call 1"), ("b.tar.gz", "")]
    for one in told:
        assert abs(sum(one["steps"].values()) - one["total_s"]) < 0.001
        assert {"download", "load", "predict"} <= one["steps"].keys()
        assert one["instance"].startswith("i-")
        assert (one["cold"]["reason"], one["cold"]["victims"]) == (
            "it is the first request for it on this instance",
            [],
        )
        assert one["request_bytes"] == len(ROW)
        assert one["cold"]["efforts"].keys() == {"unpack", "load"}
        for effort, step in ((one["effort"], "predict"), (one["cold"]["efforts"]["load"], "load")):
            assert 0 < effort["work_s"] + effort["delay_s"] <= one["steps"][step]


def test_the_costs_name_every_model_and_the_part_that_is_kept_ready(live: LiveEndpoint, counted: str) -> None:
    live.invoke(counted, ROW, TargetModel="c.tar.gz")
    told = page(live, "costs", endpoint=counted)
    assert "c.tar.gz" in json.dumps(told)
    assert soon(lambda: "serverless-1024" in json.dumps(page(live, "costs", endpoint=counted)), 60)
    [variant] = page(live, "costs", endpoint=counted)["variants"]
    assert variant["usd"] > variant["idle_usd"] > 0


def test_the_serverless_metrics_are_there(live: LiveEndpoint, counted: str) -> None:
    live.invoke(counted, ROW, TargetModel="a.tar.gz")
    assert statistics(live, "ServerlessConcurrentExecutionsUtilization", "Maximum") == pytest.approx(1 / 20)
    assert statistics(live, "ServerlessProvisionedConcurrencyExecutions", "Maximum") == 1.0
    assert statistics(live, "ServerlessProvisionedConcurrencyUtilization", "Maximum") == pytest.approx(1 / 5)
    assert statistics(live, "ServerlessProvisionedConcurrencyInvocations", "Sum") >= 1.0
    assert statistics(live, "ServerlessProvisionedConcurrencySpilloverInvocations", "Sum") == 0.0
    assert statistics(live, "ModelSetupTime", "Minimum") > 0.0


def test_a_serverless_update_changes_what_is_allowed_and_kept_awake(live: LiveEndpoint, counted: str) -> None:
    live.sagemaker.update_endpoint_weights_and_capacities(
        EndpointName=counted,
        DesiredWeightsAndCapacities=[
            {
                "VariantName": "AllTraffic",
                "ServerlessUpdateConfig": {"MaxConcurrency": 40, "ProvisionedConcurrency": 17},
            }
        ],
    )
    [variant] = live.settled(counted)["ProductionVariants"]
    assert variant["CurrentServerlessConfig"]["ProvisionedConcurrency"] == 17
    assert soon(lambda: len(live.shown(counted)[0]["instances"]) == 3, 60)  # eight requests an instance
