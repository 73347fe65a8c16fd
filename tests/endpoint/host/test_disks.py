"""The folders of the instances' disks."""

from pathlib import Path
from shutil import rmtree

import pytest

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
        rmtree(disks.put_aside("Shop", variant), ignore_errors=True)
    assert left(tmp_path) == ["other/a", "shop/b"]
    rmtree(disks.put_aside("Shop"))
    assert left(tmp_path) == ["other/a"]


@pytest.mark.parametrize("variant", ["a", None])
def test_a_variant_launched_during_the_removal_of_its_disks_keeps_the_new_ones(
    tmp_path: Path, variant: str | None
) -> None:
    disks = used(tmp_path, Slot("shop", "a", 0))
    aside = disks.put_aside("shop", variant)
    used(tmp_path, Slot("shop", "a", 0))
    rmtree(aside)
    assert left(tmp_path) == ["shop/a"]


def test_a_sweep_leaves_the_disks_of_the_variants_that_are_kept(tmp_path: Path) -> None:
    names = ("now", "coming", "renamed", ".0123456789abcdef")
    disks = used(tmp_path, *(Slot("Shop", name, 0) for name in names), Slot("deleted", "now", 0))
    disks.sweep({("Shop", "now"), ("Shop", "coming")})
    assert left(tmp_path) == ["shop/coming", "shop/now"]


def test_there_is_nothing_to_sweep_before_the_first_instance(tmp_path: Path) -> None:
    Disks(tmp_path / "instances").sweep([])
    assert not any(tmp_path.iterdir())


def test_what_one_role_has_read_is_on_no_disk_of_another(tmp_path: Path) -> None:
    disks, slot = Disks(tmp_path), Slot("shop", "blue", 0)
    folders = {disks.of(slot, role) for role in ("", "arn:aws:iam::1:role/a", "arn:aws:iam::1:role/b")}
    assert len(folders) == 3
    assert {folder.parent for folder in folders} == {disks.of(slot).parent}


def test_the_instances_of_a_variant_share_the_folder_of_mapped_files(tmp_path: Path) -> None:
    disks, role = Disks(tmp_path), "arn:aws:iam::1:role/a"
    one, other, elsewhere = Slot("shop", "blue", 0), Slot("shop", "blue", 1), Slot("shop", "green", 0)
    assert disks.mapped_of(one) == disks.mapped_of(other)
    assert len({disks.mapped_of(one), disks.mapped_of(elsewhere), disks.mapped_of(one, role)}) == 3
    assert disks.mapped_of(one).parent == disks.of(one).parent
