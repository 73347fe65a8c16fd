"""A bucket's CORS configuration as S3 evaluates it: which request of a page a rule allows, and what the answer says.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/cors.html: "When Amazon S3 receives a preflight request from a
browser, it evaluates the CORS configuration for the bucket and uses the first CORSRule rule that matches the incoming
browser request to enable a cross-origin request."
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

METHODS = ("GET", "PUT", "POST", "DELETE", "HEAD")
"""What a rule can allow. HEAD is not part of GET."""

ANY = "*"
VARY = "Origin, Access-Control-Request-Headers, Access-Control-Request-Method"


@dataclass(frozen=True)
class CorsRule:
    """One rule. An origin and a header may have one `*`, which stands for any characters or none."""

    origins: tuple[str, ...]
    methods: tuple[str, ...]
    headers: tuple[str, ...] = ()
    exposed: tuple[str, ...] = ()
    max_age_s: int | None = None


@dataclass(frozen=True)
class PageRequest:
    """What a page wants to do. `headers` are those that a preflight asks for, in any case."""

    origin: str
    method: str
    headers: tuple[str, ...] = ()


def permission(rules: Iterable[CorsRule], asked: PageRequest) -> dict[str, str] | None:
    """The headers with which the first rule that matches answers; None where none does, as for a request without an
    origin: AWS: "The request's Origin header must match an AllowedOrigin element"."""
    for rule in rules if asked.origin else ():
        origin = _matching_origin(rule, asked)
        if origin is not None:
            return _told(rule, origin, asked)
    return None


def matches(pattern: str, text: str) -> bool:
    """Whether the text is the pattern, of which one `*` may stand for any characters."""
    start, star, end = pattern.partition(ANY)
    if not star:
        return text == pattern
    return len(text) >= len(start) + len(end) and text.startswith(start) and text.endswith(end)


def header_names(text: str) -> tuple[str, ...]:
    """The names in a header that lists some by commas."""
    return tuple(name for name in (part.strip().lower() for part in text.split(",")) if name)


def _matching_origin(rule: CorsRule, asked: PageRequest) -> str | None:
    """The rule's origin that matches, if all of the rule does."""
    if asked.method not in rule.methods or not _all_allowed(rule.headers, asked.headers):
        return None
    return next((origin for origin in rule.origins if matches(origin, asked.origin)), None)


def _all_allowed(allowed: Sequence[str], headers: Sequence[str]) -> bool:
    """AWS: "Each header in the Access-Control-Request-Headers header must match a corresponding entry in the rule"."""
    patterns = [pattern.lower() for pattern in allowed]
    return all(any(matches(pattern, name.lower()) for pattern in patterns) for name in headers)


def _told(rule: CorsRule, origin: str, asked: PageRequest) -> dict[str, str]:
    """S3 names the origin, and allows credentials, unless the rule is for all origins."""
    told = {
        "access-control-allow-origin": ANY if origin == ANY else asked.origin,
        "access-control-allow-methods": ", ".join(rule.methods),
        "access-control-allow-headers": ", ".join(name.lower() for name in asked.headers),
        "access-control-expose-headers": ", ".join(rule.exposed),
        "access-control-max-age": "" if rule.max_age_s is None else str(rule.max_age_s),
        "access-control-allow-credentials": "" if origin == ANY else "true",
        "vary": VARY,
    }
    return {name: value for name, value in told.items() if value}
