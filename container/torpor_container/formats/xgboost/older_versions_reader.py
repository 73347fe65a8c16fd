"""A program of its own, run with an older XGBoost first on its path: reads one old model and saves it as UBJSON.

    python -P older_versions_reader.py MODEL FOLDER MEMORY_BYTES

FOLDER gets `model.ubj`, `probe.npz` (rows, and the margins that the booster predicts for them) and `told.json`: the
XGBoost that read the model, the number that stands for a missing value, whether it was pickled, or `error`. It imports
nothing of the package beside it. A pickle runs code as it loads: here too, in this process with its limits.
"""

import json
import pickle
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

CPU_S = 120
FILE_BYTES = 8 * 1024**3
PROBES = 64
SPLITS_FROM_BYTES = 32 * 1024**2
"""A larger model is probed only with random rows, without rows at its splits."""
COMPRESSED = (b"\x78", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x5d\x00\x00")
"""The first bytes of joblib's compressed pickles."""
TRIED = (b"\x80", b"c", b"(", *COMPRESSED)
"""The first bytes of pickles, plain or compressed by joblib."""


def main(model: Path, folder: Path, memory_bytes: int) -> int:
    limit(memory_bytes)
    try:
        result = read(model, folder)
    except MemoryError:
        result = {"error": "out of memory", "memory": True}
    except BaseException as error:  # noqa: BLE001  the outermost edge of a process: a pickle runs foreign code, which may raise anything
        result = {"error": f"{type(error).__name__}: {first_line(error)}", "memory": "bad_alloc" in str(error)}
    (folder / "told.json").write_text(json.dumps(result))
    return 1 if "error" in result else 0


def limit(memory_bytes: int) -> None:
    """Limit this process: allocations beyond the limit fail."""
    for kind, most in (
        (resource.RLIMIT_DATA, memory_bytes),
        (resource.RLIMIT_CPU, CPU_S),
        (resource.RLIMIT_FSIZE, FILE_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def read(model: Path, folder: Path) -> dict[str, Any]:
    """Read and save the model. Raises whatever goes wrong."""
    leave_out(model)
    import numpy as np
    import xgboost

    booster, missing, pickled = opened(model)
    booster.set_param({"nthread": 1})
    saved = bytes(booster.save_raw("ubj"))
    (folder / "model.ubj").write_bytes(saved)
    rows = probes(booster, len(saved))
    matrix = xgboost.DMatrix(rows, nthread=1)
    margins = booster.predict(matrix, validate_features=False, output_margin=True)
    np.savez(folder / "probe.npz", rows=rows, predictions=margins)
    return {"version": xgboost.__version__, "missing": missing, "pickled": pickled}


def leave_out(model: Path) -> None:
    """Keep XGBoost from importing pandas and scikit-learn, which takes a second, and which few models need."""
    absent: Any = None  # Python's way to say that a module is not there
    sys.modules["pandas"] = absent
    content = model.read_bytes()
    if not content.startswith(COMPRESSED) and b"sklearn" not in content:
        sys.modules["sklearn"] = absent


def opened(model: Path) -> tuple[Any, float | None, bool]:
    """The booster, the number that stands for a missing value (None for NaN), and whether it was pickled."""
    from xgboost import Booster

    with model.open("rb") as file:
        head = file.read(8)
    if head.startswith(TRIED):
        native = unpickled(model)
        booster = getattr(native, "_Booster", native)
        if not isinstance(booster, Booster):
            raise TypeError(
                f"it holds an object of type {type(native).__name__}, and no booster: save it anew with the XGBoost "
                "that it was pickled with"
            )
        missing = getattr(native, "missing", None)
        return booster, None if missing is None or missing != missing else float(missing), True
    booster = Booster()
    booster.load_model(bytearray(model.read_bytes()))
    return booster, None, False


def unpickled(model: Path) -> Any:
    """The object, from any version of XGBoost: up to 0.90, a pickled booster's state is the binary format itself."""
    import joblib
    from joblib.numpy_pickle import NumpyUnpickler
    from xgboost import Booster
    from xgboost.core import XGBoostError

    restore: Any = Booster.__setstate__

    def lenient(self: Any, state: dict[str, Any]) -> None:
        saved: Any = state.get("handle")
        try:
            restore(self, dict(state))
        except XGBoostError:
            self.__init__()
            self.load_model(bytearray(saved.encode("latin-1") if isinstance(saved, str) else saved))
            for name in ("feature_names", "feature_types"):
                if state.get(name) is not None:
                    setattr(self, name, state[name])

    setattr(Booster, "__setstate__", lenient)  # noqa: B010  mypy knows no other way to replace a method
    find_class: Any = NumpyUnpickler.find_class
    setattr(NumpyUnpickler, "find_class", lambda self, *name: found(lambda: find_class(self, *name), *name))  # noqa: B010
    try:
        return joblib.load(model)
    except UnicodeDecodeError:  # joblib takes a pickle of Python 2 for its own
        with model.open("rb") as file:
            return pickle.load(file, encoding="latin1")


def found(find: Callable[[], Any], module: str, name: str) -> Any:
    """The class. An empty one replaces a class that XGBoost or scikit-learn no longer has, such as an encoder."""
    try:
        return find()
    except (AttributeError, ImportError):
        if module.partition(".")[0] not in ("xgboost", "sklearn"):
            raise
        return type(name, (), {"__module__": module})


def probes(booster: Any, size_bytes: int) -> Any:
    """Rows at, just below and just above the model's own splits, some numbers missing, and rows of any size."""
    import numpy as np

    random = np.random.default_rng(0)
    columns = booster.num_features()
    rows = random.normal(scale=10.0 ** random.integers(-3, 6, (PROBES, 1)), size=(PROBES, columns))
    if size_bytes <= SPLITS_FROM_BYTES:
        for column, values in splits(booster).items():
            chosen = random.choice(values, PROBES - PROBES // 4)
            rows[: len(chosen), column] = chosen * (1 + random.integers(-1, 2, len(chosen)) * 1e-6)
    rows[random.random(rows.shape) < 0.1] = np.nan
    return rows.astype(np.float32)


def splits(booster: Any) -> dict[int, list[float]]:
    """The values at which the trees split, by column; None for a linear model."""
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]
    model = learner.get("model") or learner.get("gbtree", {}).get("model", {})
    found: dict[int, list[float]] = {}
    for tree in model.get("trees", ()):
        for column, value, left in zip(
            tree["split_indices"], tree["split_conditions"], tree["left_children"], strict=True
        ):
            if left != -1:
                found.setdefault(column, []).append(value)
    return found


def first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), "")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
