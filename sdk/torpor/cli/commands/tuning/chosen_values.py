"""The values of `--choose NAME=VALUES`: what a tuning may choose from, by the name of the setting."""

from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from torpor.cli.commands.studies import choices
from torpor.cli.commands.studies.asked_space import deployable
from torpor.cli.exit_codes import UsageRefused

if TYPE_CHECKING:
    from torpor.simulator.scenario import Scenario
    from torpor.simulator.tuning.tune_space import TuneSpace

EMPTY = "none"
"""Stands for a setting that is left empty."""

Read = Callable[[str, str], Sequence[Any]]


class ChoosableSetting(NamedTuple):
    """A setting of `--choose`: its field of TuneSpace, and what reads its values from the option and the text."""

    field: str
    read: Read


def space_of(chosen: Sequence[str], like: "Scenario", aws_strict: bool) -> "TuneSpace":
    """The space of these options, and around this scenario. Raises UsageRefused, BadScenario."""
    from torpor.simulator.tuning.tune_space import TuneSpace

    fields = dict(_field(one) for one in chosen)
    return TuneSpace(**fields, like=like, aws_strict=aws_strict)


def measured_trees(given: Sequence[str]) -> "dict[str, Path | str]":
    """By value of TORPOR_TREES, the file of the profiles, as `--trees VALUE=FILE` has them. Raises UsageRefused,
    TorporError."""
    found = dict[str, Path | str]()
    for text in given:
        value, is_named, file = text.partition("=")
        if not is_named or not file or value in found:
            raise UsageRefused(f"--trees is VALUE=FILE, as flat=flat.csv, once for each value; not {text!r}")
        choices.profiles_file(Path(file), "--trees")
        found[value] = file
    return found


# -- inside ------------------------------------------------------------------------------------------------------------
def _field(text: str) -> tuple[str, Sequence[Any]]:
    name, is_named, values = text.partition("=")
    setting = SETTINGS.get(name.strip())
    if not is_named or setting is None:
        raise UsageRefused(
            f"--choose is NAME=VALUES, as threads=none,1,2, with a name of {', '.join(SETTINGS)}; not {text!r}"
        )
    return setting.field, setting.read(f"--choose {name.strip()}", values)


def _numbers(kind: type[int] | type[float] = int, times: float = 1.0, least: float = 1.0, empty: bool = False) -> Read:
    """Reads numbers of this kind, at least `least`, and divides them by `times`; with `empty`, `none` too."""

    def read(option: str, text: str) -> list[Any]:
        return [_number(option, one) for one in choices.several(option, text)]

    def _number(option: str, text: str) -> Any:
        if empty and text == EMPTY:
            return None
        try:
            found = kind(text)
        except ValueError:
            found = kind(-1)
        if not least <= found < inf:
            also = f", and {EMPTY!r} to leave it empty" if empty else ""
            raise UsageRefused(f"{option} takes numbers of {least:g} or more{also}; not {text!r}")
        return found if times == 1.0 else found / times

    return read


def _named(known: Callable[[], Collection[str]]) -> Read:
    return lambda option, text: choices.known_names(option, text, known())


def _ways() -> Collection[str]:
    from torpor.simulator.tuning.tune_space import WAYS

    return WAYS


def _keep_alives() -> Collection[str]:
    from torpor.simulator.planning.plan_space import KEEP_ALIVES

    return KEEP_ALIVES


SETTINGS: Mapping[str, ChoosableSetting] = {
    "way": ChoosableSetting("ways", _named(_ways)),
    "instance-type": ChoosableSetting("instance_types", choices.several),
    "instances": ChoosableSetting("instances", _numbers()),
    "policy": ChoosableSetting("policies", lambda option, text: deployable(text, option)),
    "threads": ChoosableSetting("threads", _numbers(empty=True)),
    "loads-max": ChoosableSetting("loads_max", _numbers()),
    "batch-size": ChoosableSetting("batch_sizes", _numbers(empty=True)),
    "batch-delay-ms": ChoosableSetting("batch_delays_s", _numbers(float, times=1000.0, least=0.0)),
    "concurrency": ChoosableSetting("concurrency", _numbers()),
    "sleep-after": ChoosableSetting("idle_s", lambda option, text: choices.spans_s(option, text)),
    "keep-alive": ChoosableSetting("keep_alives", _named(_keep_alives)),
    "memory-mib": ChoosableSetting("memory_mib", _numbers(float, empty=True)),
    "serverless-mb": ChoosableSetting("serverless_mib", _numbers()),
}
"""By the name in `--choose`."""
