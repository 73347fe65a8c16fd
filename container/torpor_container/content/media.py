"""The media types that models read and write, by name. They parse headers and nothing else."""

from functools import lru_cache

CSV = "text/csv"
LIBSVM = "text/libsvm"
JSON = "application/json"
JSONLINES = "application/jsonlines"
NPY = "application/x-npy"
RECORDIO = "application/x-recordio-protobuf"

ALIASES = {
    "csv": CSV,
    "json": JSON,
    "libsvm": LIBSVM,
    "text/x-libsvm": LIBSVM,
    "application/jsonl": JSONLINES,
    "application/x-jsonlines": JSONLINES,
    "application/x-ndjson": JSONLINES,
}
"""Short names and other spellings; `csv`, `libsvm` and `text/x-libsvm` are those of SageMaker's XGBoost container."""


@lru_cache(maxsize=64)
def media_type(header: str) -> str:
    """`Text/CSV; charset=utf-8` is `text/csv`: parameters are tolerated and play no part."""
    name = header.partition(";")[0].strip().lower()
    return ALIASES.get(name, name)
