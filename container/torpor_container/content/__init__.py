"""Content types in and out: bytes to rows, predictions to bytes, and the choice of the answer's type."""

from torpor_container.content.answers import TOOLKIT, XGBOOST, XGBOOST_MULTI_MODEL, Answers
from torpor_container.content.reading.rows import DECODERS, RowLayout, Rows, decode

__all__ = ["DECODERS", "TOOLKIT", "XGBOOST", "XGBOOST_MULTI_MODEL", "Answers", "RowLayout", "Rows", "decode"]
