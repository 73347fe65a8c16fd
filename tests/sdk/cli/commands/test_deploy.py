"""`torpor deploy` and `undeploy`: an endpoint in one line, made, updated and deleted."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from botocore.exceptions import ClientError
from typer.testing import CliRunner, Result

import torpor
from tests.sdk.helpers.small_models import CITIES, ROWS
from torpor.cli import app
from torpor.cli.commands.deploy import capture_config
from torpor.hosting import endpoint_deployment
from torpor.hosting.endpoint_deployment import EndpointPlan
from torpor.hosting.shared_process import SharedProcess

Run = Callable[..., Result]
ROW = ",".join(map(str, ROWS[0]))


@pytest.fixture
def run(shared: SharedProcess) -> Run:
    return lambda *arguments: CliRunner().invoke(app, [*map(str, arguments), "--url", shared.url])


@pytest.fixture
def name(run: Run) -> Iterator[str]:
    """An endpoint's name; the endpoint is deleted afterwards."""
    yield "deployed"
    run("undeploy", "deployed")


def test_local_models_are_uploaded_and_served_updated_and_deleted(
    run: Run, name: str, models: Path, shared: SharedProcess
) -> None:
    sagemaker = shared.client("sagemaker")
    first = run("deploy", models, "--name", name, "--serverless", 1024, "--no-check")
    assert first.stdout.splitlines()[0] == f"s3://models/{name}/{CITIES[0]}  new"
    assert f"created {name}: serverless, 1024 MiB · the models of s3://models/{name}/ · in service" in first.stdout
    assert json.loads(run("invoke", name, "--target-model", CITIES[1], "--body", ROW).stdout)
    before = sagemaker.describe_endpoint(EndpointName=name)["EndpointConfigName"]
    second = run("deploy", f"s3://models/{name}", "--name", name, "--min", 0, "--max", 2, "--env", "TORPOR_POLICY=GDSF")
    assert second.stdout.startswith(f"updated {name}: 0 to 2 x ml.m5.large")
    config = sagemaker.describe_endpoint(EndpointName=name)["EndpointConfigName"]
    [variant] = sagemaker.describe_endpoint_config(EndpointConfigName=config)["ProductionVariants"]
    assert variant["ManagedInstanceScaling"] == {"Status": "ENABLED", "MinInstanceCount": 0, "MaxInstanceCount": 2}
    container = sagemaker.describe_model(ModelName=variant["ModelName"])["PrimaryContainer"]
    assert container["Environment"] == {"TORPOR_POLICY": "GDSF"}
    assert run("undeploy", name).stdout == f"deleted {name}\n"
    for gone in (before, config):
        with pytest.raises(ClientError, match="Could not find"):
            sagemaker.describe_endpoint_config(EndpointConfigName=gone)


def test_a_model_that_was_replaced_answers_after_the_update(
    run: Run, name: str, models: Path, tmp_path: Path, shared: SharedProcess
) -> None:
    town = tmp_path / "Town.tar.gz"
    answers = []
    for city in CITIES[:2]:
        town.write_bytes((models / city).read_bytes())
        assert run("deploy", town, "--name", name, "--no-check").exit_code == 0
        answers += json.loads(run("invoke", name, "--target-model", "Town.tar.gz", "--body", ROW).stdout)
    assert answers[1] - answers[0] == pytest.approx(100, abs=1)


def test_a_single_model_needs_no_name_and_is_recorded(run: Run, name: str, models: Path, shared: SharedProcess) -> None:
    shared.client("s3").create_bucket(Bucket="deploy-captures")
    done = run("deploy", models / CITIES[0], "--name", name, "--single", "--capture", "s3://deploy-captures/a,50")
    assert f"the model s3://models/{name}/" in done.stdout
    assert float(run("invoke", name, "--body", ROW).stdout)
    described = shared.client("sagemaker").describe_endpoint(EndpointName=name)
    assert described["DataCaptureConfig"]["CurrentSamplingPercentage"] == 50


def test_without_waiting_it_says_where_to_look(run: Run, name: str) -> None:
    done = run("deploy", "s3://models/nothing-here/", "--name", name, "--no-wait")
    assert "`torpor ls` shows when it serves" in done.stdout
    assert "has no model yet: `torpor cp MODEL s3://models/nothing-here/` adds one" in done.stderr


def test_a_refused_deployment_leaves_nothing(run: Run, shared: SharedProcess) -> None:
    done = run("deploy", "s3://models/a/", "--name", "refused", "--instance-type", "ml.nope")
    assert done.exit_code == 1
    assert "and 27" in done.stderr
    assert shared.client("sagemaker").list_models(NameContains="refused")["Models"] == []


def test_an_endpoint_that_failed_is_named_with_its_reason(run: Run, name: str) -> None:
    done = run("deploy", "s3://models/a/", "--name", name, "--image", "nobodys:1")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "nobodys:1" in done.stderr


def test_the_configuration_that_others_made_stays(run: Run, name: str, shared: SharedProcess) -> None:
    sagemaker = shared.client("sagemaker")
    plan = EndpointPlan(name, "s3://models/a/")
    endpoint_deployment.deploy(sagemaker, plan, "of-others")
    done = run("deploy", "s3://models/b/", "--name", name)
    assert done.stdout.startswith(f"updated {name}: ")
    assert "were made by others, and stay" in done.stderr
    assert sagemaker.describe_endpoint_config(EndpointConfigName="of-others")
    endpoint_deployment.discard(sagemaker, "of-others")


def test_an_unknown_endpoint_is_not_deleted(run: Run, endpoint: torpor.Local) -> None:
    done = run("undeploy", "sharde")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "there is no endpoint 'sharde', only " in done.stderr


def test_a_name_that_is_none_is_refused_before_an_upload(run: Run, models: Path, shared: SharedProcess) -> None:
    done = run("deploy", models, "--name", "bad_name")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "Value 'bad_name' at 'endpointName'" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--serverless", "1024", "--instances", "2", "--max", "3"), "leave out --instances, --max"),
        (("--max-concurrency", "3"), "--max-concurrency is for --serverless MEMORY_MIB"),
        (("--min", "3", "--max", "2"), "--min 3 is more than --max 2"),
        (("--env", "A"), "--env is NAME=VALUE, as TORPOR_POLICY=GDSF, not 'A'"),
        (("--capture", "here"), "here is no place in S3"),
        (("--capture", "s3://a/b,200"), "--capture takes a percentage from 0 to 100"),
        (("--single",), "s3://a/b/ is a prefix of models: with --single, name one artifact"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_anything_is_done(
    run: Run, arguments: tuple[str, ...], said: str
) -> None:
    done = run("deploy", "s3://a/b/", "--name", "refused", *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr


def test_capture_records_everything_unless_it_says_a_share() -> None:
    assert capture_config("s3://a/b")["InitialSamplingPercentage"] == 100
