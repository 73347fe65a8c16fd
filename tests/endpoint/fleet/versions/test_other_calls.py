"""Versions in asynchronous calls, and in the copies for a shadow variant: its own prefix says what answers each."""

from typing import Any

import pytest

from tests.endpoint.helpers.constant_models import constant, number_of
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.services.helpers.variant_metrics import summed
from tests.helpers.waiting import soon, until

VERSIONED = {"TORPOR_VERSIONS": "all"}


@pytest.fixture(scope="module")
def bucket(live: LiveEndpoint) -> Any:
    s3 = live.client("s3")
    s3.create_bucket(Bucket="versioned")
    for key, number in {"now/iris/1": 1.0, "now/iris/2": 2.0, "next/iris/2": 12.0, "next/iris/3": 13.0}.items():
        s3.put_object(Bucket="versioned", Key=f"{key}/m.tar", Body=constant(number))
    s3.put_object(Bucket="versioned", Key="row.csv", Body=b"1")
    return s3


def test_an_asynchronous_call_names_a_version_or_the_newest(live: LiveEndpoint, bucket: Any) -> None:
    output = {"OutputConfig": {"S3OutputPath": "s3://versioned/out"}}
    name = live.deploy("VersionsLater", Variant(many("versioned/now", VERSIONED)), AsyncInferenceConfig=output)

    def result(target: str) -> float:
        runtime = live.client("sagemaker-runtime")
        header = {"X-Amzn-SageMaker-Target-Model": target}
        runtime.meta.events.register("before-call", lambda params, **_: params["headers"].update(header))
        row = {"InputLocation": "s3://versioned/row.csv", "ContentType": "text/csv"}
        key = runtime.invoke_endpoint_async(EndpointName=name, **row)["OutputLocation"].removeprefix("s3://versioned/")
        until(lambda: bucket.list_objects_v2(Bucket="versioned", Prefix=key)["KeyCount"])
        return number_of({"Body": bucket.get_object(Bucket="versioned", Key=key)["Body"].read()})

    assert [result(target) for target in ("iris@1", "iris")] == [1.0, 2.0]
    bucket.put_object(Bucket="versioned", Key="now/iris/3/m.tar", Body=constant(3.0))
    assert soon(lambda: result("iris") == 3.0)


def test_a_copy_is_answered_by_the_shadows_own_version(live: LiveEndpoint, bucket: Any) -> None:
    shadow = Variant(many("versioned/next", VERSIONED), "New", shadow=True)
    name = live.deploy("VersionsShadowed", Variant(many("versioned/now", VERSIONED)), shadow)
    assert number_of(live.invoke(name, b"1", TargetModel="iris@2")) == 2.0
    assert live.invoke(name, b"1", TargetModel="iris")["InvokedProductionVariant"] == "AllTraffic"
    assert soon(lambda: summed(live, name, "New", "Invocations") == 2)
    shadows = [one for one in live.shown(name) if one.get("shadow")]
    models = [
        model["name"] for one in shadows for each in one["instances"] for model in each["containers"][0]["models"]
    ]
    assert sorted(models) == ["iris/2/m.tar", "iris/3/m.tar"]
    assert live.invoke(name, b"1", TargetModel="iris@1")["Body"]  # the shadow's prefix has no such version
    assert soon(lambda: summed(live, name, "New", "ShadowCopiesDropped", "Torpor") == 1)
