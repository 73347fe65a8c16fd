"""The groups of a variant as the page of endpoints has them, and the page of the choices that were made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torpor_container.typed_json import read, written
from torpor_endpoint.core.model_choice.made_choices import MadeChoices
from torpor_endpoint.core.model_choice.served_groups import ServedGroup
from torpor_endpoint.core.pages import Json
from torpor_endpoint.core.pages.plain_figures import counted

CHOICES = 10
"""The number of rows on the page of choices, unless the request gives a limit."""
CHOICES_MAX = 1000
GROUPS_LISTED = 100
"""So many groups of a variant are on the page of endpoints."""
MODELS_NAMED = 6
"""So many models of a group are named on one line."""


@dataclass(frozen=True)
class GroupState:
    """A group of models: those that are there, and those of its file that are not. `fault` says why its name answers no
    call."""

    name: str
    models: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    fault: str = ""

    def __str__(self) -> str:
        if self.fault:
            return f"group {self.name} answers no call: {self.fault}"
        absent = f"; not there: {_named(self.absent)}" if self.absent else ""
        return f"group {self.name} of {_named(self.models)}{absent}"


def group_states(groups: Mapping[str, ServedGroup]) -> list[Json]:
    """The first groups by their names, as the page of endpoints has them."""
    return [written(_state(name, groups[name])) for name in sorted(groups)[:GROUPS_LISTED]]


def choices_page(made: Sequence[MadeChoices]) -> Json:
    return {"choices": [written(one) for one in made]}


def read_choices(page: Json) -> tuple[MadeChoices, ...]:
    return read(tuple[MadeChoices, ...], page["choices"])


def told_choices(made: MadeChoices) -> str:
    """`answered 3 requests to group digits (min_accuracy=0.95): group=digits; model=large.tar.gz; from=memory; …`"""
    answered = f"answered {counted(made.requests, 'request')} to group {made.group_name}"
    return f"{made.model} {answered} ({made.need}): {made.why}"


def _state(name: str, served: ServedGroup) -> GroupState:
    models = () if served.group is None else tuple(one.model for one in served.group.models)
    present = tuple(one for one in models if one not in served.absent)
    return GroupState(name, present, served.absent, served.fault)


def _named(models: Sequence[str]) -> str:
    more = len(models) - MODELS_NAMED
    return f"{', '.join(models[:MODELS_NAMED])}{f' and {more} more' if more > 0 else ''}"
