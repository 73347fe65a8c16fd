"""LightGBM: text models, as `save_model` writes them, by flat trees alone; LightGBM itself is never imported.

The answer is that of its `predict`, to the bit: probabilities for classes, the mean of a random forest, the objective's
own scale. The model takes its columns by the names that it was trained with, and learned categories of pandas as these.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from torpor_container.content import RowLayout, decode
from torpor_container.content.column_names import numbered
from torpor_container.content.reading.categories import Categories
from torpor_container.errors import LoadFailed
from torpor_container.formats import contents, flat_forms
from torpor_container.formats.flat_rows import summed
from torpor_container.formats.format import Conventions, Format, Mapped, ServableModel, named
from torpor_container.formats.served import ServedModel
from torpor_container.formats.sklearn import lightgbm_columns
from torpor_container.frozen_class import frozen
from torpor_container.processes.import_steps import Step
from torpor_container.trees import flat_trees, lightgbm_text, lightgbm_trees, walking
from torpor_container.trees.flat_trees import FlatTrees, UnsoundTrees
from torpor_container.trees.lightgbm_text import TextModel, UnreadableText
from torpor_container.trees.lightgbm_trees import Objective
from torpor_container.trees.pairing import paired
from torpor_container.typed_json import read, written

LIGHTGBM = "lightgbm"
NOTE = "flat trees answer: a text model of LightGBM needs no other library"


@frozen
class TextFacts:
    """What an instance wants to know of a text model besides its trees."""

    objective: Objective
    names: list[str] | None
    """None if LightGBM has numbered its columns."""
    categories: list[tuple[int, list[Any]]] | None
    """The places of columns with categories, and these as pandas had them."""


def load(path: Path, conventions: Conventions) -> ServableModel:
    """Load a text model. Raises LoadFailed, which says what it has that cannot be served without LightGBM."""
    trees, facts = _flat(path)
    return _serve(trees, facts.objective, lambda: facts, conventions)


def _converted(path: Path, conventions: Conventions) -> bytes:
    """The file of flat trees. There is nothing to prove it by: the reader is strict. Raises LoadFailed."""
    trees, facts = _flat(path)
    return flat_trees.written(trees, written(facts))


write_flat = flat_forms.writing(_converted)


def _open_flat(file: Any, mapped: Mapped, path: Path, conventions: Conventions) -> ServableModel:
    trees, told = flat_trees.read(file)

    @cache
    def facts() -> TextFacts:
        """Read when a body needs names: models with many columns would hold more names than nodes."""
        return read(TextFacts, flat_trees.facts(file))

    return _serve(trees, read(TextFacts, told).objective, facts, conventions, mapped)


def _flat(path: Path) -> tuple[FlatTrees, TextFacts]:
    if walking.extension() is None:
        raise LoadFailed(
            f"{path.name} is a model of LightGBM, and these are served by Torpor's C extension, which was not built as "
            "Torpor was installed: install a C compiler and Python's headers, and Torpor again"
        )
    try:
        model = lightgbm_text.read(path.read_bytes())
        names = None if numbered(model.names) == list(model.names) else list(model.names)
        return paired(lightgbm_trees.flat(model)), TextFacts(lightgbm_trees.objective(model), names, _categories(model))
    except (UnreadableText, UnsoundTrees) as error:
        raise LoadFailed(f"{path.name} is not a model of LightGBM that can be served: {error}") from error


def _categories(model: TextModel) -> list[tuple[int, list[Any]]] | None:
    learned = model.pandas_categories or []
    places = lightgbm_columns.places_of(model.infos, len(learned))
    return list(zip(places, learned, strict=True)) if learned and places is not None else None


def _serve(
    trees: FlatTrees,
    objective: Objective,
    facts: Callable[[], TextFacts],
    conventions: Conventions,
    mapped: Mapped | None = None,
) -> ServedModel[Any]:
    """Absent cells of a sparse row are zeros, as they are to LightGBM."""
    columns = trees.columns

    @cache
    def categories() -> Categories | None:
        known = facts()
        if known.categories is None:
            return None
        return Categories(columns, dict(known.categories), None if known.names is None else tuple(known.names))

    layout = RowLayout(np.float64, columns=columns, absent=0.0, names=lambda: facts().names, categories=categories)
    sums = summed(trees, layout)
    return ServedModel(
        format=LIGHTGBM,
        native=None,
        read=lambda call: decode(call.body, call.content_type, layout),
        predict=lambda rows: objective.answer(sums(rows)),
        answers=conventions.toolkit,
        layout=layout,
        rowwise=True,
        note=NOTE,
        mapped=mapped,
    )


FORMAT = Format(
    LIGHTGBM,
    named("*.txt", "*.model", "*.lgb", "*.lgbm", "*.lightgbm", beginning=contents.LIGHTGBM_HEAD),
    load,
    bytes_per_artifact_byte=0.4,
    fixed_bytes=64 * 1024,
    mapped=flat_forms.form(__name__, _open_flat),
    step=lambda path: Step.BARE,
)
