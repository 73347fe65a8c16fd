"""An older boto3 (1.34), unchanged, against an endpoint: it speaks to CloudWatch in the query protocol.

    TORPOR_PYTHON=<a Python with boto3 1.34> TORPOR_CLIENTS=boto3-1.34 python -m pytest tests/clients/test_old_boto3.py

Its arguments are a model artifact, the text to send to the model, and the number that must come back.
"""

import json
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import boto3

UTC = timezone.utc  # noqa: UP017  this file is for any Python that such a boto3 runs on


def main(artifact: str, rows: str, expected: str) -> None:
    print("boto3", boto3.__version__)
    objects(Path(artifact))
    predicted = endpoint(rows)
    assert abs(predicted - float(expected)) < 1e-4, predicted
    metrics()
    print(boto3.client("sts").get_caller_identity()["Arn"])


def objects(artifact: Path) -> None:
    s3 = boto3.client("s3")
    s3.create_bucket(Bucket="old-boto3")
    s3.upload_file(str(artifact), "old-boto3", "all/a.tar.gz")
    assert s3.get_object(Bucket="old-boto3", Key="all/a.tar.gz")["Body"].read() == artifact.read_bytes()
    large = bytes(9 << 20)
    s3.put_object(Bucket="old-boto3", Key="large", Body=large, ChecksumAlgorithm="SHA256")
    listed = s3.get_paginator("list_objects_v2").paginate(Bucket="old-boto3", PaginationConfig={"PageSize": 1})
    assert [entry["Key"] for page in listed for entry in page["Contents"]] == ["all/a.tar.gz", "large"]
    print("s3: put, get, list, upload_file")


def endpoint(rows: str) -> float:
    sagemaker = boto3.client("sagemaker")
    container = {"Image": "torpor", "Mode": "MultiModel", "ModelDataUrl": "s3://old-boto3/all/"}
    variant = {"VariantName": "All", "ModelName": "old", "InitialInstanceCount": 1, "InstanceType": "ml.m5.large"}
    sagemaker.create_model(ModelName="old", PrimaryContainer=container)
    sagemaker.create_endpoint_config(EndpointConfigName="old", ProductionVariants=[variant])
    sagemaker.create_endpoint(EndpointName="old", EndpointConfigName="old")
    waiter = {"Delay": 1, "MaxAttempts": 60}
    sagemaker.get_waiter("endpoint_in_service").wait(EndpointName="old", WaiterConfig=waiter)
    answer = boto3.client("sagemaker-runtime").invoke_endpoint(
        EndpointName="old", TargetModel="a.tar.gz", ContentType="text/csv", Body=rows
    )
    predicted = json.loads(answer["Body"].read())[0]
    sagemaker.delete_endpoint(EndpointName="old")
    sagemaker.get_waiter("endpoint_deleted").wait(EndpointName="old", WaiterConfig=waiter)
    print("sagemaker: create, wait, invoke a target model, delete")
    return float(predicted)


def metrics() -> None:
    cloudwatch = boto3.client("cloudwatch")
    now = datetime.now(UTC)
    window = {"StartTime": now - timedelta(hours=1), "EndTime": now + timedelta(hours=1)}
    data = [{"MetricName": "Rows", "Value": 3.0, "Timestamp": now, "Unit": "Count"}]
    cloudwatch.put_metric_data(Namespace="Old", MetricData=data)
    statistics = cloudwatch.get_metric_statistics(
        Namespace="Old", MetricName="Rows", Period=60, Statistics=["Sum"], **window
    )
    assert [point["Sum"] for point in statistics["Datapoints"]] == [3.0]
    stat = {"Metric": {"Namespace": "Old", "MetricName": "Rows"}, "Period": 60, "Stat": "Sum"}
    found = cloudwatch.get_metric_data(MetricDataQueries=[{"Id": "m", "MetricStat": stat}], **window)
    assert found["MetricDataResults"][0]["Values"] == [3.0]
    assert cloudwatch.list_metrics(Namespace="Old")["Metrics"][0]["MetricName"] == "Rows"
    sent = cloudwatch.meta.service_model.protocol
    print(f"cloudwatch ({sent}): put, statistics, data, list")


if __name__ == "__main__":
    main(*sys.argv[1:])
