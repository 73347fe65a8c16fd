"""Unpacks response objects of scripts, Flask's or the toolkit's, to a body, a type and a status.

The older toolkit of AWS's scikit-learn and XGBoost images has a `Response` in `beta.framework.worker`: it is Flask's.
"""

from typing import Any

from torpor_container.formats.script.handler_context import Context
from torpor_container.wire import CUSTOM_ATTRIBUTES, SESSION_ANSWERS

MEMBERS = ("get_data", "content_type", "status_code", "headers")


def unwrapped(result: Any, context: Context) -> Any:
    """`(body, content type)` of a response; sets its status, custom attributes and session headers in the context. Any
    other result is returned unchanged."""
    if not all(hasattr(result, member) for member in MEMBERS):
        return result
    context.set_response_status(result.status_code)
    for name in (CUSTOM_ATTRIBUTES, *SESSION_ANSWERS):
        if value := result.headers.get(name):
            context.set_response_header(0, name, value)
    return result.get_data(), result.content_type
