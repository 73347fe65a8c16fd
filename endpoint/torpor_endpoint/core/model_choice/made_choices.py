"""The record of choices that were made: which group and which need, the model that answered, and why that one."""

from collections.abc import Iterable
from typing import NamedTuple

from torpor_container.frozen_class import frozen
from torpor_endpoint.core.model_choice.choosing_model import ModelChoice, told_choice, told_need

NO_NEED = "any model"
"""The need of a request that says none."""


class ChoiceKey(NamedTuple):
    """What the choices of one row have in common."""

    minute_s: int
    endpoint: str
    variant: str
    group_name: str
    need: str
    """In the words of CustomAttributes, without the rows."""
    model: str
    """The key, of a model with versions that of the one that answered."""


@frozen
class MadeChoices:
    """Requests of one minute that named the same group, needed the same, and were answered by the same model.

    `why` is the text of the last one's header `X-Torpor-Choice`.
    """

    at_s: float  # epoch seconds of the last one
    endpoint: str
    variant: str
    group_name: str
    need: str
    model: str
    requests: int
    why: str


def made_choices(
    endpoint: str, variant: str, model: str, chosen: Iterable[tuple[float, ModelChoice]]
) -> list[MadeChoices]:
    """One record for each group and need, of choices with the epoch seconds of their requests, in order of time. One
    model has answered all of them."""
    together: dict[tuple[str, str], tuple[float, ModelChoice, int]] = {}
    for at_s, choice in chosen:
        kind = choice.group, told_need(choice.need) or NO_NEED
        together[kind] = at_s, choice, together[kind][2] + 1 if kind in together else 1
    return [
        MadeChoices(at_s, endpoint, variant, group, need, model, requests, told_choice(choice))
        for (group, need), (at_s, choice, requests) in together.items()
    ]
