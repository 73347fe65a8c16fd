"""What TORPOR_DEVICE may say."""

import pytest

from torpor_container.core.devices.asked_device import AskedDevice, DeviceKind, asked_device


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("cpu", AskedDevice()),
        ("cuda", AskedDevice(DeviceKind.CUDA, 0)),
        ("cuda:3", AskedDevice(DeviceKind.CUDA, 3)),
        ("auto", AskedDevice(DeviceKind.AUTO)),
    ],
)
def test_a_device_is_asked_for_by_its_name(text: str, asked: AskedDevice) -> None:
    assert asked_device(text) == asked


@pytest.mark.parametrize("text", ["", "gpu", "cpu:0", "auto:1", "cuda:", "cuda:-1", "cuda:a", "CUDA", "cuda:1 "])
def test_any_other_text_is_refused_with_what_may_be_said(text: str) -> None:
    with pytest.raises(ValueError, match="must be cpu, cuda, cuda:N"):
        asked_device(text)


def test_a_device_is_shown_as_it_was_asked_for() -> None:
    assert [str(asked_device(text)) for text in ("cpu", "cuda", "cuda:2", "auto")] == [
        "cpu",
        "cuda:0",
        "cuda:2",
        "auto",
    ]


def test_a_device_has_its_number_in_the_libraries() -> None:
    assert [asked_device(text).cuda_name for text in ("cuda", "cuda:2", "auto")] == ["cuda:0", "cuda:2", "cuda:0"]
