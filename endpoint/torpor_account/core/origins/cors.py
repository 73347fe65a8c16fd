"""Evaluates a bucket's CORS configuration as S3 does: finds the rule that allows a page's request, and its headers.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/cors.html: "When Amazon S3 receives a preflight request from a
browser, it evaluates the CORS configuration for the bucket and uses the first CORSRule rule that matches the incoming
browser request to enable a cross-origin request."
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

METHODS = ("GET", "PUT", "POST", "DELETE", "HEAD")
"""The methods that a rule can allow. GET does not include HEAD."""

ANY = "*"
VARY = "Origin, Access-Control-Request-Headers, Access-Control-Request-Method"


@dataclass(frozen=True)
class CorsRule:
    """One rule. An origin or a header may have one `*`, which matches any characters or none."""

    origins: tuple[str, ...]
    methods: tuple[str, ...]
    headers: tuple[str, ...] = ()
    exposed: tuple[str, ...] = ()
    max_age_s: int | None = None


@dataclass(frozen=True)
class PageRequest:
    """What a web page requests. `headers` are those of a preflight, in upper or lower case."""

    origin: str
    method: str
    headers: tuple[str, ...] = ()


def permission(rules: Iterable[CorsRule], request: PageRequest) -> dict[str, str] | None:
    """The headers of the answer by the first matching rule; None if no rule matches, as for a request without origin.

    AWS: "The request's Origin header must match an AllowedOrigin element".
    """
    for rule in rules if request.origin else ():
        origin = _matching_origin(rule, request)
        if origin is not None:
            return _allowing(rule, origin, request)
    return None


def matches(pattern: str, text: str) -> bool:
    """Whether the text matches the pattern, in which one `*` matches any characters."""
    start, star, end = pattern.partition(ANY)
    if not star:
        return text == pattern
    return len(text) >= len(start) + len(end) and text.startswith(start) and text.endswith(end)


def header_names(text: str) -> tuple[str, ...]:
    """The names in a comma-separated header, in lower case."""
    return tuple(name for name in (part.strip().lower() for part in text.split(",")) if name)


def _matching_origin(rule: CorsRule, request: PageRequest) -> str | None:
    """The matching origin of the rule, if the rule also allows the method and all headers."""
    if request.method not in rule.methods or not _all_allowed(rule.headers, request.headers):
        return None
    return next((origin for origin in rule.origins if matches(origin, request.origin)), None)


def _all_allowed(allowed: Sequence[str], headers: Sequence[str]) -> bool:
    """AWS: "Each header in the Access-Control-Request-Headers header must match a corresponding entry in the rule"."""
    patterns = [pattern.lower() for pattern in allowed]
    return all(any(matches(pattern, name.lower()) for pattern in patterns) for name in headers)


def _allowing(rule: CorsRule, origin: str, request: PageRequest) -> dict[str, str]:
    """The headers of the answer. S3 names the origin and allows credentials, unless the rule is for all origins."""
    allowing = {
        "access-control-allow-origin": ANY if origin == ANY else request.origin,
        "access-control-allow-methods": ", ".join(rule.methods),
        "access-control-allow-headers": ", ".join(name.lower() for name in request.headers),
        "access-control-expose-headers": ", ".join(rule.exposed),
        "access-control-max-age": "" if rule.max_age_s is None else str(rule.max_age_s),
        "access-control-allow-credentials": "" if origin == ANY else "true",
        "vary": VARY,
    }
    return {name: value for name, value in allowing.items() if value}
