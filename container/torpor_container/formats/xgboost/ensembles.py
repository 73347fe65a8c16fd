"""Combines several boosters, such as those of a k-fold training, to one model: the mean, or a vote.

sagemaker-xgboost-container loads every file of its model folder and predicts with all (SAGEMAKER_INFERENCE_ENSEMBLE, by
default true): what `multi:softmax` and `binary:hinge` predict are classes, which vote, and all else is averaged.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from torpor_container.content import Rows
from torpor_container.errors import LoadFailed
from torpor_container.formats.format import ByteProof, Conventions, Format, ServableModel
from torpor_container.formats.sound.one_reading import Contents
from torpor_container.formats.xgboost import boosters, xgboost_format
from torpor_container.formats.xgboost.boosters import Member

VOTING = frozenset({"multi:softmax", "binary:hinge"})
"""Objectives whose predictions are classes."""


def joined(format: Format, paths: Sequence[Path]) -> Format:
    """The same format, with a load that reads all of these files. It has no mapped form."""
    return replace(
        format,
        load=partial(_load, tuple(paths)),
        mapped=None,
        step=lambda path: max(map(format.step, paths)),
        proof=ByteProof(lambda path: _prove(paths), partial(_load_proved, tuple(paths))),
    )


def _load(paths: Sequence[Path], path: Path, conventions: Conventions) -> ServableModel:
    """Load the boosters as one model. Raises LoadFailed, also if their rows or predictions differ in kind."""
    return _served(paths, [xgboost_format.member(each, conventions) for each in paths], conventions)


def _prove(paths: Sequence[Path]) -> Contents | None:
    found = list(map(xgboost_format.prove, paths))
    proved = [content for contents in found if contents is not None for content in contents]
    return tuple(proved) if len(proved) == len(paths) else None


def _load_proved(paths: Sequence[Path], contents: Contents, path: Path, conventions: Conventions) -> ServableModel:
    members = [xgboost_format.proved_member(content, each) for content, each in zip(contents, paths, strict=True)]
    return _served(paths, members, conventions)


def _served(paths: Sequence[Path], members: Sequence[Member], conventions: Conventions) -> ServableModel:
    for each, member in zip(paths, members, strict=True):
        if (kind := _kind(member)) != (first := _kind(members[0])):
            raise LoadFailed(
                f"{each.name} has {kind}, and {paths[0].name} {first}: they cannot answer together. Keep one of "
                "them, or set SAGEMAKER_INFERENCE_ENSEMBLE=false"
            )
    return boosters.serve_members(members, conventions, combination(members[0].objective()))


def _kind(member: Member) -> str:
    return f"{member.columns} columns and the objective {member.objective()}"


def combination(objective: str) -> Callable[[list[Rows]], Any]:
    """The function that makes one prediction of those of several boosters."""
    return vote if objective in VOTING else average


def average(predictions: list[Rows]) -> Any:
    return np.mean(predictions, axis=0)


def vote(predictions: list[Rows]) -> Any:
    """The class that most boosters predict; of equal counts the smallest, as in `scipy.stats.mode`."""
    each = np.stack(predictions)
    classes = np.unique(each)
    counts = np.stack([np.count_nonzero(each == one, axis=0) for one in classes])
    return classes[np.argmax(counts, axis=0)]
