"""LightGBM's text models as flat trees answer as LightGBM, to the bit."""

import numpy as np
import pytest

from tests.container.helpers.flat_models import slowly
from tests.container.helpers.lightgbm_models import CASES, predicted, telling_rows, trained
from torpor_container.trees import lightgbm_text, lightgbm_trees, walking
from torpor_container.trees.flat_trees import Array, FlatTrees
from torpor_container.trees.lightgbm_text import TextModel, UnreadableText

needs_extension = pytest.mark.skipif(walking.extension() is None, reason="no compiler built the extension")


def walked(trees: FlatTrees, rows: Array) -> Array:
    sums = np.empty((len(rows), trees.outputs))
    walking.walker(trees).predict(rows, sums)
    return sums


@needs_extension
@pytest.mark.parametrize("name", CASES)
def test_every_objective_answers_as_lightgbm_does_to_the_bit(name: str) -> None:
    model = lightgbm_text.read(trained(name).encode())
    rows, trees = telling_rows(model), lightgbm_trees.flat(model)
    answers = lightgbm_trees.objective(model).answer(walked(trees, rows))
    expected = predicted(trained(name), rows)
    assert answers.dtype == expected.dtype
    np.testing.assert_array_equal(answers, expected)


@needs_extension
@pytest.mark.parametrize("name", ["regression", "multiclass", "zero is missing"])
def test_the_extension_walks_as_a_plain_walk_does(name: str) -> None:
    model = lightgbm_text.read(trained(name).encode())
    trees, rows = lightgbm_trees.flat(model), telling_rows(model)[:100]
    np.testing.assert_array_equal(walked(trees, rows), slowly(trees, rows))


def test_a_split_of_categories_becomes_a_search_among_the_bounds_of_its_intervals() -> None:
    categories = np.array([0, 1, 4, 7, 8, 9])
    bounds = lightgbm_trees._bounds(categories)
    values = np.array([-2.0, -1.0, -0.5, 0.0, 1.999, 2.0, 3.999, 4.0, 4.5, 5.0, 7.0, 9.999, 10.0, np.inf, -np.inf])
    inside = (values[:, None] > bounds).sum(1) % 2 == 1
    cut = np.where(np.isfinite(values), np.trunc(np.nan_to_num(values, posinf=-9, neginf=-9)), -9)
    np.testing.assert_array_equal(inside, np.isin(cut, categories) & (values > -1))


def replaced(name: str, old: str, new: str) -> TextModel:
    text = trained(name)
    assert old in text
    return lightgbm_text.read(text.replace(old, new, 1).encode())


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("regression", "objective=regression", "objective=sorcery", "its objective is 'sorcery'"),
        ("binary", "sigmoid:2.5", "sigmoid:-1", "no number above 0"),
        ("binary", "sigmoid:2.5", "sigmoid:much", "no number above 0"),
        ("multiclass", "num_class:3", "num_class:4", "3 outputs, which its objective multiclass does not have"),
        ("multiclass", "objective=multiclass num_class:3", "objective=binary", "3 outputs"),
    ],
)
def test_an_objective_that_does_not_fit_is_refused(name: str, old: str, new: str, said: str) -> None:
    with pytest.raises(UnreadableText, match=said):
        lightgbm_trees.objective(replaced(name, old, new))


@pytest.mark.parametrize("value", [-1000.0, -745.2, -0.0, 0.0, 709.5, 710.0, 1000.0])
def test_large_sums_answer_as_in_c(value: float) -> None:
    """Python's exp raises where C answers infinity."""
    power = np.exp(np.longdouble(value))
    with np.errstate(over="ignore"):
        expected = {"exp": float(power), "sigmoid": float(1 / (1 + 1 / power))}
    for link, answer in expected.items():
        (found,) = lightgbm_trees.Objective(link).answer(np.array([[value]]))
        assert found == pytest.approx(answer, rel=1e-15, abs=5e-324)
