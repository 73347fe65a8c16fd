"""An instance whose memory budget changes while it serves: `POST /_torpor/memory`, through the real keeper."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.container.helpers.contract_platform import Platform
from tests.endpoint.helpers.model_artifacts import ROW, booster, put
from tests.helpers.waiting import until
from torpor_container import wire
from torpor_container.models.resizing import REASON
from torpor_container.processes.memory import uss_bytes
from torpor_container.processes.zygote_client import ZygoteClient

MIB = 1024 * 1024
CSV = {"Content-Type": "text/csv"}
LARGE = """
import os

def model_fn(folder):
    return b"x" * (200 << 20)

def transform_fn(model, body, content_type, accept):
    if body == "die":
        os._exit(7)
    return str(len(model) >> 20), "text/plain"
"""
MODELS = ("a.json", "b.json")


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Platform]:
    put(tmp_path / "models", {name: booster() for name in MODELS})
    with Platform(
        tmp_path / "base",
        TORPOR_MODEL_SOURCE=f"file://{tmp_path / 'models'}",
        TORPOR_MEMORY_MIB=str(uss_bytes() / MIB + 500),
        TORPOR_TRIALS="false",
    ) as platform:
        yield platform


def invoked(platform: Platform, name: str) -> int:
    return platform.request("POST", "/invocations", ROW, {**CSV, wire.TARGET_MODEL: name}).status


def resized(platform: Platform, budget_bytes: int) -> wire.MemoryChanged:
    answer = platform.request("POST", wire.MEMORY, json.dumps({"budget_bytes": budget_bytes}).encode())
    assert answer.status == 200
    changed: wire.MemoryChanged = answer.json()
    return changed


def test_a_lower_budget_evicts_and_a_higher_one_lets_a_refused_model_in(kept: Platform) -> None:
    assert [invoked(kept, name) for name in MODELS] == [200, 200]
    before = kept.get(wire.STATE).json()
    changed = resized(kept, MIB)
    assert changed["budget_bytes"] == MIB
    assert 0 < changed["used_bytes"] <= before["used_bytes"] + MIB
    after = kept.get(wire.STATE).json()
    assert (after["budget_bytes"], after["models"]) == (MIB, [])
    evicted = [one for one in after["decisions"] if one["action"] == "evict"]
    assert {one["model"] for one in evicted} == set(MODELS)
    assert all(one["reason"].startswith(REASON) for one in evicted)
    assert invoked(kept, "a.json") == 507
    resized(kept, before["budget_bytes"])
    assert [invoked(kept, name) for name in MODELS] == [200, 200]


def test_the_script_of_an_instance_of_one_model_keeps_its_limit_also_when_it_starts_again(
    tmp_path: Path, zygote: ZygoteClient
) -> None:
    put(tmp_path, {"base/model/code/inference.py": LARGE.encode()})
    settings = {"TORPOR_MEMORY_MIB": "400", "TORPOR_WARM_PARENT": str(zygote.path)}
    with Platform(tmp_path / "base", SAGEMAKER_MULTI_MODEL="false", **settings) as platform:  # type: ignore[arg-type]
        until(lambda: platform.get(wire.PING).status == 200)
        resized(platform, 100 * MIB)
        assert platform.request("POST", "/invocations", b"die", CSV).status == 500
        assert platform.request("POST", "/invocations", b"x", CSV).body == b"200"


def test_a_change_that_is_not_understood_changes_nothing(kept: Platform) -> None:
    before = kept.get(wire.STATE).json()["budget_bytes"]
    budgets = ("0", "true", "1e6", '"1"', "5.0", str(2**63), '5, "other": 1')
    for body in ("", "[]", "{}", *(f'{{"budget_bytes": {budget}}}' for budget in budgets)):
        answer = kept.request("POST", wire.MEMORY, body.encode())
        assert answer.status == 400
        assert "body" in answer.json()["message"]
    assert kept.get(wire.STATE).json()["budget_bytes"] == before
