"""The folders of the instances' disks."""

import asyncio
from pathlib import Path

from torpor_endpoint.core.records import Container, EndpointRecord, EndpointStatus, Variant
from torpor_endpoint.host import Slot
from torpor_endpoint.host.disks import Disks


def used(folder: Path, *slots: Slot) -> Disks:
    disks = Disks(folder)
    for slot in slots:
        (disks.of(slot) / "models").mkdir(parents=True)
    return disks


def left(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.glob("*/*"))


def test_the_removal_of_a_variants_disks_leaves_all_others(tmp_path: Path) -> None:
    disks = used(tmp_path, Slot("Shop", "a", 0), Slot("Shop", "a", 1), Slot("Shop", "b", 0), Slot("other", "a", 0))
    for variant in ("a", "never-launched"):
        asyncio.run(disks.remove("Shop", variant))
    assert left(tmp_path) == ["other/a", "shop/b"]
    asyncio.run(disks.remove_all("Shop"))
    assert left(tmp_path) == ["other/a"]


def test_a_variant_launched_during_the_removal_of_its_disks_keeps_the_new_ones(tmp_path: Path) -> None:
    async def story() -> None:
        disks = used(tmp_path, Slot("shop", "a", 0))
        removal = asyncio.create_task(disks.remove("shop", "a"))
        await asyncio.sleep(0)
        used(tmp_path, Slot("shop", "a", 0))
        await removal

    asyncio.run(story())
    assert left(tmp_path) == ["shop/a"]


def test_a_sweep_leaves_the_disks_of_current_and_pending_variants(tmp_path: Path) -> None:
    names = ("now", "coming", "renamed", ".0123456789abcdef")
    disks = used(tmp_path, *(Slot("Shop", name, 0) for name in names), Slot("deleted", "now", 0))
    now, coming = (Variant(name, "m", (Container("torpor"),)) for name in ("now", "coming"))
    shop = EndpointRecord("Shop", "arn", 0.0, 0.0, EndpointStatus.UPDATING, "c", (now,), pending_variants=(coming,))
    disks.sweep([shop])
    assert left(tmp_path) == ["shop/coming", "shop/now"]


def test_there_is_nothing_to_sweep_before_the_first_instance(tmp_path: Path) -> None:
    Disks(tmp_path / "instances").sweep([])
    assert not any(tmp_path.iterdir())
