"""Writes a model's story from the decisions about it: what happened, when, and why. It does no I/O."""

from dataclasses import dataclass

from torpor_endpoint.core.model_choice.made_choices import MadeChoices
from torpor_endpoint.core.pages import Json
from torpor_endpoint.core.pages.cold_starts import ColdStart
from torpor_endpoint.core.pages.model_groups import told_choices
from torpor_endpoint.core.pages.plain_figures import counted, milliseconds, moment, size
from torpor_endpoint.core.pages.state import DecisionRow, ResidentModel, VariantState, standing

HAPPENED = {
    "download": "is to be fetched from S3",
    "downloaded": "was fetched",
    "not-downloaded": "could not be fetched",
    "found": "was found on the disk",
    "ordered": "is to be loaded ahead",
    "load": "is to be loaded",
    "loaded": "was loaded",
    "resized": "changed its size",
    "not-mapped": "is served by its library",
    "failed": "failed to load",
    "refuse": "was refused",
    "evict": "has to leave memory",
    "unloaded": "left memory",
    "delete": "has to leave the disk",
    "deleted": "left the disk",
}
"""The words of a story for each action of a decision."""


UNKNOWN = (
    "nothing is known about it: no running instance has decided anything about it, and the ledger has no cold start"
    " of it"
)
FORGOTTEN = "no running instance has decided anything about it; its latest cold starts, from the ledger:"
SHOWN_S = 0.0001
"""The story leaves out the steps that took no longer than this."""


@dataclass(frozen=True)
class StoryLine:
    """One line of a story, before anything is formatted."""

    at_s: float  # epoch seconds
    instance: str
    what: str


@dataclass(frozen=True)
class Story:
    """One model's decisions, oldest first. Print it."""

    model: str
    decisions: tuple[DecisionRow, ...]
    resident: tuple[ResidentModel, ...] = ()
    """The model in memory now, once for each instance that holds it."""
    variants: tuple[VariantState, ...] = ()
    """The endpoint's variants now."""
    past: tuple[ColdStart, ...] = ()
    """The latest cold starts, oldest first, if no running instance has decided anything about the model."""
    versions: tuple[str, ...] = ()
    """What there is of its versions, if it is one of several: a line for each variant."""
    choices: tuple[MadeChoices, ...] = ()
    """The latest choices of the group of this name, or those by which the model answered calls of groups."""
    told_s: float | None = None
    """The current time, in epoch seconds: events of another day get a date. With None, all events get one."""

    def __str__(self) -> str:
        return "\n".join([self.model, *(f"  {line}" for line in self.lines())])

    @property
    def known(self) -> bool:
        """Whether anything is known about the model."""
        return bool(self.decisions or self.past or self.resident or self.choices or self._groups())

    def lines(self) -> list[str]:
        """One line for each decision, then the lines of `now`."""
        if not self.known:
            return [UNKNOWN]
        forgotten = [FORGOTTEN] if self.past and not self.decisions else []
        return [*forgotten, *map(self._line, self.happened()), *self.now()]

    def happened(self) -> list[StoryLine]:
        """The decisions, or, where no running instance has decided anything, the latest cold starts; and the choices of
        the model, or of models of the group."""
        if self.decisions:
            lines = [StoryLine(one.at_s, one.instance, described(one)) for one in self.decisions]
        else:
            lines = [StoryLine(one.at_s, one.instance, remembered(one)) for one in self.past]
        if not self.choices:
            return lines
        return sorted([*lines, *(StoryLine(one.at_s, "", told_choices(one)) for one in self.choices)], key=_at)

    def page(self) -> Json:
        """The page of the story."""
        note = UNKNOWN if not self.known else FORGOTTEN if self.past and not self.decisions else ""
        now = self.now() if self.known else []
        return {"model": self.model, "note": note, "lines": [vars(line) for line in self.happened()], "now": now}

    def now(self) -> list[str]:
        """The current state of the model: one line for each instance that holds it, or one that says why none does;
        and what there is of its versions."""
        if groups := self._groups():
            return [f"now: {one}" for one in groups]
        return [*self._in_memory(), *self.versions]

    def _groups(self) -> list[str]:
        """The groups of this name: one line for each variant that has one."""
        return [str(one) for variant in self.variants for one in variant.groups if one.name == self.model]

    def _in_memory(self) -> list[str]:
        if not self.resident:
            standings = (f"; {variant.name}: {said}" for variant in self.variants if (said := standing(variant)))
            return [f"now: not in memory{''.join(standings)}"]
        return [
            f"now: {self._by(model.instance)}in memory, {size(model.size_bytes)}, {counted(model.hits, 'hit')}, "
            f"idle for {model.idle_s:.1f} s"
            for model in self.resident
        ]

    def _line(self, line: StoryLine) -> str:
        return f"{moment(line.at_s, self.told_s, '%H:%M:%S.%f')[:-3]}  {self._by(line.instance)}{line.what}"

    def _by(self, instance: str) -> str:
        """The name of the instance, if the story is about several."""
        running = (one.id for variant in self.variants for one in variant.instances)
        named = (one.instance for those in (self.decisions, self.past, self.resident) for one in those)
        known = {*running, *named}
        return f"{instance}  " if instance and len(known) > 1 else ""


def _at(line: StoryLine) -> float:
    return line.at_s


def described(decision: DecisionRow) -> str:
    """`was loaded in 11.9 ms: measured 3,506,176 bytes`"""
    happened = HAPPENED.get(decision.action, decision.action)
    took = f" in {milliseconds(decision.took_s)}" if decision.took_s else ""
    why = f": {decision.reason}" if decision.reason else ""
    return f"{happened}{took}{why}"


def remembered(cold: ColdStart) -> str:
    """`a request took 423 ms (wake 120 ms, load 303 ms): first use; b left`. Of a pipeline, also the time in each of
    its containers; of a request by another protocol than SageMaker's, also its face."""
    steps = ", ".join(f"{step} {milliseconds(took_s)}" for step, took_s in cold.steps.items() if took_s > SHOWN_S)
    spent = ", ".join(f"in {name} {milliseconds(spent_s)}" for name, spent_s in cold.container_s.items())
    why = f": {because}" if (because := why_cold(cold)) else ""
    by = f" by {cold.face}" if cold.face else ""
    taken = "; ".join(part for part in (steps, spent) if part)
    return f"a request{by} took {milliseconds(cold.total_s)} ({taken}){why}"


FROM = {"neighbour": "from another instance", "s3": "from S3"}


def why_cold(cold: ColdStart) -> str:
    """The reason of the cold start, the models that were evicted for it, and why a group's request went to this one."""
    failed = f"HTTP {cold.status}" if cold.status >= 400 else ""
    left = f"{', '.join(cold.victims)} left" if cold.victims else ""
    came = f"its artifact came {FROM[cold.fetched_from]}" if cold.fetched_from in FROM else ""
    chosen = f"chosen: {cold.choice}" if cold.choice else ""
    return "; ".join(part for part in (failed, cold.reason, came, left, chosen) if part)
