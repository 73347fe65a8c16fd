"""Holds S3's XML documents against botocore's service model: S3 refuses one that breaks its schema as MalformedXML."""

from functools import cache
from typing import Final

from torpor_account.aws.service_models import Shape, service_model
from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.wire.parsing import Element

_XSI: Final = "{http://www.w3.org/2001/XMLSchema-instance}"
_BOOLEANS: Final = ("true", "false", "1", "0")
"""As XML has them; a letter may be large, as in AWS's own examples."""


@cache
def document_shape(operation: str) -> Shape:
    """The shape of the document that an operation takes. Call it in a thread: the first call reads the model."""
    shape = service_model("s3").operation_model(operation).input_shape
    return shape.members[shape.serialization["payload"]]


def check_schema(tree: Element, shape: Shape) -> None:
    """Raises MalformedXML for an element that is required and missing, and for a text that its type does not have."""
    for name, member in shape.members.items():
        found = _parts(tree, name, member)
        if not found and name in shape.required_members:
            raise S3Error(Refusal.MalformedXML)
        item = member.member if member.type_name == "list" else member
        for part in found:
            if isinstance(part, str):
                _check_text(part, item)
            elif item.type_name == "structure":
                check_schema(part, item)
            else:
                _check_text(part.text or "", item)


def _parts(tree: Element, name: str, member: Shape) -> list[Element | str]:
    """The elements of a member, those of a list's items, or the text of an attribute."""
    called = member.serialization.get("name", name)
    if member.serialization.get("xmlAttribute"):
        text = tree.get(called.replace("xsi:", _XSI))
        return [] if text is None else [text]
    if member.type_name != "list":
        return list(tree.findall(called))
    item = member.member.serialization.get("name", "member")
    if member.serialization.get("flattened"):
        return list(tree.findall(member.serialization.get("name", item)))
    return [part for outer in tree.findall(called) for part in outer.findall(item)]


def _check_text(text: str, shape: Shape) -> None:
    enum = shape.metadata.get("enum")
    fits = (enum is None or text in enum) and len(text) >= shape.metadata.get("min", 0)
    if shape.type_name == "integer":
        fits = text.strip().lstrip("+-").isdecimal()
    elif shape.type_name == "boolean":
        fits = text.strip().lower() in _BOOLEANS
    if not fits:
        raise S3Error(Refusal.MalformedXML)
