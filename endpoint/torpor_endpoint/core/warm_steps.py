"""Decides from which zygote an instance is forked, and which zygotes may end.

Zygotes differ in the libraries that they have imported (`Step`). A lower one is there sooner and takes less memory; a
higher one, once it is ready, takes over.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from torpor_container.processes.import_steps import Step
from torpor_container.settings import BY_FIELD

FOREIGN, PROGRAM, IMAGE = (BY_FIELD[field].variable for field in ("container", "program", "image"))
SCIKIT_LEARN_IMAGE = "scikit-learn"


@dataclass(frozen=True)
class WantedStep:
    """What an instance needs. `guessed`: nothing is known of its models, so the whole zygote starts behind."""

    step: Step
    guessed: bool = False


@dataclass(frozen=True)
class WarmZygote:
    """One that runs. It is ready once its imports are done; `children` counts those that are being forked too."""

    step: Step
    ready: bool
    children: int


def wanted(environment: Mapping[str, str], recorded: Step | None) -> WantedStep:
    """What an instance with these variables needs, on whose disk, or a sibling's, models have needed `recorded`."""
    if environment.get(FOREIGN):
        return WantedStep(Step.BARE)
    if recorded is not None:
        return WantedStep(recorded)
    if environment.get(PROGRAM) or environment.get(IMAGE) == SCIKIT_LEARN_IMAGE:
        return WantedStep(Step.WHOLE)
    return WantedStep(Step.BOOSTERS, guessed=True)


def source(needed: Step, running: Collection[WarmZygote]) -> Step:
    """The step of the zygote to fork from: the highest ready one that suffices, or else the lowest that is on its way;
    if none runs, a new one of the step that is needed. A caller waits for one that is not ready."""
    enough = [zygote for zygote in running if zygote.step >= needed]
    ready = [zygote.step for zygote in enough if zygote.ready]
    return max(ready) if ready else min((zygote.step for zygote in enough), default=needed)


def spare(running: Collection[WarmZygote]) -> frozenset[Step]:
    """The zygotes that may end: without children, while a higher one is ready."""
    highest = max((zygote.step for zygote in running if zygote.ready), default=Step.BARE)
    return frozenset(zygote.step for zygote in running if zygote.step < highest and not zygote.children)
