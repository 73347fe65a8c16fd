"""Reads `--instances-on` where it names Ray: `ray`, or `ray://HOST:PORT`. It does no I/O."""

from urllib.parse import urlsplit

RAY = "ray"
PREFIX = "ray://"


def names_ray(text: str) -> bool:
    """Whether the option's text means Ray, be it right or wrong."""
    return text == RAY or text.startswith(PREFIX)


def address_of(text: str) -> str | None:
    """Ray's own spelling of the cluster: `auto` for the one that Ray finds, as by RAY_ADDRESS; or the address of a
    Ray Client server. None for a text that is neither."""
    if text == RAY:
        return "auto"
    try:
        parts = urlsplit(text)
        whole = parts.hostname and parts.port and f"{PREFIX}{parts.netloc}" == text.rstrip("/")
    except ValueError:  # a port that is no number
        return None
    return text.rstrip("/") if whole and "@" not in parts.netloc else None
