"""The cache of a model between calls: in memory, on disk, disabled, and after an overwrite."""

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import ROW, booster, packed, predicted, put
from tests.endpoint.services.helpers.runtime_answers import refusal, steps_of
from tests.helpers.waiting import until


class Crash:
    """A pickle that ends the process that loads it."""

    def __reduce__(self) -> tuple[Any, tuple[int]]:
        return os._exit, (3,)


UNTRIED = {"TORPOR_TRIALS": "false"}
"""So that a pickle ends the instance, and not the process in which it would be tried."""


def folders_of(disk: Path) -> list[Path]:
    """Where the one model is on the instances' disks. They may go while one looks."""
    return [folder for instance in disk.glob("*/*") for folder in instance.glob("models/[0-9a-f]*")]


def answered(answer: Any) -> float:
    (value,) = json.loads(answer["Body"])
    return float(value)


def resident(live: LiveEndpoint, endpoint: str) -> list[str]:
    (variant,) = live.shown(endpoint)
    return [model["name"] for instance in variant["instances"] for model in instance["containers"][0]["models"]]


def restart_instance(live: LiveEndpoint, endpoint: str) -> None:
    """Loads a model that crashes the instance: its memory is lost, its disk is not."""
    put(live.folder("cache"), {"crash.tar.gz": packed({"model.pkl": pickle.dumps(Crash())})})
    refusal(lambda: live.invoke(endpoint, ROW, TargetModel="crash.tar.gz"))
    assert "good.json" not in resident(live, endpoint)


def test_with_the_cache_disabled_nothing_is_left_of_a_model_after_its_call(live: LiveEndpoint) -> None:
    put(live.folder("cache"), {"good.json": booster()})
    disabled = many("cache", MultiModelConfig={"ModelCacheSetting": "Disabled"})
    live.deploy("Uncaching", Variant(disabled))
    disk = live.data_dir / "instances" / "uncaching"
    for _ in range(3):
        steps = steps_of(live.invoke("Uncaching", ROW, TargetModel="good.json"))
        assert {"download", "load"} <= steps.keys()
        until(lambda: not resident(live, "Uncaching"))
        until(lambda: not any(path.exists() for path in folders_of(disk)))


def test_an_overwritten_object_serves_its_old_version_until_its_instance_is_a_new_one(live: LiveEndpoint) -> None:
    put(live.folder("cache"), {"good.json": booster()})
    live.deploy("Keeping", Variant(many("cache", UNTRIED)))
    live.invoke("Keeping", ROW, TargetModel="good.json")
    put(live.folder("cache"), {"good.json": booster(3.0)})
    assert answered(live.invoke("Keeping", ROW, TargetModel="good.json")) == pytest.approx(predicted())
    restart_instance(live, "Keeping")
    again = live.invoke("Keeping", ROW, TargetModel="good.json")
    assert answered(again) == pytest.approx(predicted(3.0))
    assert "download" in steps_of(again)


def test_a_new_instance_finds_on_its_disk_what_has_not_changed(live: LiveEndpoint) -> None:
    put(live.folder("cache"), {"good.json": booster()})
    live.deploy("Finding", Variant(many("cache", UNTRIED)))
    live.invoke("Finding", ROW, TargetModel="good.json")
    restart_instance(live, "Finding")
    again = live.invoke("Finding", ROW, TargetModel="good.json")
    assert answered(again) == pytest.approx(predicted())
    assert {"load", "predict"} <= steps_of(again).keys()
    assert "download" not in steps_of(again)


def test_with_revalidation_the_next_load_takes_the_new_version(live: LiveEndpoint) -> None:
    put(live.folder("cache"), {"good.json": booster()})
    live.deploy("Revalidating", Variant(many("cache", {"TORPOR_REVALIDATE": "disk", **UNTRIED})))
    live.invoke("Revalidating", ROW, TargetModel="good.json")
    put(live.folder("cache"), {"good.json": booster(3.0)})
    assert answered(live.invoke("Revalidating", ROW, TargetModel="good.json")) == pytest.approx(predicted())
    restart_instance(live, "Revalidating")
    assert answered(live.invoke("Revalidating", ROW, TargetModel="good.json")) == pytest.approx(predicted(3.0))


def test_a_deleted_object_answers_as_long_as_a_copy_is_here(live: LiveEndpoint) -> None:
    put(live.folder("cache"), {"fleeting.json": booster()})
    live.deploy("Fleeting", Variant(many("cache")))
    live.invoke("Fleeting", ROW, TargetModel="fleeting.json")
    (live.folder("cache") / "fleeting.json").unlink()
    assert answered(live.invoke("Fleeting", ROW, TargetModel="fleeting.json")) == pytest.approx(predicted())


def test_a_model_that_was_missing_is_served_once_it_is_there(live: LiveEndpoint) -> None:
    live.deploy("Hoping", Variant(many("cache/new")))
    refusal(lambda: live.invoke("Hoping", ROW, TargetModel="late.json"))
    put(live.folder("cache"), {"new/late.json": booster()})
    assert answered(live.invoke("Hoping", ROW, TargetModel="late.json")) == pytest.approx(predicted())


def test_a_broken_artifact_is_served_once_it_is_mended(live: LiveEndpoint) -> None:
    put(live.folder("cache"), {"mended.tar.gz": b"not yet"})
    live.deploy("Mending", Variant(many("cache")))
    refusal(lambda: live.invoke("Mending", ROW, TargetModel="mended.tar.gz"))
    put(live.folder("cache"), {"mended.tar.gz": packed({"model.json": booster()})})
    assert answered(live.invoke("Mending", ROW, TargetModel="mended.tar.gz")) == pytest.approx(predicted())
