"""Unpacks response objects of scripts, Flask's or the toolkit's, to a body, a type and a status.

The older toolkit of AWS's scikit-learn and XGBoost images has `worker.Response`, which is Flask's.
"""

from typing import Any

from torpor_container.formats.script.context import Context
from torpor_container.wire import CUSTOM_ATTRIBUTES

MEMBERS = ("get_data", "content_type", "status_code", "headers")


def unwrapped(result: Any, context: Context) -> Any:
    """`(body, content type)` of a response; sets its status and custom attributes in the context. Any other result is
    returned unchanged."""
    if not all(hasattr(result, member) for member in MEMBERS):
        return result
    context.set_response_status(result.status_code)
    if attributes := result.headers.get(CUSTOM_ATTRIBUTES):
        context.set_response_header(0, CUSTOM_ATTRIBUTES, attributes)
    return result.get_data(), result.content_type
