"""S3's XML as it is read: bounded by the caller, without entities, without namespaces; no operation is known here."""

from typing import Final
from xml.etree import ElementTree

from torpor_endpoint.services.s3.errors import Refusal, S3Error

Element = ElementTree.Element

# What the parser stops at, and what makes it hold memory. Ten thousand parts with two checksums each, indented, have
# 190,000 of them.
_MARKS: Final = (b"<", b"=", b"&", b"\n", b"\r")
MARKS_MAX: Final = 400_000

_PIECE_BYTES: Final = 32 * 1024

# The parser waits for a tag's end before it takes up its attributes, all at once. Between two tags is a key at most.
_ATTRIBUTES_MAX: Final = 2_000


def parsed(body: bytes, *roots: str) -> Element:
    """The root of a document whose root is named as one of `roots`. A document type, hence an entity, is refused."""
    if b"<!DOCTYPE" in body or sum(map(body.count, _MARKS)) > MARKS_MAX:
        raise S3Error(Refusal.MalformedXML)
    try:
        tree = _tree(body)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise S3Error(Refusal.MalformedXML) from error
    for item in tree.iter():
        item.tag = item.tag.rpartition("}")[2]
    if tree.tag not in roots:
        raise S3Error(Refusal.MalformedXML)
    return tree


def _tree(body: bytes) -> Element:
    """Parsed piece by piece: between two pieces other threads run."""
    parser = ElementTree.XMLParser()
    attributes = 0
    for at in range(0, len(body), _PIECE_BYTES):
        piece = body[at : at + _PIECE_BYTES]
        tag_at = piece.rfind(b"<")
        attributes = piece.count(b"=", tag_at) if tag_at >= 0 else attributes + piece.count(b"=")
        if attributes > _ATTRIBUTES_MAX:
            raise S3Error(Refusal.MalformedXML)
        parser.feed(piece)
    tree: Element = parser.close()
    return tree


def required(parent: Element, name: str) -> str:
    value = parent.findtext(name)
    if value is None:
        raise S3Error(Refusal.MalformedXML)
    return value
