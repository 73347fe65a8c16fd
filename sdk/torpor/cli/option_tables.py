"""Makes the parameters of a command from a table of options, so that each option is written once."""

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any

import typer

from torpor_endpoint.options import PORT_MAX, Option
from torpor_endpoint.options import port as read_port

TYPES: Mapping[Any, Any] = {int: int, float: float, str: str, Path: Path, read_port: int}
"""By how a row reads its text: the type of its parameter."""


def takes(table: Sequence[Option], without: Sequence[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command of `**given` the parameters of this table: each has the name of its row's field. Hidden rows, and
    fields that are named, are left out."""
    found = {row.field: _parameter(row) for row in table if not row.hidden and row.field not in without}

    def taking(command: Callable[..., None]) -> Callable[..., None]:
        command.__signature__ = Signature(list(found.values()), return_annotation=None)  # type: ignore[attr-defined]
        command.__annotations__ = {name: one.annotation for name, one in found.items()} | {"return": None}
        return command

    return taking


def values(table: Sequence[Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a command's parameters, by the fields of the table: those that may be given often as tuples."""
    many = {row.field for row in table if row.many}
    return {name: tuple(value or ()) if name in many else value for name, value in given.items()}


def _parameter(row: Option) -> Parameter:
    """A keyword with the row's flag, type, default and meaning."""
    low, high = (0, PORT_MAX) if row.read is read_port else (None, None)
    option = typer.Option(row.flag, help=row.meaning, metavar=row.metavar, min=low, max=high)
    return Parameter(
        row.field,
        Parameter.KEYWORD_ONLY,
        default=None if row.many else row.default,
        annotation=Annotated[_type(row), option],
    )


def _type(row: Option) -> Any:
    if row.read is None:
        return bool
    kind: Any = TYPES[row.read]
    if row.many:
        return list[kind] | None
    return kind | None if row.default is None else kind
