"""Refuses members that no table knows: a newer service model may have instructions that Torpor would ignore."""

from collections.abc import Iterator, Mapping

from torpor_endpoint.services.sagemaker import errors
from torpor_endpoint.services.sagemaker.members.known import KNOWN, STRUCTURES, Treatment
from torpor_endpoint.services.sagemaker.rules import Wire


def check_known(shape: str, members: Wire) -> None:
    """Raises ValidationException for members that the table of this shape, or of a structure within it, lacks."""
    unknown = [name for name in members if name not in KNOWN[shape]]
    if unknown:
        raise errors.INVALID(f"Torpor does not know {', '.join(unknown)}: it refuses what it would ignore.")
    for name, value in members.items():
        if name in STRUCTURES and KNOWN[shape][name] is Treatment.ACTED_ON:
            for structure in value if isinstance(value, list) else [value]:
                check_known(STRUCTURES[name], structure)


def kept(shape: str) -> Iterator[str]:
    """The paths of all members, in this shape and in the structures within it, that are kept without effect."""
    for name, treatment in KNOWN[shape].items():
        if treatment is Treatment.KEPT:
            yield name
        elif treatment is Treatment.ACTED_ON and name in STRUCTURES:
            yield from (f"{name}.{inside}" for inside in kept(STRUCTURES[name]))


def idle(shape: str, members: Wire, reasons: Mapping[str, str]) -> dict[str, str]:
    """By path, why members of a request are kept without effect. `reasons` are those of members by their names."""
    found: dict[str, str] = {}
    for name, value in members.items():
        treatment = KNOWN[shape][name]
        if treatment is Treatment.KEPT and name in reasons:
            found[name] = reasons[name]
        elif treatment is Treatment.ACTED_ON and name in STRUCTURES:
            for structure in value if isinstance(value, list) else [value]:
                found |= {f"{name}.{path}": why for path, why in idle(STRUCTURES[name], structure, reasons).items()}
    return found


def listed(treatment: Treatment, *shapes: str) -> str:
    """The members of these shapes with this treatment, for documentation."""
    return ", ".join(name for shape in shapes for name, found in KNOWN[shape].items() if found is treatment)
