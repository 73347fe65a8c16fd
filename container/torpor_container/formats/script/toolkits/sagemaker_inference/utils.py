"""Small things of the toolkit's."""

import re
from collections.abc import Mapping

CONTENT_TYPE_REGEX = re.compile("^[Cc]ontent-?[Tt]ype")


def read_file(path: str, mode: str = "r") -> str:
    with open(path, mode) as file:
        return str(file.read())


def write_file(path: str, data: str, mode: str = "w") -> None:
    with open(path, mode) as file:
        file.write(data)


def retrieve_content_type_header(request_property: Mapping[str, str]) -> str | None:
    return next((value for name, value in request_property.items() if CONTENT_TYPE_REGEX.match(name)), None)


def parse_accept(accept: str) -> list[str]:
    return accept.replace(" ", "").split(",")


def remove_crlf(illegal_string: str) -> str:
    return illegal_string.replace("\r", " ").replace("\n", " ")
