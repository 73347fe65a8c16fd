"""S3's XML as it is read: bounded by the caller, without entities, without namespaces; no operation is known here."""

from xml.etree import ElementTree

from torpor_endpoint.s3.errors import Refusal, S3Error

Element = ElementTree.Element


def parsed(body: bytes, *roots: str) -> Element:
    """The root of a document whose root is named as one of `roots`. A document type, hence an entity, is refused."""
    if b"<!DOCTYPE" in body:
        raise S3Error(Refusal.MalformedXML)
    try:
        tree = ElementTree.fromstring(body)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise S3Error(Refusal.MalformedXML) from error
    for item in tree.iter():
        item.tag = item.tag.rpartition("}")[2]
    if tree.tag not in roots:
        raise S3Error(Refusal.MalformedXML)
    return tree


def required(parent: Element, name: str) -> str:
    value = parent.findtext(name)
    if value is None:
        raise S3Error(Refusal.MalformedXML)
    return value
