"""A model that is overwritten in S3: when its new version answers, by each way to announce it."""

import json
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many, one
from tests.endpoint.helpers.model_artifacts import ROW, booster, predicted, put, script

WAITING = """
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    return "{version}" + (open(str(body)).read() if str(body).startswith("/") else ""), "text/plain"
"""


def answered(live: LiveEndpoint, endpoint: str, model: str, **members: Any) -> float:
    (value,) = json.loads(live.invoke(endpoint, ROW, TargetModel=model, **members)["Body"])
    return float(value)


def posted(live: LiveEndpoint, page: str, query: Mapping[str, str], method: str = "POST") -> Any:
    request = Request(f"{live.url}/_torpor/{page}?{urlencode(query)}", method=method)
    with urlopen(request) as answer:
        return json.load(answer)


@pytest.fixture(scope="module")
def endpoint(live: LiveEndpoint) -> str:
    """Two variants over one prefix."""
    put(live.folder("over"), {"m.json": booster()})
    members = {"InstanceType": "ml.m5.large", "InitialVariantWeight": 1.0}
    return live.deploy("Over", *(Variant(many("over"), name, members) for name in "AB"))


def test_after_a_reload_every_instance_that_serves_the_object_answers_with_the_new_version(
    live: LiveEndpoint, endpoint: str
) -> None:
    for variant in "AB":
        assert answered(live, endpoint, "m.json", TargetVariant=variant) == pytest.approx(predicted())
    put(live.folder("over"), {"m.json": booster(3.0)})
    assert answered(live, endpoint, "m.json", TargetVariant="A") == pytest.approx(predicted())  # AWS: it serves on
    told = posted(live, "reload", {"endpoint": endpoint, "model": "m.json"})["instances"]
    assert [(one["variant"], one["was"]) for one in told] == [("A", "resident"), ("B", "resident")]
    for variant in "AB":
        assert answered(live, endpoint, "m.json", TargetVariant=variant) == pytest.approx(predicted(3.0))


def test_an_unloaded_model_is_loaded_from_disk_by_the_next_call(live: LiveEndpoint, endpoint: str) -> None:
    put(live.folder("over"), {"u.json": booster()})
    answered(live, endpoint, "u.json", TargetVariant="A")
    put(live.folder("over"), {"u.json": booster(3.0)})
    posted(live, "unload", {"endpoint": endpoint, "model": "/u.json"})
    again = live.invoke(endpoint, ROW, TargetModel="u.json", TargetVariant="A")
    assert float(json.loads(again["Body"])[0]) == pytest.approx(predicted())
    assert "load;dur" in again["ResponseMetadata"]["HTTPHeaders"]["server-timing"]


def test_a_call_in_flight_ends_on_the_old_copy(live: LiveEndpoint, endpoint: str, tmp_path: Path) -> None:
    put(live.folder("over"), {"s.tar.gz": script(WAITING.format(version="old"))})
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def call(body: bytes) -> bytes:
        answer: bytes = live.invoke(endpoint, body, TargetModel="s.tar.gz", TargetVariant="A")["Body"]
        return answer

    with ThreadPoolExecutor() as pool:
        busy = pool.submit(call, str(pipe).encode())
        with pipe.open("w") as held:  # opens once the call is inside its model
            put(live.folder("over"), {"s.tar.gz": script(WAITING.format(version="new"))})
            told = posted(live, "reload", {"endpoint": endpoint, "model": "s.tar.gz"})["instances"]
            assert max(one["in_flight"] for one in told) == 1
            later = pool.submit(call, b"x")
            held.write(" it is")
        assert (busy.result(), later.result()) == (b"old it is", b"new")


def test_a_get_or_an_unknown_name_unloads_nothing(live: LiveEndpoint, endpoint: str) -> None:
    put(live.folder("over"), {"one.json": booster()})
    live.deploy("OverOne", Variant(one("over/one.json")))
    cases = (
        (405, "GET", {"endpoint": endpoint, "model": "m.json"}),
        (404, "POST", {"endpoint": "nobody", "model": "m.json"}),
        (400, "POST", {"endpoint": endpoint}),
        (400, "POST", {"endpoint": endpoint, "model": "../m.json"}),
        (400, "POST", {"endpoint": "OverOne", "model": "one.json"}),
    )
    for page, (status, method, query) in product(("reload", "unload"), cases):
        with pytest.raises(HTTPError) as refused:
            posted(live, page, query, method)
        with refused.value:
            assert refused.value.code == status
    live.sagemaker.delete_endpoint(EndpointName="OverOne")


def test_with_resident_revalidation_the_next_call_has_the_new_version(live: LiveEndpoint) -> None:
    put(live.folder("over"), {"r.json": booster()})
    live.deploy("OverResident", Variant(many("over", {"TORPOR_REVALIDATE": "resident"})))
    for factor in (1.0, 3.0, 2.0):
        put(live.folder("over"), {"r.json": booster(factor)})
        for _ in range(2):
            assert answered(live, "OverResident", "r.json") == pytest.approx(predicted(factor))
    warm = live.invoke("OverResident", ROW, TargetModel="r.json")
    assert "load;dur" not in warm["ResponseMetadata"]["HTTPHeaders"]["server-timing"]
    live.sagemaker.delete_endpoint(EndpointName="OverResident")
