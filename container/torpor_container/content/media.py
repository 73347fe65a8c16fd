"""The media types that models read and write, by name, and the parameters that change what they mean."""

import codecs
from collections.abc import Mapping
from functools import lru_cache

CSV = "text/csv"
LIBSVM = "text/libsvm"
JSON = "application/json"
JSONLINES = "application/jsonlines"
NPY = "application/x-npy"
RECORDIO = "application/x-recordio-protobuf"
NPZ = "application/x-npz"

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
    """The type without parameters, in lower case: `Text/CSV; charset=utf-8` is `text/csv`."""
    name = header.partition(";")[0].strip().lower()
    return ALIASES.get(name, name)


@lru_cache(maxsize=64)
def parameters(header: str) -> Mapping[str, str]:
    """The parameters of a type: `{"header": "present"}` for `text/csv; Header="present"`. Names are in lower case."""
    parts = (part.partition("=") for part in header.split(";")[1:])
    return {name.strip().lower(): value.strip().strip('"') for name, equals, value in parts if equals}


@lru_cache(maxsize=64)
def charset_of(header: str) -> str | None:
    """The `charset` of a text type where it is not UTF-8, of which ASCII is a part. JSON has none (RFC 8259, section
    11)."""
    given = parameters(header).get("charset", "") if header.lower().lstrip().startswith("text/") else ""
    try:
        name = codecs.lookup(given).name if given else "utf-8"
    except LookupError:
        return given
    return None if name in ("utf-8", "utf-8-sig", "ascii") else name


def with_charset(mimetype: str) -> str:
    """A type as Flask sends it: text has a charset. (Flask adds a second one where there is one.)"""
    is_text = mimetype.startswith("text/") or mimetype in XML_AND_CODE or mimetype.endswith("+xml")
    return f"{mimetype}; charset=utf-8" if is_text and "charset" not in mimetype else mimetype


XML_AND_CODE = frozenset(
    f"application/{name}"
    for name in ("ecmascript", "javascript", "sql", "xml", "xml-dtd", "xml-external-parsed-entity")
)
"""werkzeug.utils._charset_mimetypes."""
