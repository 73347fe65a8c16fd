"""scikit-learn: estimators saved by joblib, pickle or skops. `predict` answers; NaN is for the estimator to judge."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from torpor_container.content import Layout, Rows, decode
from torpor_container.errors import LoadFailed
from torpor_container.formats import pickled
from torpor_container.formats.format import Conventions, Format, Model, named
from torpor_container.formats.served import ServedModel

SKOPS = ".skops"


def load(path: Path, conventions: Conventions) -> Model:
    """Raises LoadFailed."""
    if path.suffix.lower() == SKOPS:
        return serve(_read_skops(path), conventions)
    return pickled.load(path, conventions)


def serve(estimator: Any, conventions: Conventions) -> ServedModel[Rows]:
    """An estimator, ready to predict in the calling thread.

    SageMaker's container hands it float32. It gets float64 here, so that the answer is that of `predict` on the
    caller's own numbers.
    """
    for part in _parts(estimator):
        if getattr(part, "n_jobs", None) is not None:
            part.n_jobs = 1  # one row needs no pool, and a pool per model would outnumber the cores
    layout = Layout(np.float64, columns=getattr(estimator, "n_features_in_", None), absent=0.0)
    return ServedModel(
        format=FORMAT.name,
        native=estimator,
        read=lambda call: decode(call.body, call.content_type, layout),
        predict=estimator.predict,
        answers=conventions.toolkit,
        refusals=(ValueError,),  # scikit-learn's word for rows it does not take, such as NaN
    )


def _parts(estimator: Any) -> Iterator[Any]:
    """The estimator and the fitted estimators inside it, to any depth."""
    seen: set[int] = set()
    waiting = [estimator]
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, list | tuple):
            waiting.extend(part)
        elif isinstance(part, dict):
            waiting.extend(part.values())
        elif hasattr(part, "get_params") and hasattr(part, "__dict__"):
            yield part
            waiting.extend(vars(part).values())


def _read_skops(path: Path) -> Any:
    """Only types that skops knows to be safe: an unknown one could run code of its own."""
    import skops.io

    try:
        unknown = skops.io.get_untrusted_types(file=path)
        if not unknown:
            return skops.io.load(path, trusted=[])
    except Exception as error:  # a damaged archive fails in as many ways as zip, JSON and numpy have
        raise LoadFailed(f"{path.name} is not a skops file: {type(error).__name__}: {error}") from error
    raise LoadFailed(f"{path.name} holds types that skops does not trust: {', '.join(unknown)}")


FORMAT = Format(
    "scikit-learn",
    named("*.joblib", "*.pkl", "*.pickle", f"*{SKOPS}"),
    load,
    bytes_per_artifact_byte=1.5,
    fixed_bytes=64 * 1024,
    frameworks=("joblib", "sklearn.base", "sklearn.utils"),
)
