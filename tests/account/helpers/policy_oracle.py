"""Policies evaluated slowly, straight from their JSON, by AWS's sentences: an oracle for the real evaluator.

It shares no code with it. A context has lists of texts by key in lower case.
"""

import base64
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from ipaddress import ip_address, ip_network
from typing import Any

Context = Mapping[str, Sequence[str]]


def allowed(
    caller: Mapping[str, Any], action: str, resource: str, context: Context, bucket: Mapping[str, Any] | None = None
) -> bool:
    """`caller` has `arn`, `role`, `account`, and documents: `identity` (a list), `boundary` and `session` or None."""
    own = [*caller["identity"], *filter(None, (caller["boundary"], caller["session"]))]
    if any(_any(document, "Deny", action, resource, context) for document in own):
        return False
    names = _bucket_names(caller, bucket, action, resource, context)
    if "deny" in names:
        return False
    if "self" in names:
        return True
    if not ("other" in names or any(_any(one, "Allow", action, resource, context) for one in caller["identity"])):
        return False
    limits = [one for one in (caller["boundary"], caller["session"]) if one is not None]
    return all(_any(limit, "Allow", action, resource, context) for limit in limits)


def _bucket_names(caller: Any, bucket: Any, action: str, resource: str, context: Context) -> set[str]:
    found = set()
    for statement in [] if bucket is None else _list(bucket["Statement"]):
        speaks = _speaks(statement, caller)
        if speaks and _applies(bucket, statement, action, resource, context):
            found.add("deny" if statement["Effect"] == "Deny" else speaks)
    return found - {"account"}


def _speaks(statement: Any, caller: Any) -> str | None:
    negated = "NotPrincipal" in statement
    given = statement["NotPrincipal" if negated else "Principal"]
    named = ["*"] if given == "*" else _list(given.get("AWS", []))
    if negated:
        return None if {"*", caller["arn"], caller["role"]} & set(named) else "other"
    if caller["arn"] in named:
        return "self"
    if caller["role"] in named or "*" in named:
        return "other"
    account = caller["account"]
    return "account" if {account, f"arn:aws:iam::{account}:root"} & set(named) else None


def _any(document: Any, effect: str, action: str, resource: str, context: Context) -> bool:
    statements = [one for one in _list(document["Statement"]) if one["Effect"] == effect]
    return any(_applies(document, one, action, resource, context) for one in statements)


def _applies(document: Any, statement: Any, action: str, resource: str, context: Context) -> bool:
    new = document.get("Version") == "2012-10-17"
    if "Action" in statement:
        acts = any(_glob(one, action, {}, False, re.IGNORECASE) for one in _list(statement["Action"]))
    else:
        acts = not any(_glob(one, action, {}, False, re.IGNORECASE) for one in _list(statement["NotAction"]))
    if "Resource" in statement:
        on = any(_glob(one, resource, context, new) for one in _list(statement["Resource"]))
    else:
        on = not any(_glob(one, resource, context, new) for one in _list(statement["NotResource"]))
    block = statement.get("Condition", {})
    tests = [(operator, key, _list(values)) for operator, keys in block.items() for key, values in keys.items()]
    return acts and on and all(_holds(*one, context, new) for one in tests)


def _holds(operator: str, key: str, values: list[Any], context: Context, new: bool) -> bool:
    texts = [str(one).lower() if isinstance(one, bool) else str(one) for one in values]
    given = context.get(key.lower())
    if operator == "Null":
        return any((given is None) == (text == "true") for text in texts)
    qualifier, _, name = operator.rpartition(":")
    if_exists, name = name.endswith("IfExists"), name.removesuffix("IfExists")
    negated = "Not" in name
    if given is None:
        if if_exists or qualifier == "ForAllValues":
            return True
        return negated and not qualifier
    matches = [any(_match(name.replace("Not", ""), text, one, context, new) for text in texts) for one in given]
    outcomes = [found != negated for found in matches]
    if qualifier == "ForAllValues":
        return all(outcomes)
    if qualifier == "ForAnyValue":
        return any(outcomes)
    return any(matches) != negated


def _match(name: str, text: str, given: str, context: Context, new: bool) -> bool:
    flags = re.IGNORECASE if name.endswith("IgnoreCase") else 0
    if name == "StringLike":
        return _glob(text, given, context, new)
    if name.startswith("Arn"):
        return _arn(text, given, context, new)
    literal = _literal(text, context, new)
    if literal is None:
        return False
    if name.startswith("String"):
        return re.fullmatch(re.escape(literal), given, flags | re.DOTALL) is not None
    try:
        return _compare(name, given, literal)
    except ValueError:
        return False


def _compare(name: str, given: str, literal: str) -> bool:
    if name == "Bool":
        return given.lower() == literal.lower()
    if name == "BinaryEquals":
        return base64.b64decode(given, validate=True) == base64.b64decode(literal, validate=True)
    if name == "IpAddress":
        return ip_address(given) in ip_network(literal, strict=False)
    read = float if name.startswith("Numeric") else _date
    left, right = read(given), read(literal)
    order = name.removeprefix("Numeric").removeprefix("Date")
    orders = {
        "Equals": left == right,
        "LessThan": left < right,
        "LessThanEquals": left <= right,
        "GreaterThan": left > right,
        "GreaterThanEquals": left >= right,
    }
    return orders[order]


def _date(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def _arn(pattern: str, given: str, context: Context, new: bool) -> bool:
    left, right = pattern.split(":", 5), given.split(":", 5)
    return len(left) == len(right) and all(
        _glob(one, other, context, new) for one, other in zip(left, right, strict=True)
    )


def _glob(pattern: str, text: str, context: Context, new: bool, flags: int = 0) -> bool:
    expression = ""
    for part in re.split(r"(\$\{[^{}]*\})", pattern) if new else [pattern]:
        if new and part.startswith("${"):
            value = _value(part[2:-1], context)
            if value is None:
                return False
            expression += re.escape(value)
        else:
            expression += re.escape(part).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(expression, text, flags | re.DOTALL) is not None


def _literal(text: str, context: Context, new: bool) -> str | None:
    found = ""
    for part in re.split(r"(\$\{[^{}]*\})", text) if new else [text]:
        value = _value(part[2:-1], context) if new and part.startswith("${") else part
        if value is None:
            return None
        found += value
    return found


def _value(inside: str, context: Context) -> str | None:
    if inside in ("*", "?", "$"):
        return inside
    key, comma, default = inside.partition(",")
    given = context.get(key.strip().lower())
    if given is not None and len(given) == 1:
        return given[0]
    return default.strip().strip("'") if comma else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
