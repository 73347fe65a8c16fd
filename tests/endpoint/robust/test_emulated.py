"""AWS's cold starts, emulated: an instance is ready when its drawn delay is over, and not before."""

import random
import time
from pathlib import Path

import pytest

from tests.endpoint.helpers import endpoint_pages
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import ROW, booster, packed, put
from torpor_endpoint.core.emulation import AWS

SERVERLESS = {"ServerlessConfig": {"MemorySizeInMB": 1024, "MaxConcurrency": 20}}


@pytest.mark.thorough
def test_a_serverless_wake_takes_as_long_as_on_aws(tmp_path: Path) -> None:
    with LiveEndpoint(tmp_path, "--emulate", "aws", "--seed", "11") as live:
        put(live.folder("m"), {"a.tar.gz": packed({"model.json": booster()})})
        live.deploy("Slow", Variant(many("m", {"TORPOR_IDLE_SECONDS": "1"}), members=SERVERLESS))
        assert endpoint_pages.asleep(live, "Slow")
        dice = random.Random(11)
        _, wake_s = (AWS["serverless"].at(dice.gauss()) for _ in range(2))  # the first was the deployment's
        began_s = time.monotonic()
        answer = live.invoke("Slow", ROW, TargetModel="a.tar.gz")
        assert time.monotonic() - began_s >= wake_s
        assert "wake;dur=" in answer["ResponseMetadata"]["HTTPHeaders"]["server-timing"]
