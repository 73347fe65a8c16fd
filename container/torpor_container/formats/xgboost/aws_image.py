"""Reads rows as AWS's XGBoost image does, if TORPOR_IMAGE names it.

sagemaker-xgboost-container answers 204 to a body of no bytes, 415 to one that it cannot read as its content type says,
and 400 where the model does not take the rows. Its libsvm counts columns from 0.
"""

from collections.abc import Callable
from dataclasses import replace
from math import nan

import numpy as np

from torpor_container.content import RowLayout, Rows, decode
from torpor_container.content.media import LIBSVM, media_type
from torpor_container.errors import BadInput, NoContent, UnsupportedContentType
from torpor_container.formats.format import Conventions
from torpor_container.image.aws_images import XGBOOST_IMAGE
from torpor_container.invocation import Invocation


def reader(layout: RowLayout, conventions: Conventions, pickled: bool) -> Callable[[Invocation], Rows]:
    """Reads a body to rows. Raises BadInput, UnsupportedContentType and, for AWS's image, NoContent."""
    if conventions.image != XGBOOST_IMAGE:
        return lambda call: decode(call.body, call.content_type, layout)
    if not conventions.strict:
        return lambda call: _read(call, layout)
    loose = replace(layout, columns=None)
    return lambda call: _widened(_read(call, loose), call.content_type, layout.columns or 0, pickled)


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


def _widened(rows: Rows, content_type: str, columns: int, pickled: bool) -> Rows:
    """Fill up short rows as AWS's container does: the columns that they lack are missing values.

    Of a booster that was pickled the container counts the columns first, and lets one too few pass, or any in libsvm.
    """
    width = rows.shape[1]
    sparse = media_type(content_type) == LIBSVM
    if pickled and not sparse and width not in (columns, columns - 1):
        raise BadInput.of_rows(
            f"Unable to evaluate payload provided: Feature size of csv inference data {width} is not consistent with "
            f"feature size of trained model {columns}."
        )
    if width >= columns:
        return rows  # XGBoost itself refuses more
    padded = np.full((len(rows), columns), nan, rows.dtype)
    padded[:, :width] = rows
    return padded
