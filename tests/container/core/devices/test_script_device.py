"""A script sees its instance's device alone, and learns the instance's share."""

import pytest

from torpor_container.core.devices.asked_device import asked_device
from torpor_container.core.devices.script_device import MIB, device_variables


@pytest.mark.parametrize(
    ("asked", "visible", "seen"),
    [
        ("cuda", None, "0"),
        ("cuda:2", None, "2"),
        ("cuda:1", "3,5", "5"),
        ("cuda:1", " GPU-ab , MIG-cd ", "MIG-cd"),
        ("auto", "7", "7"),
        ("cuda:2", "3,5", None),
        ("cuda", "", None),
    ],
)
def test_it_sees_the_device_of_its_instance_by_the_name_that_the_instance_has_for_it(
    asked: str, visible: str | None, seen: str | None
) -> None:
    given = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    assert device_variables(asked_device(asked), None, given).get("CUDA_VISIBLE_DEVICES") == seen


def test_it_learns_the_share_of_its_instance_if_one_was_set() -> None:
    told = device_variables(asked_device("cuda:1"), 512 * MIB, {})
    assert told == {"CUDA_VISIBLE_DEVICES": "1", "TORPOR_DEVICE_MEMORY_MIB": "512"}


def test_on_the_processor_it_gets_nothing_further() -> None:
    assert device_variables(asked_device("cpu"), 512 * MIB, {"CUDA_VISIBLE_DEVICES": "1"}) == {}
