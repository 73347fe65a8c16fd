"""LightGBM: text models, as `save_model` writes them, by flat trees alone; LightGBM itself is never imported.

The answer is that of its `predict`, to the bit: probabilities for classes, the mean of a random forest, the
objective's own scale. The model takes its columns by the names that it was trained with, and learned categories of
pandas as these.
"""

from pathlib import Path

import numpy as np

from torpor_container.content import RowLayout, decode
from torpor_container.content.column_names import numbered
from torpor_container.content.reading.categories import Categories
from torpor_container.errors import LoadFailed
from torpor_container.formats import contents
from torpor_container.formats.flat_rows import summed
from torpor_container.formats.format import Conventions, Format, ServableModel, named
from torpor_container.formats.served import ServedModel
from torpor_container.formats.sklearn import lightgbm_columns
from torpor_container.trees import lightgbm_text, lightgbm_trees, walking
from torpor_container.trees.flat_trees import UnsoundTrees
from torpor_container.trees.lightgbm_text import TextModel, UnreadableText

LIGHTGBM = "lightgbm"


def load(path: Path, conventions: Conventions) -> ServableModel:
    """Load a text model. Raises LoadFailed, which says what it has that cannot be served without LightGBM."""
    if walking.extension() is None:
        raise LoadFailed(
            f"{path.name} is a model of LightGBM, and these are served by Torpor's C extension, which was not built as "
            "Torpor was installed: install a C compiler, and Torpor again"
        )
    try:
        model = lightgbm_text.read(path.read_bytes())
        trees, objective = lightgbm_trees.flat(model), lightgbm_trees.objective(model)
    except (UnreadableText, UnsoundTrees) as error:
        raise LoadFailed(f"{path.name} is not a model of LightGBM that can be served: {error}") from error
    layout = _layout(model)
    sums = summed(trees, layout)
    return ServedModel(
        format=LIGHTGBM,
        native=trees,
        read=lambda call: decode(call.body, call.content_type, layout),
        predict=lambda rows: objective.answer(sums(rows)),
        answers=conventions.toolkit,
        layout=layout,
        rowwise=True,
    )


def _layout(model: TextModel) -> RowLayout:
    """Absent cells of a sparse row are zeros, as they are to LightGBM."""
    names = None if numbered(model.names) == list(model.names) else model.names
    categories = _categories(model, names)
    return RowLayout(np.float64, columns=model.columns, absent=0.0, names=lambda: names, categories=lambda: categories)


def _categories(model: TextModel, names: tuple[str, ...] | None) -> Categories | None:
    learned = model.pandas_categories
    if not learned:
        return None
    places = lightgbm_columns.places_of(model.infos, len(learned))
    if places is None:
        return None
    return Categories(model.columns, dict(zip(places, learned, strict=True)), names)


FORMAT = Format(
    LIGHTGBM,
    named("*.txt", "*.model", "*.lgb", "*.lgbm", "*.lightgbm", beginning=contents.LIGHTGBM_HEAD),
    load,
    bytes_per_artifact_byte=0.4,
    fixed_bytes=64 * 1024,
)
