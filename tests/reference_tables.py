"""The tables of the pages in docs/, made from the code's own tables. `make reference` writes them into the pages."""

import inspect
import re
from collections.abc import Iterable
from pathlib import Path

from typer.core import TyperArgument, TyperOption
from typer.main import get_group

import torpor
from torpor.cli import app
from torpor_container.formats.script.environment import VARIABLES as SCRIPTS
from torpor_container.formats.script.toolkits import NAMES, parts
from torpor_container.image.variables import VARIABLES
from torpor_container.processes.inherited_variables import INHERITED
from torpor_container.settings import SETTINGS
from torpor_container.wire import Fault
from torpor_endpoint.aws.errors import error_kinds
from torpor_endpoint.compatibility import FACES, MOTO_ALONE, Face
from torpor_endpoint.metrics.metrics import METRICS
from torpor_endpoint.metrics.prometheus import KINDS, exposed
from torpor_endpoint.options import OPTIONS
from torpor_endpoint.services.runtime.errors import FAULTS, Situation
from torpor_endpoint.services.sagemaker import errors as control_faults

PAGES = sorted((Path(__file__).parent.parent / "docs").rglob("*.md"))
TABLE = re.compile(r"<!-- table: ([a-z-]+) -->\n.*?<!-- end -->", re.DOTALL)


def table(heads: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def code(text: object) -> str:
    return f"`{text}`" if text not in (None, "", ()) else ""


def worded(situation: Situation) -> str:
    return situation.name.lower().replace("_", " ")


def settings() -> str:
    return table(
        ("variable", "default", "meaning"),
        ((code(row.variable), code(row.default), row.meaning) for row in SETTINGS),
    )


def options() -> str:
    return table(
        ("option", "default", "meaning"),
        ((code(row.flag), code(row.default), row.meaning) for row in OPTIONS),
    )


def errors() -> str:
    return table(
        ("situation", "code", "status", "message"),
        ((worded(item), code(item.code), item.status, item.text or "(none)") for item in Situation),
    )


def faults() -> str:
    default = "model server: `ModelError` with the container's status"
    rows = ((code(fault.value), worded(FAULTS[fault]) if fault in FAULTS else default) for fault in Fault)
    return table(("fault of the instance", "situation"), rows)


def control_errors() -> str:
    rows = ((kind.situation, code(kind.code), kind.status, kind.text) for kind in error_kinds(control_faults))
    return table(("situation", "code", "status", "message"), rows)


def metrics() -> str:
    return table(
        ("metric", "namespace", "unit", "meaning", "Prometheus", "type"),
        (
            (code(row.name), code(row.namespace), row.unit, row.meaning, code(exposed(row)), KINDS[row.shown])
            for row in METRICS
        ),
    )


def operations() -> str:
    """A table for each service."""
    return "\n\n".join(map(_face, FACES))


def _face(face: Face) -> str:
    rows = ((code(name), face.differences.get(name, "")) for name in face.operations)
    shown = table(("operation", "what differs from AWS"), rows)
    return f"### {face.service}\n\n{len(face.operations)} operations; the others are {face.rest}.\n\n{shown}"


def moto_alone() -> str:
    return ", ".join(map(code, MOTO_ALONE))


def variables() -> str:
    rows = ((code(row.name), row.read_by, row.effect.value, row.meaning, row.instead) for row in VARIABLES)
    return table(("variable", "read by", "here", "what it sets", "instead"), rows)


def inherited() -> str:
    return table(("variables", "for"), ((", ".join(map(code, row.names)), row.why) for row in INHERITED))


def script_variables() -> str:
    return table(("variable", "value"), ((code(row.name), row.meaning) for row in SCRIPTS))


def toolkits() -> str:
    return table(("import", "modules"), ((code(name), ", ".join(map(code, parts(name)))) for name in NAMES))


def command_line() -> str:
    """A section for each command of `torpor`, from the texts of its `--help`."""
    sections = []
    for name, command in get_group(app).commands.items():
        rows = [
            (_spelled(parameter), code(parameter.default) if _has_default(parameter) else "", _meaning(parameter))
            for parameter in command.params
            if isinstance(parameter, TyperArgument | TyperOption) and not parameter.hidden
        ]
        shown = table(("argument, option", "default", "meaning"), rows) if rows else "It takes no options."
        sections.append(f"## torpor {name}\n\n{inspect.cleandoc(command.help or '')}\n\n{shown}")
    return "\n\n".join(sections)


def _spelled(parameter: TyperArgument | TyperOption) -> str:
    if isinstance(parameter, TyperArgument):
        return code((parameter.name or "").upper()) + ("" if parameter.required else ", may be left out")
    return ", ".join(code(name) for name in (*parameter.opts, *parameter.secondary_opts))


def _has_default(parameter: TyperArgument | TyperOption) -> bool:
    return isinstance(parameter.default, str | int | float | Path) and not isinstance(parameter.default, bool)


def _meaning(parameter: TyperArgument | TyperOption) -> str:
    variable = f" The variable {code(parameter.envvar)} gives it too." if parameter.envvar else ""
    return (parameter.help or "") + variable


def public_names() -> str:
    """A row for each public name of `torpor`, and a comment that the site replaces by its whole documentation."""
    names = [name for name in torpor.__all__ if not name.startswith("_")]
    rows = ((code(f"torpor.{name}"), _first_sentence(getattr(torpor, name))) for name in sorted(names, key=str.lower))
    return table(("name", "what it is"), rows)


def documented() -> str:
    return "\n\n".join(
        f"<!-- api: torpor.{name} -->" for name in sorted(torpor.__all__, key=str.lower) if name[0] != "_"
    )


def _first_sentence(public: object) -> str:
    text = " ".join((inspect.getdoc(public) or "").split())
    return re.split(r"(?<=\.) (?=[A-Z`])", text)[0]


TABLES = {
    "command-line": command_line,
    "public-names": public_names,
    "documented": documented,
    "variables": variables,
    "inherited": inherited,
    "script-variables": script_variables,
    "toolkits": toolkits,
    "settings": settings,
    "options": options,
    "errors": errors,
    "faults": faults,
    "control-errors": control_errors,
    "metrics": metrics,
    "operations": operations,
    "moto-alone": moto_alone,
}


def with_tables(text: str) -> str:
    """Returns the text of a page with each table as the code has it now."""
    return TABLE.sub(lambda found: f"<!-- table: {found[1]} -->\n{TABLES[found[1]]()}\n<!-- end -->", text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(with_tables(page.read_text()))
