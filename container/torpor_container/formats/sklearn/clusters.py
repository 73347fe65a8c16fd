"""Has scikit-learn's k-means take rows of any float type: by itself, one that was fitted on float32 refuses float64.

Its compiled loop takes rows and centres of one type (scikit-learn 1.9), and rows keep theirs.
"""

from functools import cache
from typing import Any

MODULES = frozenset({"sklearn.cluster._bisect_k_means", "sklearn.cluster._kmeans"})


def widen(estimator: Any) -> None:
    """If it is a k-means, make it predict in the type of its centres from now on. Objects that contain it stay
    unchanged."""
    kind = _wide(estimator.__class__)
    if kind is not None:
        estimator.__class__ = kind


class _Clusters:
    def predict(self: Any, X: Any) -> Any:  # noqa: N803  scikit-learn's name
        return super().predict(_as_fitted(self, X))  # type: ignore[misc]  # the k-means stands behind this class


@cache
def _wide(kind: type) -> type | None:
    known = kind.__module__ in MODULES and hasattr(kind, "predict")
    return type(kind.__name__, (_Clusters, kind), {"__module__": kind.__module__}) if known else None


def _as_fitted(clusters: Any, rows: Any) -> Any:
    """The rows in the type of the centres. Those that have no type, and those of an estimator that was not fitted, stay
    as they are."""
    centres = getattr(clusters, "cluster_centers_", None)
    return rows if centres is None or not hasattr(rows, "astype") else rows.astype(centres.dtype)
