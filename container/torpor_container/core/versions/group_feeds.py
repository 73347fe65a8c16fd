"""Reads which names below a prefix have the approved packages of which groups as their versions. It reads no store."""

import re
from collections.abc import Mapping
from typing import Final

RULE: Final = "must be NAME=GROUP,NAME=GROUP…: each name once, and each group the name of a model package group"
GROUP: Final = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}")
NAME: Final = re.compile(r"[^\s/@=,][^@=,]*")


def group_feeds(text: str) -> Mapping[str, str]:
    """The group that feeds each name; empty for an empty text. Raises ValueError."""
    feeds: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        name, _, group = part.strip().partition("=")
        parts = name.split("/")
        if not NAME.fullmatch(name) or "" in parts or not {".", ".."}.isdisjoint(parts) or not name.isprintable():
            raise ValueError(RULE)
        if not GROUP.fullmatch(group) or name in feeds:
            raise ValueError(RULE)
        feeds[name] = group
    return feeds
