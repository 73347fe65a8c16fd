"""The groups that one variant serves, by name, and why a name that could be a group's answers no call."""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from torpor_container.frozen_class import frozen
from torpor_endpoint.core.model_choice.model_group import ChoiceGroup

OFF: Final[Mapping[str, "ServedGroup"]] = {}


@frozen
class ServedGroup:
    """A group, as calls meet it: `fault` says why its name answers none. `absent` are the models of its file whose
    objects are not below the prefix."""

    group: ChoiceGroup | None
    absent: tuple[str, ...] = ()
    fault: str = ""


class ServedGroups:
    """The groups of a variant. `put` takes all of them at once. `changing` has the names whose files have changed and
    are not read yet: nobody can say what they mean."""

    def __init__(self, groups: Mapping[str, ServedGroup] = OFF) -> None:
        self._groups = dict(groups)
        self.changing: set[str] = set()

    @property
    def names(self) -> Mapping[str, ServedGroup]:
        """Each group by its name."""
        return self._groups

    def put(self, groups: Mapping[str, ServedGroup]) -> bool:
        """These are the groups from now on. Returns whether that is new."""
        if groups == self._groups:
            return False
        self._groups = dict(groups)
        return True

    def get(self, name: str) -> ServedGroup | None:
        return self._groups.get(name)


def served_groups(
    read: Mapping[str, ChoiceGroup | str], keys: Collection[str], versioned: Iterable[str] = ()
) -> dict[str, ServedGroup]:
    """The groups that `read` gives by name, or why a file is none. `keys` are those below the prefix, as far as groups
    name them, and `versioned` the names with versions: either kind makes the name of a group unclear, and either is a
    model that a group can name."""
    names = frozenset(versioned)
    found = {}
    for name, group in read.items():
        if isinstance(group, str):
            found[name] = ServedGroup(None, (), group)
            continue
        fault = ""
        if name in keys or name in names:
            what = "the key of an object" if name in keys else "a folder of versions"
            fault = f"{name!r} is {what} and the name of a group: give one of them another name"
        elif within := [one.model for one in group.models if one.model in read]:
            fault = f"its model {within[0]!r} is a group: a group holds models alone"
        absent = tuple(one.model for one in group.models if one.model not in keys and not _versioned(one.model, names))
        if not fault and len(absent) == len(group.models):
            fault = f"none of its models is there: {', '.join(absent[:SHOWN_MAX])}"
        found[name] = ServedGroup(group, absent, fault)
    return found


SHOWN_MAX: Final = 6


def _versioned(model: str, names: Collection[str]) -> bool:
    """Whether it names a model with versions, or one of them: "iris", "iris@stable"."""
    return model in names or model.rpartition("@")[0] in names
