"""The charges of all instances together are the machine's memory: a mapped file once, whoever maps it."""

from collections.abc import Hashable, Iterable

from hypothesis import given
from hypothesis import strategies as st

from torpor_container.core.occupancy import Footprint

BYTES = st.integers(0, 2**40)
SIZES = st.dictionaries(st.sampled_from("abcde"), BYTES)
FLEETS = st.lists(st.dictionaries(st.sampled_from("abcde"), BYTES), max_size=6)


def machine_bytes(footprints: Iterable[Footprint]) -> int:
    """What models of several instances take of one machine: each file once."""
    private_bytes, files = 0, dict[Hashable, int]()
    for one in footprints:
        private_bytes += one.private_bytes
        if one.mapped_bytes:
            files[one.file] = one.mapped_bytes
    return private_bytes + sum(files.values())


@given(SIZES, FLEETS)
def test_the_charges_of_a_fleet_are_what_its_machine_holds(files: dict[str, int], fleet: list[dict[str, int]]) -> None:
    """Each instance has models, with private bytes, that map the file of their name."""
    holders = {name: sum(name in instance for instance in fleet) for name in "abcde"}
    loaded = [Footprint(private, files.get(name, 0), name) for instance in fleet for name, private in instance.items()]
    charged = sum(one.charged_bytes(holders[str(one.file)]) for one in loaded)
    assert 0 <= charged - machine_bytes(loaded) < len(loaded) + 1


@given(BYTES, BYTES, st.integers(1, 100))
def test_a_model_costs_less_the_more_instances_map_its_file_and_never_less_than_its_own(
    private: int, mapped: int, holders: int
) -> None:
    one = Footprint(private, mapped, "file")
    assert private <= one.charged_bytes(holders + 1) <= one.charged_bytes(holders) <= private + mapped


def test_four_instances_need_the_file_once() -> None:
    fleet = [Footprint(1_000, 80_000, "model")] * 4
    assert machine_bytes(fleet) == 84_000
    assert [one.charged_bytes(4) for one in fleet] == [21_000] * 4


def test_a_model_without_a_file_costs_its_own_bytes_however_many_there_are() -> None:
    assert machine_bytes([Footprint(5), Footprint(7)]) == 12
    assert Footprint(5).charged_bytes(0) == 5
