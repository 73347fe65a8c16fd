"""The rooms of the mutants are those of the pure cores, and a reason names a mutant that there is."""

from tests.helpers.mutation import mutant_names, mutants
from tests.mutants import CORES, ROOMS, ROOT, explained, files_of, module_name

VALUES = {"emulation", "file_growth", "ledger_records", "pages", "pricing", "resource_records"} | {
    "rights",
    "async_inference",
    "variant_setup",
    "protocols",
    "registry",
    "recommendations",
    "left_out",
}
"""Modules and folders of the cores that hold values and texts, and decide next to nothing."""


def test_each_module_of_the_pure_cores_is_in_a_room() -> None:
    in_rooms = {path for room in ROOMS.values() for path in files_of(room)}
    others = {
        (ROOT / core, path)
        for core in CORES
        for path in (ROOT / core).rglob("*.py")
        if path.read_text().count("\n") > 1 and path not in in_rooms
    }
    assert {path.relative_to(core).parts[0].removesuffix(".py") for core, path in others} == VALUES


def test_each_room_has_sources_and_tests() -> None:
    named = [path for room in ROOMS.values() for path in (*room.sources, *room.tests)]
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_a_reason_names_a_mutant_that_there_is() -> None:
    modules = {name.split(":")[0] for name in explained()}
    files = {path for room in ROOMS.values() for path in files_of(room) if module_name(path) in modules}
    known = {f"{module_name(path)}: {name}" for path in files for name in mutant_names(path.read_text())}
    assert sorted(explained() - known) == []


def test_mutants_leave_texts_types_and_docstrings_alone() -> None:
    source = (
        '"""A head."""\nimport a\nx: int = 1\nX = Literal["x"]\nT = TypeVar("T")\n__all__ = ["a"]\n'
        'def f(y: "str") -> "int":\n    """Says."""\n    raise V("no thing")\n'
    )
    assert [mutant.name for mutant in mutants(source)] == [
        ": x: int = 1 → x: int = 2",
        "f: raise V('no thing') → pass",
    ]


def test_names_are_those_of_the_mutants() -> None:
    source = "def f(a):\n    return a + 1 if a else a + 1"
    names = mutant_names(source)
    assert [mutant.name for mutant in mutants(source)] == names == list(dict.fromkeys(names)) != []


def test_a_mutant_differs_from_its_source_in_one_place() -> None:
    source = "def f(a, b):\n    if a < b and (not a):\n        return min(a, b) + 1\n    return g(a)"
    assert {mutant.name for mutant in mutants(source)} == {
        "f: a < b and (not a) → a <= b and (not a)",
        "f: a < b and (not a) → a < b or not a",
        "f: a < b and (not a) → a < b and a",
        "f: return min(a, b) + 1 → return",
        "f: return min(a, b) + 1 → return min(a, b) - 1",
        "f: return min(a, b) + 1 → return max(a, b) + 1",
        "f: return min(a, b) + 1 → return min(a, b) + 2",
        "f: return g(a) → return",
    }
