"""The tables of the pages in docs/, made from the code's own tables. `make reference` writes them into the pages."""

import errno
import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from typer.main import get_group

import torpor
from torpor.cli import app
from torpor.cli.exit_codes import MEANINGS, ExitCode
from torpor.cli.json_records import OUTPUTS, keys
from torpor.conformance.container import UseCase
from torpor.conformance.limits import ContractLimits
from torpor.conformance.protocols import PROTOCOL_MODULES, PROTOCOL_RULES
from torpor.conformance.rule import Rule
from torpor.conformance.rules import MODULES, RULES
from torpor_account.aws.errors import error_kinds
from torpor_account.aws.service_models import service_model
from torpor_account.core.access.condition_keys import CONDITION_KEYS
from torpor_account.core.outages.error_owners import FOLLOWS, ErrorSource
from torpor_account.core.outages.error_owners import TABLE as OWNED
from torpor_account.log_lines import FIELDS
from torpor_account.metrics.metrics import METRICS, OF_DEPLOYMENT, Metric
from torpor_account.metrics.prometheus import KINDS, exposed
from torpor_container.formats.script.aws_variables import VARIABLES as SCRIPTS
from torpor_container.formats.script.toolkits import NAMES, parts
from torpor_container.image.variables import VARIABLES
from torpor_container.processes.inherited_variables import INHERITED
from torpor_container.settings import SETTINGS
from torpor_container.wire import Fault
from torpor_endpoint.compatibility import FACES, MOTO_ALONE, Face
from torpor_endpoint.core.left_out.empty_lists import EMPTY_LISTS
from torpor_endpoint.core.left_out.substitutes import substitute
from torpor_endpoint.core.testing import fault_schedule as injected_faults
from torpor_endpoint.options import OPTIONS
from torpor_endpoint.runtime.errors import FAULTS, Situation
from torpor_endpoint.services.sagemaker import errors as control_faults
from torpor_endpoint.services.sagemaker.components.differences import WHY_KEPT
from torpor_endpoint.telemetry.otlp_metrics import otlp_name

PAGES = sorted((Path(__file__).parent.parent / "docs").rglob("*.md"))
TABLE = re.compile(r"<!-- table: ([a-z0-9-]+) -->\n.*?<!-- end -->", re.DOTALL)


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
    """Those of `torpor up`, in its own words."""
    taken = {flag: one for one in get_group(app).commands["up"].params for flag in one.opts}
    rows = ((row, _meaning(taken[row.flag])) for row in OPTIONS if row.flag in taken)
    return table(
        ("option", "default", "meaning"), ((code(row.flag), code(row.default), meaning) for row, meaning in rows)
    )


def options_of_programs() -> str:
    """Those that only `python -m torpor_endpoint` takes."""
    taken = {flag for one in get_group(app).commands["up"].params for flag in one.opts}
    return table(("option", "meaning"), ((code(row.flag), row.meaning) for row in OPTIONS if row.flag not in taken))


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


def error_owners() -> str:
    rows = (
        (row.source.value, ", ".join(_named(row.source, value) for value in row.values), row.owner.value, row.why)
        for row in OWNED
    )
    return table(("from", "error", "whose", "why"), rows)


def _named(source: ErrorSource, value: int | str) -> str:
    """The errors of the system have names."""
    return code(errno.errorcode[int(value)] if source is ErrorSource.SYSTEM else value)


def error_consequences() -> str:
    return table(("whose", "what follows"), ((owner.value, text) for owner, text in FOLLOWS.items()))


def metrics() -> str:
    return table(
        ("metric", "namespace", "unit", "meaning", "Prometheus", "type", "OpenTelemetry"),
        (
            (code(row.name), code(row.namespace), row.unit, row.meaning, *_elsewhere(row), code(otlp_name(row)))
            for row in METRICS
        ),
    )


def deployment_metrics() -> str:
    return ", ".join(code(metric.name) for metric in OF_DEPLOYMENT)


def _elsewhere(metric: Metric) -> tuple[str, str]:
    """Its name and type on the page for Prometheus."""
    return code(exposed(metric)), KINDS[metric.shown]


def operations() -> str:
    """A table for each service."""
    return "\n\n".join(map(_face, FACES))


def _face(face: Face) -> str:
    rows = ((code(name), face.differences.get(name, "")) for name in face.operations)
    shown = table(("operation", "what differs from AWS"), rows)
    return f"### {face.service}\n\n{len(face.operations)} operations; the others are {face.rest}.\n\n{shown}"


def every_sagemaker_operation() -> str:
    """A row for each operation of botocore's model, also for those that are refused."""
    (face,) = (face for face in FACES if face.service == "sagemaker")
    names = service_model("sagemaker").operation_names
    rows = [(code(name), *_here(name, face)) for name in names]
    counts = Counter(here for _, here, _ in rows)
    told = ", ".join(f"{count} {here}" for here, count in sorted(counts.items()))
    return f"{len(names)} operations: {told}.\n\n{table(('operation', 'here', 'what to use'), rows)}"


def _here(operation: str, face: Face) -> tuple[str, str]:
    if operation not in face.operations:
        return "refused", substitute(operation)
    if operation in EMPTY_LISTS and face.differences.get(operation, "").endswith(substitute(operation)):
        return "empty list", substitute(operation)
    return "carried out", ""


def without_effect() -> str:
    kept = {operation: members for face in FACES for operation, members in face.without_effect.items()}
    rows = ((code(operation), ", ".join(map(code, members))) for operation, members in kept.items())
    return table(("operation", "members"), rows)


def why_without_effect() -> str:
    return table(("member of inference components", "why it changes nothing"), sorted(map(_coded, WHY_KEPT.items())))


def _coded(row: tuple[str, str]) -> tuple[str, str]:
    return code(row[0]), row[1]


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


def conformance_rules() -> str:
    """A table for each group of rules."""
    return _grouped(MODULES, RULES)


def conformance_protocols() -> str:
    """The same of other protocols."""
    return _grouped(PROTOCOL_MODULES, PROTOCOL_RULES)


def _grouped(modules: Iterable[ModuleType], rules: Sequence[Rule]) -> str:
    groups = {module.__name__.rpartition(".")[2]: module.__doc__ or "" for module in modules}
    return "\n\n".join(_rules(group, about, rules) for group, about in groups.items())


def _rules(group: str, about: str, rules: Sequence[Rule]) -> str:
    rows = (
        (code(rule.id), rule.level.value, _uses(rule), f"{rule.says} ({_source(rule)})", rule.mend)
        for rule in rules
        if rule.group == group
    )
    shown = table(("rule", "level", "for", "what the source says", "how to mend it"), rows)
    return f"### {group.replace('_', ' ').capitalize()}\n\n{about.strip()}\n\n{shown}"


def _uses(rule: Rule) -> str:
    command = "; with a command" if rule.needs_command else ""
    return ", ".join(use.value for use in UseCase if use in rule.uses) + command


def _source(rule: Rule) -> str:
    return f"[{rule.source.label}]({rule.source.url})" if rule.source.url else rule.source.label


def conformance_limits() -> str:
    return table(("limit", "value"), ((code(name), f"{value:,}") for name, value in vars(ContractLimits()).items()))


def injected() -> str:
    """The kinds of faults that a test has strike."""
    return table(
        ("fault", "strikes", "what happens", "`seconds`"),
        ((code(kind), row.occasion, row.meaning, code(row.seconds)) for kind, row in injected_faults.KINDS.items()),
    )


def exit_codes() -> str:
    return table(("code", "name", "meaning"), ((code.value, code.name, MEANINGS[code]) for code in ExitCode))


def commands() -> str:
    """A part for each command: its help, its usage, and its arguments and options."""
    return "\n\n".join(_command(name, command) for name, command in _all_commands("", get_group(app)))


def _all_commands(above: str, group: Any) -> Iterator[tuple[str, Any]]:
    """Every command with its name, those of a group too."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _all_commands(f"{above}{name} ", command)
        else:
            yield f"{above}{name}", command


def _command(name: str, command: Any) -> str:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    needed = [f"{one.opts[0]} {_value(one)}" for one in command.params if one.required and one not in arguments]
    usage = " ".join([*map(_argument, arguments), *needed])
    options = [(_names(one), code(_default(one)), _meaning(one)) for one in command.params if one.name != "help"]
    shown = f"\n\n{table(('argument or option', 'default', 'meaning'), options)}" if options else ""
    text = " ".join((command.help or "").split())
    return f"### `{' '.join(part for part in ('torpor', name, usage) if part)}`\n\n{text}{shown}"


def _argument(argument: Any) -> str:
    shown = argument.metavar or argument.name.upper()
    return shown if argument.required or shown.startswith("[") else f"[{shown}]"


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return code(_argument(parameter))
    value = "" if getattr(parameter, "is_flag", False) else f" {_value(parameter)}"
    return ", ".join(f"`{one}{value}`" for one in (*parameter.opts, *parameter.secondary_opts))


def _value(parameter: Any) -> str:
    return str(parameter.metavar or "VALUE")


def _default(parameter: Any) -> object:
    if parameter.secondary_opts:
        return (parameter.opts if parameter.default else parameter.secondary_opts)[0]
    default = parameter.default
    found = getattr(default, "value", default)
    return "" if callable(found) or found in (None, False, ()) or parameter.required else str(found)


def _meaning(parameter: Any) -> str:
    return " ".join((parameter.help or "").split())


def json_keys() -> str:
    """A table for each command."""
    return "\n\n".join(_keys(name, record) for name, record in OUTPUTS.items())


def _keys(name: str, record: type) -> str:
    rows = ((code(key), kind) for key, kind in keys(record))
    return f"### `torpor {name} --json`\n\n{table(('key', 'value'), rows)}"


def log_fields() -> str:
    return table(("field", "meaning"), ((code(name), meaning) for name, meaning in FIELDS.items()))


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


def condition_keys(service: str) -> str:
    """Keys of one service. Those with one meaning share a row."""
    rows: dict[tuple[str, str], list[str]] = {}
    for key in CONDITION_KEYS:
        if key.name.partition(":")[0] == service:
            name = f"{key.name}…" if key.is_beginning else key.name
            rows.setdefault((key.presence.value, key.meaning), []).append(code(name))
    return table(
        ("key", "here", "value, or why there is none"),
        ((", ".join(names), here, meaning) for (here, meaning), names in rows.items()),
    )


TABLES: dict[str, Callable[[], str]] = {
    **{
        f"condition-keys-of-{service}": partial(condition_keys, service)
        for service in {key.name.partition(":")[0] for key in CONDITION_KEYS}
    },
    "conformance-rules": conformance_rules,
    "conformance-protocols": conformance_protocols,
    "conformance-limits": conformance_limits,
    "exit-codes": exit_codes,
    "commands": commands,
    "json-keys": json_keys,
    "public-names": public_names,
    "documented": documented,
    "variables": variables,
    "inherited": inherited,
    "script-variables": script_variables,
    "toolkits": toolkits,
    "settings": settings,
    "options": options,
    "options-of-programs": options_of_programs,
    "log-fields": log_fields,
    "errors": errors,
    "faults": faults,
    "injected-faults": injected,
    "control-errors": control_errors,
    "error-owners": error_owners,
    "error-consequences": error_consequences,
    "metrics": metrics,
    "deployment-metrics": deployment_metrics,
    "operations": operations,
    "every-sagemaker-operation": every_sagemaker_operation,
    "moto-alone": moto_alone,
    "without-effect": without_effect,
    "why-without-effect": why_without_effect,
}


def with_tables(text: str) -> str:
    """Returns the text of a page with each table as the code has it now."""
    return TABLE.sub(lambda found: f"<!-- table: {found[1]} -->\n{TABLES[found[1]]()}\n<!-- end -->", text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(with_tables(page.read_text()))
