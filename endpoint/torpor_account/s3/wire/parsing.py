"""Reads S3's XML, without entities and namespaces. Callers bound its size. It knows no operation."""

from typing import Final
from xml.etree import ElementTree

from torpor_account.s3.errors import Refusal, S3Error

Element = ElementTree.Element

# The characters that cost the parser time and memory. Ten thousand indented parts with two checksums each have
# 190,000 of them.
_MARKS: Final = (b"<", b"=", b"&", b"\n", b"\r")
MARKS_MAX: Final = 400_000

_PIECE_BYTES: Final = 32 * 1024

# The parser reads all attributes of a tag at once, at the end of the tag. Between two tags there is at most one key.
_ATTRIBUTES_MAX: Final = 2_000


def parsed(body: bytes, *roots: str) -> Element:
    """The root of a document, which must have one of the names `roots`. Raises MalformedXML, also for a document type,
    which could define entities."""
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
    """Parse the document piece by piece, so that other threads run in between."""
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
