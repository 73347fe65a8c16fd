"""Models that leave memory for lack of calls."""

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import booster, packed, put
from tests.helpers.waiting import soon

SETTINGS = {"TORPOR_MODEL_IDLE_SECONDS": "1"}


def test_a_model_without_calls_leaves_memory_and_returns_from_disk(live: LiveEndpoint) -> None:
    put(live.folder("restful"), {"a.tar.gz": packed({"model.json": booster()})})
    live.deploy("Restful", Variant(many("restful", SETTINGS)))
    first = live.invoke("Restful", b"1,2,3,4", TargetModel="a.tar.gz")
    assert soon(lambda: live.shown("Restful")[0]["instances"][0]["containers"][0]["models"] == [], 60)
    again = live.invoke("Restful", b"1,2,3,4", TargetModel="a.tar.gz")
    assert again["Body"] == first["Body"]
    steps = again["ResponseMetadata"]["HTTPHeaders"]["server-timing"]
    assert "load;" in steps
    assert "download;" not in steps
