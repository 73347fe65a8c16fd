"""What instances of one machine charge for models that map the same file."""

from itertools import count
from pathlib import Path

from torpor_container.core.eviction import LRU
from torpor_container.core.residency import Residency
from torpor_container.mapped.mapped_folder import MappedFile, MappedFolder
from torpor_container.mapped.mapped_shares import LOOKED_AT_EACH_TIME, MappedShares

FILE_BYTES = 1_000
OWN_BYTES = 10


class Instance:
    """Its memory tier, and what it maps."""

    def __init__(self, folder: Path) -> None:
        seconds = count()
        self.folder = MappedFolder(folder, 10**6)
        self.tier = Residency(10**6, LRU(), 4)
        self.shares = MappedShares(self.tier, lambda: float(next(seconds)))
        self.files: dict[str, MappedFile] = {}

    def load(self, name: str) -> None:
        self.files[name] = held = self.folder.put(name, lambda file: file.write(bytes(FILE_BYTES)))
        self.tier.request(name, 0.0)
        self.tier.admit(name, OWN_BYTES, 0.0)
        mapped = held.mapped
        self.tier.loaded(name, self.shares.charged_bytes(name, OWN_BYTES, mapped), 0.1, 0.0)

    def unload(self, name: str) -> None:
        self.shares.gone(name)
        self.files.pop(name).release()

    def charged(self, name: str) -> int:
        model = self.tier.get(name)
        assert model is not None
        return model.size_bytes


def test_a_fleet_of_four_instances_needs_the_memory_once(tmp_path: Path) -> None:
    fleet = [Instance(tmp_path) for _ in range(4)]
    for instance in fleet:
        instance.load("m")
    assert [instance.charged("m") for instance in fleet] == [1_010, 510, 344, 260], "as each saw it at its load"
    for instance in fleet:
        instance.shares.look()
    assert sum(instance.tier.planned_bytes for instance in fleet) == FILE_BYTES + 4 * OWN_BYTES


def test_the_last_instance_that_maps_a_file_is_charged_all_of_it(tmp_path: Path) -> None:
    one, other = Instance(tmp_path), Instance(tmp_path)
    for instance in (one, other):
        instance.load("m")
    other.unload("m")
    one.shares.look_at_all()
    assert one.charged("m") == FILE_BYTES + OWN_BYTES


def test_a_killed_instance_leaves_its_share_to_the_others_once_another_starts(tmp_path: Path) -> None:
    one, killed = Instance(tmp_path), Instance(tmp_path)
    for instance in (one, killed):
        instance.load("m")
    one.shares.look()
    assert one.charged("m") == 510
    killed.folder.close()
    one.shares.look()
    assert one.charged("m") == 1_010


def test_each_look_takes_the_models_that_were_not_looked_at_for_longest(tmp_path: Path) -> None:
    one, other = Instance(tmp_path), Instance(tmp_path)
    models = [f"m{number}" for number in range(LOOKED_AT_EACH_TIME + 3)]
    for name in models:
        one.load(name)
        other.load(name)
    one.shares.look()
    assert [one.charged(name) for name in models].count(1_010) == 3
    one.shares.look()
    assert {one.charged(name) for name in models} == {510}


def test_a_model_that_maps_nothing_is_charged_its_own_bytes(tmp_path: Path) -> None:
    one = Instance(tmp_path)
    one.load("m")
    assert one.shares.charged_bytes("m", 7_000, None) == 7_000
    one.shares.look_at_all()
    assert one.charged("m") == 1_010, "its size changes with its form, which the loader tells"
