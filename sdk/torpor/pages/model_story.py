"""Collects a model's story from an endpoint: its instances' decisions, its cold starts in the ledger, its origin."""

from collections.abc import Iterator
from dataclasses import replace

from torpor.calling.connection import EndpointConnection
from torpor.errors import EndpointRefused
from torpor.pages import clock, ledger, state
from torpor.pages.versions import version_labels
from torpor_endpoint.core.model_choice.made_choices import MadeChoices
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.core.pages.cold_starts import TOLD, ColdStart
from torpor_endpoint.core.pages.model_groups import read_choices
from torpor_endpoint.core.pages.model_origins import ModelOrigin, read_origins
from torpor_endpoint.core.pages.model_versions import told_versions
from torpor_endpoint.core.pages.state import EndpointState
from torpor_endpoint.core.pages.story import Story
from torpor_endpoint.core.versions.version_answers import DEFAULT, MARK


def story(connection: EndpointConnection, endpoint: EndpointState, model: str) -> Story:
    """The story of the model, or of the version that answers where the target names a model with versions. Raises
    EndpointRefused for an endpoint that is not in service."""
    for key, told in _answering(connection, endpoint.name, model):
        return replace(story(connection, endpoint, key), model=f"{model} ({key})", versions=told)
    decisions = tuple(state.decisions(connection, endpoint.name, model))
    resident = tuple(found for instance in endpoint.instances for found in instance.named(model))
    past = () if decisions else _past(connection, endpoint.name, model)
    choices = _choices(connection, endpoint.name, model)
    return Story(model, decisions, resident, endpoint.variants, past, choices=choices, told_s=clock.now_s(connection))


def origins(connection: EndpointConnection, endpoint: str, model: str) -> tuple[ModelOrigin, ...]:
    """The origin on each instance that has the model in memory, or else that of its last load; of each version that
    answers where the target names a model with versions. Raises EndpointRefused for an endpoint that is not in
    service."""
    keys = dict.fromkeys(key for key, _ in _answering(connection, endpoint, model)) or {model: None}
    return tuple(found for key in keys for found in _of_key(connection, endpoint, key))


def _of_key(connection: EndpointConnection, endpoint: str, key: str) -> tuple[ModelOrigin, ...]:
    return read_origins(connection.json_page(PageName.ORIGIN, {"endpoint": endpoint, "model": key}))


def _answering(connection: EndpointConnection, endpoint: str, target: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The key of the version that answers the target, in each variant, and what to tell of its versions; nothing for a
    target that names no model with versions."""
    for model, version in ((target, DEFAULT), (target.rpartition(MARK)[0], target.rpartition(MARK)[2])):
        try:
            found = version_labels.versions(connection, endpoint, model) if model else []
        except EndpointRefused:  # it has no versions, or the endpoint is not in service
            continue
        for one in found:
            keys = {each.version: each.key for each in one.versions}
            number = int(version) if version.isdecimal() else {**one.labels, DEFAULT: one.default}.get(version)
            if number in keys:
                yield keys[number], (told_versions(one),)


def _choices(connection: EndpointConnection, endpoint: str, model: str) -> tuple[MadeChoices, ...]:
    try:
        return read_choices(connection.json_page(PageName.CHOICES, {"endpoint": endpoint, "model": model}))
    except EndpointRefused:  # as below, and an endpoint of an earlier version has no such page
        return ()


def _past(connection: EndpointConnection, endpoint: str, model: str) -> tuple[ColdStart, ...]:
    try:
        return tuple(ledger.cold_starts(connection, ledger.Which(endpoint), model, TOLD))
    except EndpointRefused:  # the ledger does not know an endpoint without requests
        return ()
