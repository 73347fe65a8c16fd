"""`torpor transform` lists jobs, and watches one to its end with records a second and the time left."""

import json
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console
from typer.testing import CliRunner

import torpor
from tests.sdk.helpers.json_paths import undocumented
from tests.sdk.helpers.small_models import CITIES, TABLE
from torpor.cli import app
from torpor.cli.commands.transform import line, watched
from torpor.pages.transform_jobs import ShownJob
from torpor_endpoint.core.pages.transform_jobs import JobProgress

PROGRESS = JobProgress("nightly", False, 500, 12, 1, 0.03, 12_000, 8_500.4, 95.2)


@pytest.fixture(scope="module")
def job(endpoint: torpor.Local) -> str:
    """A job of three objects has begun."""
    sagemaker, s3 = endpoint.client("sagemaker"), endpoint.client("s3")
    s3.create_bucket(Bucket="scored")
    rows = "".join(f"{','.join(map(str, row))}\n" for row in TABLE[:100].tolist())
    for number in range(3):
        s3.put_object(Bucket="scored", Key=f"in/{number}.csv", Body=rows.encode())
    prefix = endpoint.client("sagemaker").describe_model(ModelName=_model(endpoint))["PrimaryContainer"]["ModelDataUrl"]
    sagemaker.create_model(
        ModelName="one-city", PrimaryContainer={"Image": "torpor", "ModelDataUrl": f"{prefix.rstrip('/')}/{CITIES[0]}"}
    )
    source = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://scored/in/"}}
    sagemaker.create_transform_job(
        TransformJobName="nightly",
        ModelName="one-city",
        TransformInput={"DataSource": source, "ContentType": "text/csv", "SplitType": "Line"},
        TransformOutput={"S3OutputPath": "s3://scored/out", "AssembleWith": "Line"},
        TransformResources={"InstanceType": "ml.m5.large", "InstanceCount": 1},
    )
    return "nightly"


def _model(endpoint: torpor.Local) -> str:
    sagemaker = endpoint.client("sagemaker")
    config = sagemaker.describe_endpoint(EndpointName="shared")["EndpointConfigName"]
    [variant] = sagemaker.describe_endpoint_config(EndpointConfigName=config)["ProductionVariants"]
    return str(variant["ModelName"])


def test_a_job_is_watched_to_its_end(endpoint: torpor.Local, job: str) -> None:
    run = CliRunner()
    done = run.invoke(app, ["transform", "watch", job, "--url", endpoint.url])
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("nightly: Completed, 3 of 3 objects, 300 records, ")
    listed = run.invoke(app, ["transform", "ls", "--url", endpoint.url])
    assert "3 of 3" in listed.stdout
    shown = json.loads(run.invoke(app, ["transform", "show", job, "--json", "--url", endpoint.url]).stdout)
    assert undocumented("transform show", shown) == set()
    assert shown["jobs"][0]["progress"]["records"] == 300
    stopped = run.invoke(app, ["transform", "stop", job, "--url", endpoint.url])
    assert (stopped.exit_code, stopped.stdout) == (1, "")
    assert "status Completed" in stopped.stderr


def test_a_line_has_records_a_second_and_the_time_left() -> None:
    shown = line(ShownJob("nightly", "InProgress", "", 0.0, None, PROGRESS))
    assert shown == ("nightly: InProgress, 12 of 500 objects, 1 failed, 12,000 records, 8,500 records/s, 0:01:35 left")


def test_one_object_and_one_record_are_no_plurals() -> None:
    one = replace(PROGRESS, objects=1, done=1, failed=0, records=1)
    assert line(ShownJob("nightly", "Completed", "", 0.0, None, one)).startswith(
        "nightly: Completed, 1 of 1 object, 1 record, "
    )


def test_without_a_terminal_there_is_a_line_now_and_then() -> None:
    running = ShownJob("nightly", "InProgress", "", 0.0, None, PROGRESS)
    states = iter([running] * 50 + [ShownJob("nightly", "Completed", "", 0.0, 9.0, None)])
    moments, out = iter(range(1000)), StringIO()
    ended = watched(lambda: next(states), Console(file=out), lambda seconds: None, lambda: next(moments) / 2)
    assert ended.status == "Completed"
    assert out.getvalue().count("0:01:35 left\n") == 2


def test_a_terminal_of_eighty_columns_has_the_whole_bar() -> None:
    running = ShownJob("nightly", "InProgress", "", 0.0, None, replace(PROGRESS, failed=0))
    states = iter([running] * 3 + [ShownJob("nightly", "Completed", "", 0.0, 9.0, None)])
    out = StringIO()
    screen = Console(file=out, force_terminal=True, width=80)
    watched(lambda: next(states), screen, lambda seconds: None, lambda: 0.0)
    assert "nightly, 12 of 500 objects, 8,500 records/s, 0:01:35 left" in out.getvalue()
    assert "\u2501" in out.getvalue()


def test_a_job_that_has_ended_has_no_bar() -> None:
    out = StringIO()
    screen = Console(file=out, force_terminal=True, width=80)
    ended = ShownJob("nightly", "Completed", "", 0.0, 9.0, None)
    assert watched(lambda: ended, screen, lambda seconds: None, lambda: 0.0) is ended
    assert out.getvalue() == ""
