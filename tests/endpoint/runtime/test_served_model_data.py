"""Model data in each form that AWS takes, served; and the error where there is none."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant
from tests.endpoint.helpers.model_artifacts import ROW, booster, packed, predicted
from tests.endpoint.services.helpers.runtime_answers import refusal
from torpor_container.artifacts.stores.artifact_store import Listed
from torpor_container.artifacts.stores.s3 import S3ArtifactStore
from torpor_container.artifacts.stores.s3_access import S3Access


@pytest.fixture(scope="module")
def s3(live: LiveEndpoint) -> Iterator[Any]:
    client = live.client("s3")
    client.create_bucket(Bucket="forms")
    for name in ("store_000", "store_001"):
        client.put_object(Bucket="forms", Key=f"many/{name}.tar.gz", Body=packed({"xgboost-model": booster()}))
    client.put_object(Bucket="forms", Key="files/model.json", Body=booster())
    client.put_object(Bucket="forms", Key="files/notes/read.me", Body=b"beside it")
    yield client
    client.close()


def answered(live: LiveEndpoint, endpoint: str, **members: Any) -> float:
    return float(live.invoke(endpoint, ROW, Accept="text/csv", **members)["Body"].decode().strip("[]\n"))


def test_a_model_may_lie_in_s3_as_its_files(live: LiveEndpoint, s3: Any) -> None:
    for name, uri, kind in (
        ("Prefix", "s3://forms/files/", "S3Prefix"),
        ("Object", "s3://forms/files/model.json", "S3Object"),
    ):
        source = {"S3Uri": uri, "S3DataType": kind, "CompressionType": "None"}
        container = {"Image": "torpor", "ModelDataSource": {"S3DataSource": source}}
        endpoint = live.deploy(f"Loose{name}", Variant(container))
        assert answered(live, endpoint) == pytest.approx(predicted())
        live.sagemaker.delete_endpoint(EndpointName=endpoint)


def test_a_foreign_s3_lists_exact_keys_and_finds_near_ones_cheaply(live: LiveEndpoint, s3: Any) -> None:
    keys = [f"{folder}{number}" for folder in ("list//a/", "list//b") for number in range(3)]
    for key in keys:
        s3.put_object(Bucket="forms", Key=key, Body=key.encode())
    access = S3Access(live.url, access_key_id="test", secret_access_key="test")
    store = S3ArtifactStore("forms", access)

    async def story() -> tuple[list[Listed], list[Listed], list[str], list[str]]:
        listed = await store.listed("list//", 10), await store.listed("list//", 2)
        return *listed, await store.some_keys("many/", 1000), await store.some_keys("list//", 1000)

    whole, cut, near, none = asyncio.run(story())
    assert [one.key for one in whole] == keys
    assert [one.size_bytes for one in whole] == [len(key) for key in keys]
    assert cut == whole[:3]  # one more than was asked for: there are more
    assert (sorted(near), none) == (["many/store_000.tar.gz", "many/store_001.tar.gz"], [])


@pytest.fixture(scope="module")
def endpoint(live: LiveEndpoint, s3: Any) -> str:
    """Its prefix is given as AWS's own multi-model notebook gives it."""
    url = "https://s3-us-west-2.amazonaws.com/forms/many/"
    return live.deploy("Https", Variant({"Image": "torpor", "Mode": "MultiModel", "ModelDataUrl": url}))


def test_a_prefix_may_be_an_https_address(live: LiveEndpoint, endpoint: str) -> None:
    assert answered(live, endpoint, TargetModel="store_001.tar.gz") == pytest.approx(predicted())


@pytest.mark.parametrize("target", ["store_00.tar.gz", "Store_000", "many/store_000.tar.gz"])
def test_the_error_of_a_missing_model_suggests_near_names(live: LiveEndpoint, endpoint: str, target: str) -> None:
    error = refusal(lambda: live.invoke(endpoint, ROW, TargetModel=target))["Error"]
    aws = (
        f"Failed to download model data (bucket: forms, key: many/{target}). "
        "Please ensure that there is an object located at the URL."
    )
    assert error["Code"] == "ValidationError"
    assert error["Message"].startswith(f"{aws} Did you mean `store_000.tar.gz`")
