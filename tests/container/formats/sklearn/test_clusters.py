"""A k-means that was fitted on float32 rows answers rows of any float type, as it answers float32 ones."""

from typing import Any

import numpy as np
import pandas
import pytest
import scipy.sparse
from sklearn.cluster import BisectingKMeans, KMeans, MiniBatchKMeans
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from torpor_container.formats.format import Conventions
from torpor_container.formats.sklearn import estimators
from torpor_container.formats.sklearn.clusters import widen
from torpor_container.invocation import Invocation

ROWS = np.random.default_rng(5).normal(size=(60, 3)).astype(np.float32)
KINDS = [KMeans, MiniBatchKMeans, BisectingKMeans]
CSV = "\n".join(",".join(map(repr, row)) for row in ROWS.tolist()).encode()


@pytest.mark.parametrize("piped", [False, True], ids=["alone", "piped"])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_a_body_reach_clusters_of_float32(kind: Any, piped: bool) -> None:
    clusters = kind(3, random_state=1)
    estimator = (make_pipeline(StandardScaler(), clusters) if piped else clusters).fit(ROWS)
    expected = estimator.predict(ROWS).tolist()
    model = estimators.serve(estimator, Conventions())
    assert model.invoke(Invocation(CSV, "text/csv")).body == repr(expected).encode()
    assert not model.foreign


def test_columns_by_name_reach_clusters_of_float32() -> None:
    frame = pandas.DataFrame(ROWS, columns=["a", "b", "c"])
    estimator = make_pipeline(
        ColumnTransformer([("scaled", StandardScaler(), ["c", "a"])]), KMeans(3, random_state=1)
    ).fit(frame)
    expected = estimator.predict(frame).tolist()
    model = estimators.serve(estimator, Conventions())
    assert model.invoke(Invocation(b"a,b,c\n" + CSV, "text/csv; header=present")).body == repr(expected).encode()


@pytest.mark.parametrize(
    "rows", [ROWS.astype(np.float64), scipy.sparse.csr_array(ROWS.astype(np.float64))], ids=["dense", "sparse"]
)
def test_clusters_of_float32_take_float64(rows: Any) -> None:
    clusters = KMeans(3, random_state=1).fit(ROWS)
    with pytest.raises(ValueError, match="dtype mismatch"):
        clusters.predict(rows)
    widen(clusters)
    assert clusters.predict(rows).tolist() == clusters.labels_.tolist()


def test_clusters_of_float64_take_float32() -> None:
    clusters = KMeans(3, random_state=1).fit(ROWS.astype(np.float64))
    widen(clusters)
    assert clusters.predict(ROWS).tolist() == clusters.labels_.tolist()


def test_clusters_that_were_never_fitted_say_so() -> None:
    clusters = KMeans(3)
    widen(clusters)
    with pytest.raises(NotFittedError):
        clusters.predict(ROWS)


def test_other_estimators_are_left_as_they_are() -> None:
    scaler = StandardScaler()
    widen(scaler)
    assert type(scaler) is StandardScaler
