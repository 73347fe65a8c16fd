"""AWS's cold starts, felt: an instance is ready when its drawn delay is over, and not before."""

import time
from pathlib import Path

from artifacts import ROW, booster, packed, put
from live import LiveEndpoint, Variant, many

from torpor_endpoint.core.emulation import AWS

SERVERLESS = {"ServerlessConfig": {"MemorySizeInMB": 1024, "MaxConcurrency": 20}}


def test_a_serverless_wake_takes_as_long_as_on_aws(tmp_path: Path) -> None:
    with LiveEndpoint(tmp_path, "--emulate", "aws", "--seed", "11") as live:
        put(live.folder("m"), {"a.tar.gz": packed({"model.json": booster()})})
        began_s = time.monotonic()
        live.deploy("Slow", Variant(many("m"), members=SERVERLESS))
        assert time.monotonic() - began_s >= AWS["serverless"].low_s
        answer = live.invoke("Slow", ROW, TargetModel="a.tar.gz")
        assert "wake" not in answer["ResponseMetadata"]["HTTPHeaders"]["server-timing"]
