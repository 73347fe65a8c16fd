"""Which containers a request passes, and which headers may name one."""

from dataclasses import replace

import pytest

from tests.endpoint.helpers.passages import passage
from torpor_endpoint.core.resource_records import Container, Variant
from torpor_endpoint.runtime.admitting import path_of, takes_target
from torpor_endpoint.runtime.errors import RuntimeFault
from torpor_endpoint.runtime.passage import parsed
from torpor_endpoint.runtime.request import TARGET_CONTAINER

NAMES = ("before", "models", "after")
CONTAINERS = tuple(Container("torpor", name=name, multi_model=name == "models") for name in NAMES)
SERIAL = Variant("v", "m", CONTAINERS)
DIRECT = replace(SERIAL, direct=True)
SINGLE = Variant("v", "m", CONTAINERS[:1])


def path(variant: Variant, host: bytes | None = None) -> tuple[int, ...]:
    headers = () if host is None else ((TARGET_CONTAINER, host),)
    return path_of(variant, parsed(passage("shop", *headers)), "shop")


def test_a_serial_variant_passes_all_containers_and_a_direct_one_that_which_is_named() -> None:
    assert (path(SINGLE), path(SINGLE, b""), path(SERIAL), path(SERIAL, b"")) == ((0,), (0,), (0, 1, 2), (0, 1, 2))
    assert [path(DIRECT, name.encode()) for name in NAMES] == [(0,), (1,), (2,)]


@pytest.mark.parametrize(
    ("variant", "host", "text"),
    [
        (DIRECT, None, "needs TargetContainerHostname, one of before, models, after"),
        (DIRECT, b"", "needs TargetContainerHostname"),
        (DIRECT, b"Models", "has no container Models"),
        (SERIAL, b"models", "its requests pass all containers"),
        (SINGLE, b"before", "its variants have one container each"),
    ],
)
def test_a_hostname_that_names_no_container_of_the_variant_is_refused(
    variant: Variant, host: bytes | None, text: str
) -> None:
    with pytest.raises(RuntimeFault) as refused:
        path(variant, host)
    assert text in str(refused.value.fields["detail"])


def test_a_target_model_is_for_a_path_with_a_multi_model_container() -> None:
    assert [takes_target(DIRECT, (place,)) for place in range(3)] == [False, True, False]
    assert takes_target(SERIAL, (0, 1, 2))
    assert not takes_target(SINGLE, (0,))
