"""The AWS CLI, unchanged: AWS_ENDPOINT_URL is its only setting. Each test is a command as a person types it."""

import json
import os
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.clients.helpers.wiring import only_if_asked, variables
from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from tests.endpoint.helpers.model_artifacts import ROW, booster, packed, predicted, put
from tests.helpers.forked_starts import starting
from tests.helpers.waiting import PATIENCE_S

MIB = 1 << 20
AWS = Path(sys.executable).with_name("aws")
Cli = Callable[..., Any]

MODEL = {"Image": "torpor", "Mode": "MultiModel", "ModelDataUrl": "s3://cli-models/all/"}
VARIANT = {"VariantName": "AllTraffic", "ModelName": "cli", "InitialInstanceCount": 1, "InstanceType": "ml.m5.large"}


@pytest.fixture(scope="module")
def aws(live: LiveEndpoint) -> Cli:
    """Run one command, written as in a shell; words with spaces or braces are given as arguments of their own."""
    environment = variables(live)

    def run(command: str, *more: Any) -> Any:
        words = [word if isinstance(word, str) else json.dumps(word) for word in more]
        with tempfile.TemporaryFile() as output:
            started = starting.start([sys.executable, str(AWS), *command.split(), *words], output, env=environment)
            code = started.wait(PATIENCE_S)
            output.seek(0)
            printed = output.read().decode()
        assert code == 0, f"aws {command}: {printed}"
        return json.loads(printed) if printed.startswith("{") else printed

    return run


@pytest.mark.thorough
def test_files_are_copied_to_a_bucket_and_back(aws: Cli, tmp_path: Path) -> None:
    large, back, folder = tmp_path / "large.bin", tmp_path / "back.bin", tmp_path / "folder"
    large.write_bytes(bytes(range(256)) * (12 * MIB // 256))
    put(folder, {"a b.txt": b"a", "sub/ü+&.txt": b"b"})
    aws("s3 mb s3://cli-files")
    aws(f"s3 cp --only-show-errors {large} s3://cli-files/large.bin")
    aws(f"s3 sync --only-show-errors {folder} s3://cli-files/folder")
    listed = aws("s3 ls --recursive s3://cli-files")
    assert [line.split(maxsplit=3)[2:] for line in listed.splitlines()] == [
        ["1", "folder/a b.txt"],
        ["1", "folder/sub/ü+&.txt"],
        [str(12 * MIB), "large.bin"],
    ]
    aws(f"s3 cp --only-show-errors s3://cli-files/large.bin {back}")
    assert back.read_bytes() == large.read_bytes()


@pytest.mark.thorough
def test_a_presigned_link_opens_without_credentials(aws: Cli, live: LiveEndpoint) -> None:
    put(live.folder("cli-links"), {"a b.txt": b"seen"})
    link = aws("s3 presign", "s3://cli-links/a b.txt").strip()
    with urlopen(link) as answer:
        assert answer.read() == b"seen"
    aws("s3 website s3://cli-links --index-document index.html")
    aws("s3 rb --force s3://cli-links")
    assert not (live.data_dir / "s3" / "cli-links").exists()


def test_a_multi_model_endpoint_from_its_model_to_its_end(aws: Cli, live: LiveEndpoint, tmp_path: Path) -> None:
    rows, answer = tmp_path / "rows.csv", tmp_path / "answer.json"
    rows.write_bytes(ROW)
    put(live.folder("cli-models"), {"all/a.tar.gz": packed({"model.json": booster()})})
    aws("sagemaker create-model --model-name cli --primary-container", MODEL)
    aws("sagemaker create-endpoint-config --endpoint-config-name cli --production-variants", [VARIANT])
    aws("sagemaker create-endpoint --endpoint-name cli --endpoint-config-name cli --tags Key=a,Value=b")
    live.settled("cli")
    invoke = "sagemaker-runtime invoke-endpoint --endpoint-name cli --target-model a.tar.gz --content-type text/csv"
    assert aws(f"{invoke} --body fileb://{rows} {answer}")["InvokedProductionVariant"] == "AllTraffic"
    assert json.loads(answer.read_bytes()) == [pytest.approx(predicted())]
    aws("sagemaker delete-endpoint --endpoint-name cli")
    live.sagemaker.get_waiter("endpoint_deleted").wait(EndpointName="cli", WaiterConfig={"Delay": 1})


def test_metrics_are_put_and_read(aws: Cli) -> None:
    now = datetime.now(UTC)
    data = [{"MetricName": "Rows", "Value": 3.0, "Timestamp": now.isoformat()}]
    aws("cloudwatch put-metric-data --namespace Cli --metric-data", data)
    window = f"--start-time {now - timedelta(hours=1):%FT%TZ} --end-time {now + timedelta(hours=1):%FT%TZ} --period 60"
    points = aws(f"cloudwatch get-metric-statistics --namespace Cli --metric-name Rows {window} --statistics Sum")
    minute = int(now.timestamp()) // 60 * 60  # JSON carries a time as a number, and the CLI shows it so
    assert [(point["Timestamp"], point["Sum"]) for point in points["Datapoints"]] == [(minute, 3.0)]


def test_the_caller_is_an_assumed_role_or_the_root_that_signs(aws: Cli) -> None:
    caller = aws("sts get-caller-identity")["Arn"]
    if os.environ.get("TORPOR_CLIENTS_AUTH"):
        assert caller == "arn:aws:iam::123456789012:root"
    else:
        assert caller.startswith("arn:aws:sts::123456789012:assumed-role/")


GROUP = "--log-group-name /aws/sagemaker/Endpoints/listed"
TARGET = (
    "--service-namespace sagemaker --resource-id endpoint/listed/variant/AllTraffic"
    " --scalable-dimension sagemaker:variant:DesiredInstanceCount"
)
TRUST = (
    '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"s"},"Action":"sts:AssumeRole"}]}'
)
TRACKING = (
    '{"TargetValue":100,"PredefinedMetricSpecification":'
    '{"PredefinedMetricType":"SageMakerVariantInvocationsPerInstance"}}'
)
ALARM = (
    "cloudwatch put-metric-alarm --alarm-name cli --namespace Cli --metric-name Rows --statistic Sum --period 60"
    " --evaluation-periods 1 --threshold 1 --comparison-operator GreaterThanThreshold"
)
LIST = (
    "sagemaker list-models",
    "sagemaker list-endpoints --name-contains listed",
    "sagemaker list-endpoint-configs",
    "sagemaker describe-endpoint --endpoint-name listed",
    "sagemaker wait endpoint-in-service --endpoint-name listed",
    "sagemaker update-endpoint --endpoint-name listed --endpoint-config-name listed",
    "sagemaker wait endpoint-in-service --endpoint-name listed",
    "sagemaker update-endpoint-weights-and-capacities --endpoint-name listed"
    " --desired-weights-and-capacities VariantName=AllTraffic,DesiredInstanceCount=2",
    "sts assume-role --role-arn arn:aws:iam::123456789012:role/x --role-session-name cli",
    "sts assume-role-with-web-identity --role-arn arn:aws:iam::123456789012:role/x --role-session-name cli"
    " --web-identity-token token",
    f"iam create-role --role-name cli --assume-role-policy-document {TRUST}",
    "iam get-role --role-name cli",
    "iam list-attached-role-policies --role-name cli",
    "iam delete-role --role-name cli",
    f"application-autoscaling register-scalable-target {TARGET} --min-capacity 1 --max-capacity 3",
    "application-autoscaling describe-scalable-targets --service-namespace sagemaker",
    f"application-autoscaling put-scaling-policy {TARGET} --policy-name cli --policy-type TargetTrackingScaling"
    f" --target-tracking-scaling-policy-configuration {TRACKING}",
    "application-autoscaling describe-scaling-policies --service-namespace sagemaker",
    f"application-autoscaling deregister-scalable-target {TARGET}",
    "cloudwatch list-metrics --namespace AWS/SageMaker",
    ALARM,
    "cloudwatch describe-alarms --alarm-names cli",
    "cloudwatch delete-alarms --alarm-names cli",
    "logs describe-log-groups",
    f"logs describe-log-streams {GROUP}",
    f"logs filter-log-events {GROUP}",
    "sns create-topic --name cli",
    "sns list-topics",
    "sagemaker delete-endpoint --endpoint-name listed",
    "sagemaker wait endpoint-deleted --endpoint-name listed",
    "sagemaker delete-endpoint-config --endpoint-config-name listed",
    "sagemaker delete-model --model-name listed",
)


@only_if_asked("aws-cli", "make clients-cli")
def test_a_long_list_of_commands(aws: Cli, live: LiveEndpoint) -> None:
    put(live.folder("cli-models"), {"all/a.tar.gz": packed({"model.json": booster()})})
    aws("sagemaker create-model --model-name listed --primary-container", MODEL)
    variant = {**VARIANT, "ModelName": "listed"}
    aws("sagemaker create-endpoint-config --endpoint-config-name listed --production-variants", [variant])
    aws("sagemaker create-endpoint --endpoint-name listed --endpoint-config-name listed")
    live.settled("listed")
    for command in LIST:
        if command.startswith("sts assume-role") and os.environ.get("TORPOR_CLIENTS_AUTH"):
            continue  # no role trusts the root of this account, as on AWS
        aws(command)
        print("aws", command)
