"""Reads rows as AWS's XGBoost image does, if TORPOR_IMAGE names it.

sagemaker-xgboost-container answers 204 to a body of no bytes, 415 to one that it cannot read as its content type says,
and 400 where the model does not take the rows. Its libsvm counts columns from 0, and may have one column more than the
model, as rows that count from 1 do: `serve_utils.predict` refuses only beyond that, and XGBoost up to 1.1 passes over
the columns that no tree knows.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from math import nan

import numpy as np

from torpor_container.content import RowLayout, Rows, decode
from torpor_container.content.media import CSV, LIBSVM, media_type, with_charset
from torpor_container.errors import BadInput, NoContent, UnsupportedContentType
from torpor_container.formats.format import Conventions
from torpor_container.image.aws_images import XGBOOST_IMAGE
from torpor_container.invocation import Invocation

log = logging.getLogger(__name__)

ONE_MORE = (
    "rows of text/libsvm have the column %d, and the model's columns are 0 to %d: as in AWS's container, it is passed "
    "over. If they count from 1, subtract 1 from each index, or train the model on rows that count from 1"
)


def reader(layout: RowLayout, conventions: Conventions, pickled: bool) -> Callable[[Invocation], Rows]:
    """Reads a body to rows. Raises BadInput, UnsupportedContentType and, for AWS's image, NoContent."""
    if conventions.image != XGBOOST_IMAGE:
        return lambda call: decode(call.body, call.content_type, layout)
    columns, noted = layout.columns or 0, count()

    def read(call: Invocation) -> Rows:
        if conventions.strict and media_type(call.content_type) != LIBSVM:
            rows = _read(call, replace(layout, columns=None))
            return _widened(rows, columns, pickled)
        try:
            return _read(call, layout)
        except BadInput as error:
            if media_type(call.content_type) != LIBSVM:
                raise
            rows = _one_more(call, layout, error)
        if not next(noted):
            log.warning(ONE_MORE, columns, columns - 1)
        return rows

    return read


def types(conventions: Conventions) -> Mapping[str, str]:
    """Content types of answers by their media type. Flask, which serves one model in that image, names the charset."""
    by_flask = conventions.image == XGBOOST_IMAGE and not conventions.multi_model
    return {CSV: with_charset(CSV)} if by_flask else {}


def _one_more(call: Invocation, layout: RowLayout, refused: BadInput) -> Rows:
    """Rows of one column more than the model has, without it. Raises `refused` for rows that have still more."""
    try:
        rows = _read(call, replace(layout, columns=(layout.columns or 0) + 1))
    except BadInput:
        raise refused from None
    return np.ascontiguousarray(rows[:, :-1])


def _read(call: Invocation, layout: RowLayout) -> Rows:
    if not call.body:
        raise NoContent
    try:
        return decode(call.body, call.content_type, layout)
    except BadInput as error:
        if error.is_read:
            raise
        raise UnsupportedContentType(
            f"Loading {call.content_type or 'csv'} data failed, please ensure the body is of its content type: {error}"
        ) from error


def _widened(rows: Rows, columns: int, pickled: bool) -> Rows:
    """Fill up short rows as AWS's container does: the columns that they lack are missing values.

    Of a booster that was pickled the container counts the columns first, and lets one too few pass.
    """
    width = rows.shape[1]
    if pickled and width not in (columns, columns - 1):
        raise BadInput.of_rows(
            f"Unable to evaluate payload provided: Feature size of csv inference data {width} is not consistent with "
            f"feature size of trained model {columns}."
        )
    if width >= columns:
        return rows  # XGBoost itself refuses more
    padded = np.full((len(rows), columns), nan, rows.dtype)
    padded[:, :width] = rows
    return padded
