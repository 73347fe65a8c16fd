"""Removes from an answer what AWS leaves out: nulls, empty optional lists and maps, members that the shape lacks.

The JavaScript SDK v3 and Terraform fail on an empty optional member such as `VpcConfig: {}`.
"""

from collections.abc import Collection, Mapping
from typing import Any

from torpor_account.aws.service_models import Shape


def pruned(answer: Mapping[str, Any], shape: Shape, kept: Collection[str] = ()) -> dict[str, Any]:
    """The pruned answer. `kept` are members that stay even when empty and optional, such as ListMetrics' `Metrics`."""
    stays = {*shape.required_members, *kept}
    members = {
        name: _pruned(answer[name], member, kept)
        for name, member in shape.members.items()
        if answer.get(name) is not None
    }
    return {name: value for name, value in members.items() if name in stays or value or not _is_container(value)}


def _pruned(value: Any, shape: Shape, kept: Collection[str]) -> Any:
    if shape.type_name == "structure" and not shape.is_document_type:
        return pruned(value, shape, kept)
    if shape.type_name == "list":
        return [_pruned(item, shape.member, kept) for item in value]
    if shape.type_name == "map":
        return {key: _pruned(item, shape.value, kept) for key, item in value.items() if item is not None}
    return value


def _is_container(value: Any) -> bool:
    return isinstance(value, dict | list)
