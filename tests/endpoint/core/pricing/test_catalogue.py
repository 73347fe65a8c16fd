"""The catalogue against its sources: EC2's own description of its types, and SageMaker's list of allowed ones."""

import gzip
import json
from importlib import resources
from typing import Any

import botocore.session
import pytest

from torpor_endpoint.core.pricing.catalogue import CATALOGUE, has_local_disk, instance_type, serverless_vcpus
from torpor_endpoint.core.pricing.prices import PRICES
from torpor_endpoint.core.pricing.shipped_prices import USD_PER_HOUR


@pytest.fixture(scope="module")
def ec2() -> dict[str, Any]:
    packed = resources.files("moto.ec2.resources").joinpath("instance_types.json.gz").read_bytes()
    described: dict[str, Any] = json.loads(gzip.decompress(packed))
    return described


def test_sizes_are_those_of_the_ec2_type_of_the_same_name(ec2: dict[str, Any]) -> None:
    known = {name: row for name, row in CATALOGUE.items() if name.removeprefix("ml.") in ec2}
    assert len(known) > len(CATALOGUE) * 0.9  # EC2 has retired a few, such as p2
    for name, row in known.items():
        described = ec2[name.removeprefix("ml.")]
        gpus = sum(gpu["Count"] for gpu in described.get("GpuInfo", {}).get("Gpus", []))
        sizes = (described["VCpuInfo"]["DefaultVCpus"], described["MemoryInfo"]["SizeInMiB"], gpus)
        assert (row.vcpus, row.memory_mib, row.gpus) == sizes, name


def test_sagemaker_hosts_on_every_type_of_the_catalogue() -> None:
    model = botocore.session.get_session().get_service_model("sagemaker")
    assert set(CATALOGUE) <= set(model.shape_for("ProductionVariantInstanceType").enum)


def test_a_price_is_known_or_it_is_none() -> None:
    assert set(USD_PER_HOUR) <= set(CATALOGUE)
    r5 = instance_type("ml.r5.2xlarge")
    assert r5 is not None
    assert (r5.vcpus, r5.memory_mib, PRICES.usd_per_hour(r5.name)) == (8, 65536, 0.605)
    assert instance_type("ml.m4.xlarge") is not None
    assert PRICES.usd_per_hour("ml.m4.xlarge") is None


def test_the_types_with_disks_of_their_own_are_ec2s(ec2: dict[str, Any]) -> None:
    known = {name: ec2[name.removeprefix("ml.")] for name in CATALOGUE if name.removeprefix("ml.") in ec2}
    assert {name for name, row in known.items() if row["InstanceStorageSupported"]} == set(
        filter(has_local_disk, known)
    )


def test_an_unknown_type_is_none() -> None:
    assert instance_type("ml.m5.gigantic") is None


def test_serverless_processors_grow_with_memory() -> None:
    assert serverless_vcpus(1769) == 1.0
    assert serverless_vcpus(6144) == pytest.approx(2 * serverless_vcpus(3072))
