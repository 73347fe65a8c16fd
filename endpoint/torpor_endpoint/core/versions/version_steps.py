"""What instances did so that one version of a model could take over from another: the record of each step."""

from enum import StrEnum
from typing import NamedTuple


class StepKind(StrEnum):
    """`beside`: a version was loaded beside the one that answered. `gone`: a withdrawn version left memory and disk."""

    BESIDE = "beside"
    GONE = "gone"


class VersionStep(NamedTuple):
    """One step of the instances of a variant. `key` is the version's artifact below the prefix; `beside` is that of the
    version which answered meanwhile, empty for a step of another kind. It began `ago_s` seconds ago."""

    endpoint: str
    variant: str
    kind: StepKind
    key: str
    beside: str = ""
    ago_s: float = 0.0
