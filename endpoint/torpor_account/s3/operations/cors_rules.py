"""Reads a bucket's CORS configuration from its document, as strictly as S3 does. Pure."""

from typing import Final

from torpor_account.core.origins.cors import ANY, METHODS, CorsRule
from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.wire.parsing import Element

RULES_MAX: Final = 100  # AWS: "You can add up to 100 rules to the configuration."
ID_MAX: Final = 255  # AWS: "The value cannot be longer than 255 characters."

_MAX_AGE_DIGITS: Final = 10


def cors_rules(tree: Element) -> tuple[CorsRule, ...]:
    """The rules in the document. Raises MalformedXML, and InvalidRequest with S3's own texts."""
    rules = tree.findall("CORSRule")
    if len(rules) > RULES_MAX:
        raise _invalid(f"The number of CORS rules should not exceed allowed limit of {RULES_MAX} rules.")
    return tuple(map(_rule, rules))


def _rule(node: Element) -> CorsRule:
    origins, methods, headers = (_texts(node, name) for name in ("AllowedOrigin", "AllowedMethod", "AllowedHeader"))
    exposed = _texts(node, "ExposeHeader")
    if not origins or not methods or len(node.findtext("ID") or "") > ID_MAX:
        raise S3Error(Refusal.MalformedXML)
    for method in methods:
        if method not in METHODS:
            raise _invalid(f"Found unsupported HTTP method in CORS config. Unsupported method is {method}")
    for name, values in (("AllowedOrigin", origins), ("AllowedHeader", headers)):
        for value in values:
            if value.count(ANY) > 1:
                raise _invalid(f'{name} "{value}" can not have more than one wildcard.')
    for value in exposed:
        if ANY in value:
            text = f'ExposeHeader "{value}" contains wildcard. We currently do not support wildcard for ExposeHeader.'
            raise _invalid(text)
    return CorsRule(origins, methods, headers, exposed, _max_age_s(node))


def _texts(node: Element, name: str) -> tuple[str, ...]:
    """The texts of the elements of this name. Raises MalformedXML for a text that no header can hold."""
    texts = tuple((found.text or "").strip() for found in node.findall(name))
    if not all(text.isascii() and text.isprintable() for text in texts):
        raise S3Error(Refusal.MalformedXML)
    return texts


def _max_age_s(node: Element) -> int | None:
    text = (node.findtext("MaxAgeSeconds") or "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= _MAX_AGE_DIGITS):
        raise S3Error(Refusal.MalformedXML)
    return int(text)


def _invalid(text: str) -> S3Error:
    return S3Error(Refusal.InvalidRequest, text)
