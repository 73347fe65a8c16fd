"""Decides from which zygote an instance is forked, and when a zygote ends.

Zygotes differ in the libraries that they have imported (`Step`). A lower one is there sooner and takes less memory.
"""

from collections.abc import Collection, Mapping

from torpor_container.frozen_class import frozen
from torpor_container.processes.import_steps import Step
from torpor_container.settings import BY_FIELD, MIB

FOREIGN, PROGRAM, IMAGE = (BY_FIELD[field].variable for field in ("container", "program", "image"))
SCIKIT_LEARN_IMAGE = "scikit-learn"
MEMORY = BY_FIELD["memory_bytes"]
SMALL_BYTES = 512 * MIB
"""A library that an instance imports takes its own memory, scikit-learn 74 MiB of it: a smaller one has all from its
zygote, whatever its models need."""
UNUSED_S = 60.0
"""A new endpoint gets its first models within this time, or gets them later as one that has slept does."""


@frozen
class WantedStep:
    """What an instance needs. `guessed`: nothing is known of its models, so the whole zygote starts behind."""

    step: Step
    guessed: bool = False


@frozen
class WarmZygote:
    """One that runs, ready once its imports are done. `unused`: it was started on a guess, and has had no child."""

    step: Step
    ready: bool
    unused: bool = False


def wanted(environment: Mapping[str, str], recorded: Step | None) -> WantedStep:
    """What an instance with these variables needs, on whose disk, or a sibling's, models have needed `recorded`."""
    if environment.get(FOREIGN):
        return WantedStep(Step.BARE)
    if _is_small(environment):
        return WantedStep(Step.WHOLE)
    if recorded is not None:
        return WantedStep(recorded)
    if environment.get(PROGRAM) or environment.get(IMAGE) == SCIKIT_LEARN_IMAGE:
        return WantedStep(Step.WHOLE)
    return WantedStep(Step.BOOSTERS, guessed=True)


def _is_small(environment: Mapping[str, str]) -> bool:
    """Whether it has no room for libraries that it would import itself."""
    try:
        memory_bytes: int = MEMORY.read(environment.get(MEMORY.variable, MEMORY.default))
        return memory_bytes < SMALL_BYTES
    except ValueError:  # the instance itself refuses this value, and says why
        return False


def source(needs: WantedStep, running: Collection[WarmZygote]) -> Step:
    """The step of the zygote to fork from: the lowest ready one that suffices, or the highest if the need is a guess;
    or else the lowest that is on its way, for which the caller waits; if none runs, a new one of the step needed."""
    enough = [zygote for zygote in running if zygote.step >= needs.step]
    if ready := [zygote.step for zygote in enough if zygote.ready]:
        return max(ready) if needs.guessed else min(ready)
    return min((zygote.step for zygote in enough), default=needs.step)


def is_kept(warm_idle_s: float) -> bool:
    """Whether a whole zygote that is started on a guess would be there for as long as a new endpoint may need it."""
    return warm_idle_s >= UNUSED_S


def rest_s(zygote: WarmZygote, running: Collection[WarmZygote], warm_idle_s: float) -> float:
    """How long a zygote stays without a child: not at all where a higher one is in use, which takes over."""
    if zygote.unused:
        return min(warm_idle_s, UNUSED_S)
    taken_over = any(other.step > zygote.step and other.ready and not other.unused for other in running)
    return 0.0 if taken_over else warm_idle_s
