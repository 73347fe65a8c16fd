"""A variant that asks for a device which the machine has not is refused before anything of it starts."""

import asyncio
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.helpers.processes import gone
from torpor_endpoint.core.resource_records import Container, Variant
from torpor_endpoint.host import missing_device as looking
from torpor_endpoint.host.launch import Surroundings, launch_spec
from torpor_endpoint.host.missing_device import missing_device


def refused(tmp_path: Path, instance_type: str, device: str | None = None) -> str | None:
    variant = Variant("blue", "m", (Container("torpor"),), instance_type=instance_type)
    around = Surroundings("http://here", "eu-west-1", tmp_path, "", False, device=device)
    return asyncio.run(missing_device(variant, partial(launch_spec, around=around)))


def test_the_refusal_says_who_asked_what_was_looked_for_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # also where there is a device
    text = refused(tmp_path, "ml.g5.xlarge")
    assert text is not None
    assert text.startswith("The variant blue cannot start: no device for TORPOR_DEVICE=cuda:0: ")
    assert text.endswith("TORPOR_DEVICE=cpu in the model's Environment, predicts on the processor.")


@pytest.mark.parametrize(
    ("instance_type", "device"), [("ml.m5.large", None), ("ml.g5.xlarge", "cpu"), ("ml.g5.xlarge", "auto")]
)
def test_nobody_looks_where_none_must_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, instance_type: str, device: str | None
) -> None:
    monkeypatch.setattr(looking, "_looked_for", pytest.fail)
    assert refused(tmp_path, instance_type, device) is None


def test_a_look_that_nobody_waits_for_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = tmp_path / "pid"
    hangs = tmp_path / "hangs"
    hangs.write_text(f"#!/bin/sh\necho $$ > {started}.new && mv {started}.new {started}\nexec sleep 600\n")
    hangs.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(hangs))
    variant = Variant("blue", "m", (Container("torpor"),), instance_type="ml.g5.xlarge")
    spec = partial(launch_spec, around=Surroundings("http://here", "eu-west-1", tmp_path, "", False))

    async def story() -> None:
        looking = asyncio.create_task(missing_device(variant, spec))
        while not started.exists():
            await asyncio.sleep(0.01)
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        assert looking.cancelled()

    asyncio.run(story())
    assert gone(int(started.read_text()))
