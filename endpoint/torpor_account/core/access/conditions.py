"""The condition operators of policies, as one table.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html
"""

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from ipaddress import ip_address, ip_network
from operator import eq, ge, gt, le, lt
from typing import Any

from torpor_account.core.access.text_patterns import UNKNOWN, Lookup, TextPattern
from torpor_account.core.written_numbers import NUMBER
from torpor_container.core.target_names import without_slash
from torpor_container.frozen_class import frozen

TARGET_MODEL = "sagemaker:targetmodel"
"""The key of a target model. Its values are names of models, and a policy may spell them with the slash that AWS drops:
https://docs.aws.amazon.com/sagemaker/latest/dg/create-multi-model-endpoint.html. Both sides are compared without it."""

ANY_VALUE, ALL_VALUES = "ForAnyValue:", "ForAllValues:"
IF_EXISTS = "IfExists"
NULL = "Null"


class BadPolicy(Exception):
    """A policy document that cannot be read. The message says what is wrong."""


Matcher = Callable[[str, Lookup], bool]
"""Whether a value of the request matches one value of the policy."""
Maker = Callable[[str, bool], Matcher]
"""Makes the matcher of a policy's value. The flag says whether policy variables are replaced. Raises BadPolicy."""


def _text(*, like: bool = False, fold: bool = False) -> Maker:
    def make(value: str, variables: bool) -> Matcher:
        pattern = TextPattern.parsed(value.lower() if fold else value, variables=variables, wildcards=like)
        if not fold:
            return pattern.has
        return lambda text, lookup: pattern.has(text.lower(), lambda key: _folded(lookup(key)))

    return make


def _folded(values: Sequence[str] | None) -> Sequence[str] | None:
    return values if values is None or values is UNKNOWN else [value.lower() for value in values]


def _arn(value: str, variables: bool) -> Matcher:
    return TextPattern.parsed(value, variables=variables).has_arn


def _compared(
    read: Callable[[str], Any], compare: Callable[[Any, Any], bool], given: Callable[[str], Any] | None = None
) -> Maker:
    """Compares what `read` makes of both values, or `given` of the request's. A value of the request that cannot be
    read matches nothing."""
    read_given = given or read

    def make(value: str, variables: bool) -> Matcher:
        pattern = TextPattern.parsed(value, variables=variables, wildcards=False)
        if pattern.resolved(lambda key: None) == tuple(value):
            read(value)  # a malformed constant is the policy's fault

        def matches(text: str, lookup: Lookup) -> bool:
            resolved = pattern.resolved(lookup)
            try:
                return resolved is not None and compare(read_given(text), read("".join(resolved)))
            except BadPolicy:
                return False

        return matches

    return make


def _number(text: str) -> float:
    if not NUMBER.fullmatch(text):
        raise BadPolicy(f"{text!r} is not a number")
    return float(text)


def _date(text: str) -> float:
    """A moment in ISO 8601, or in seconds since 1970."""
    if NUMBER.fullmatch(text):
        return float(text)
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise BadPolicy(f"{text!r} is not a date in ISO 8601") from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def _boolean(text: str) -> str:
    if text.lower() not in ("true", "false"):
        raise BadPolicy(f"{text!r} is neither true nor false")
    return text.lower()


def _binary(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (NotBase64, ValueError):
        raise BadPolicy(f"{text!r} is not base64") from None


def _network(text: str) -> Any:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise BadPolicy(f"{text!r} is not an IP address or range") from None


def _address(text: str) -> Any:
    try:
        return ip_address(text)
    except ValueError:
        raise BadPolicy(f"{text!r} is not an IP address") from None


def _in_network(address: Any, network: Any) -> bool:
    return address.version == network.version and address in network


@frozen
class ConditionOperator:
    """How a kind of value matches. A negated operator holds if no value of the policy matches."""

    make: Maker
    negated: bool = False


def _pair(name: str, negated: str, make: Maker) -> dict[str, ConditionOperator]:
    return {name: ConditionOperator(make), negated: ConditionOperator(make, negated=True)}


def _ordered(kind: str, read: Callable[[str], Any]) -> dict[str, ConditionOperator]:
    orders = {"LessThan": lt, "LessThanEquals": le, "GreaterThan": gt, "GreaterThanEquals": ge}
    found = {f"{kind}{name}": ConditionOperator(_compared(read, compare)) for name, compare in orders.items()}
    return {**_pair(f"{kind}Equals", f"{kind}NotEquals", _compared(read, eq)), **found}


OPERATORS: Mapping[str, ConditionOperator] = {
    **_pair("StringEquals", "StringNotEquals", _text()),
    **_pair("StringEqualsIgnoreCase", "StringNotEqualsIgnoreCase", _text(fold=True)),
    **_pair("StringLike", "StringNotLike", _text(like=True)),
    **_ordered("Numeric", _number),
    **_ordered("Date", _date),
    "Bool": ConditionOperator(_compared(_boolean, eq)),
    "BinaryEquals": ConditionOperator(_compared(_binary, eq)),
    **_pair("IpAddress", "NotIpAddress", _compared(_network, _in_network, given=_address)),
    **_pair("ArnEquals", "ArnNotEquals", _arn),
    **_pair("ArnLike", "ArnNotLike", _arn),
}


@frozen
class ConditionTest:
    """One key under one operator. `key` is in lower case; `matchers` are those of the policy's values."""

    operator: str
    key: str
    values: tuple[str, ...]
    matchers: tuple[Matcher, ...]
    spelled: str
    """The key as the policy spells it."""
    negated: bool = False
    if_exists: bool = False
    set_of: str = ""

    def holds(self, lookup: Lookup, *, unknown: bool = False) -> bool:
        """Whether the request meets the condition. `lookup` finds the values of a key. `unknown` is the answer where
        nobody knows them."""
        given = lookup(self.key)
        if given is UNKNOWN:
            return unknown
        if self.operator == NULL:
            return str(given is None).lower() in self.values
        if given is None:
            return self.if_exists or self.set_of == ALL_VALUES or (self.negated and not self.set_of)
        found = [any(matcher(value, lookup) for matcher in self.matchers) for value in given]
        if self.set_of == ALL_VALUES:
            return all(one is not self.negated for one in found)
        if self.set_of == ANY_VALUE:
            return any(one is not self.negated for one in found)
        return any(found) is not self.negated


def condition_test(operator: str, key: str, values: Sequence[str], *, variables: bool) -> ConditionTest:
    """Reads one key of a condition block. Raises BadPolicy."""
    set_of = next((prefix for prefix in (ANY_VALUE, ALL_VALUES) if operator.startswith(prefix)), "")
    name = operator.removeprefix(set_of)
    if name == NULL and not set_of:
        return ConditionTest(NULL, key.lower(), tuple(map(_boolean, values)), (), key)
    if_exists = name.endswith(IF_EXISTS)
    known = OPERATORS.get(name.removesuffix(IF_EXISTS))
    if known is None:
        raise BadPolicy(f"there is no condition operator {operator}")
    spelled = map(without_slash, values) if key.lower() == TARGET_MODEL else values
    matchers = tuple(known.make(value, variables) for value in spelled)
    return ConditionTest(operator, key.lower(), tuple(values), matchers, key, known.negated, if_exists, set_of)
