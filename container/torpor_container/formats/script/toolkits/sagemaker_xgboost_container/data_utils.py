"""Files to XGBoost's matrices, by content type: label first, no header."""

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import xgboost as xgb

CSV = "csv"
LIBSVM = "libsvm"
PARQUET = "parquet"
RECORDIO_PROTOBUF = "recordio-protobuf"

KINDS = {
    CSV: CSV,
    "text/csv": CSV,
    LIBSVM: LIBSVM,
    "text/libsvm": LIBSVM,
    "text/x-libsvm": LIBSVM,
    PARQUET: PARQUET,
    "application/x-parquet": PARQUET,
}


def get_content_type(content_type_cfg_val: str | None) -> str:
    """Raises ValueError."""
    kind = (content_type_cfg_val or LIBSVM).partition(";")[0].strip().lower()
    if kind not in KINDS:
        raise ValueError(f"{content_type_cfg_val} is not an accepted ContentType: {', '.join(KINDS)}.")
    return KINDS[kind]


def get_size(data_path: str, is_pipe: bool = False) -> int:
    """Bytes of a file, or of a folder's files; 0 where there is nothing."""
    path = Path(data_path)
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def validate_data_file_path(data_path: str, content_type: str) -> None:
    """Raises ValueError."""
    get_content_type(content_type)
    if not os.path.exists(data_path):
        raise ValueError(f"{data_path} is not a valid path!")


def get_dmatrix(data_path: str | list[str], content_type: str, csv_weights: int = 0, is_pipe: bool = False) -> Any:
    """All files as one matrix; None where there are none. Pipe mode is not there."""
    if is_pipe:
        raise NotImplementedError("pipe mode is not part of Torpor's stand-in: use File or FastFile")
    files = [file for path in ([data_path] if isinstance(data_path, str) else data_path) for file in _files(Path(path))]
    return READ[get_content_type(content_type)](files, csv_weights) if files else None


def get_csv_dmatrix(files: list[Path], csv_weights: int) -> xgb.DMatrix:
    rows = np.concatenate([np.genfromtxt(file, dtype=np.float32, delimiter=",", ndmin=2) for file in files])
    if csv_weights:
        return xgb.DMatrix(rows[:, 2:], label=rows[:, 0], weight=rows[:, 1])
    return xgb.DMatrix(rows[:, 1:], label=rows[:, 0])


def get_libsvm_dmatrix(files: list[Path], csv_weights: int = 0) -> xgb.DMatrix:
    from sklearn.datasets import load_svmlight_file

    lines = io.BytesIO(b"\n".join(file.read_bytes() for file in files))
    return xgb.DMatrix(*load_svmlight_file(lines, zero_based=True))


def get_parquet_dmatrix(files: list[Path], csv_weights: int = 0) -> xgb.DMatrix:
    import pandas

    rows = np.concatenate([pandas.read_parquet(file).to_numpy() for file in files])
    return xgb.DMatrix(rows[:, 1:], label=rows[:, 0])


READ = {CSV: get_csv_dmatrix, LIBSVM: get_libsvm_dmatrix, PARQUET: get_parquet_dmatrix}


def _files(path: Path) -> list[Path]:
    """A file, or those of a folder; hidden ones are none of the data."""
    if path.is_file():
        return [path]
    return sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith((".", "_")))
