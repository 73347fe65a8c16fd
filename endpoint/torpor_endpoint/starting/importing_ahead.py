"""Imports what an endpoint with given options needs beside its usual modules. A standby does so before it waits, and
takes over sooner: imports are most of the processor time of a start."""

from collections.abc import Callable, Mapping
from importlib import import_module

from torpor_endpoint.host.ray.ray_address import names_ray
from torpor_endpoint.options import KUBERNETES, Options

NEEDED: Mapping[str, Callable[[Options], bool]] = {
    "torpor_account.s3.access.remote": lambda options: options.s3_endpoint is not None,
    "torpor_account.logs.files.log_copies": lambda options: options.database is not None,
    "torpor_account.storage.databases.postgresql_schema": lambda options: options.database is not None,
    "torpor_account.storage.denial_log": lambda options: options.auth,
    "torpor_account.iam.identities.directory": lambda options: options.auth,
    "torpor_account.access.callers": lambda options: options.auth,
    "torpor_endpoint.role_parts": lambda options: options.auth,
    "torpor_endpoint.host.kubernetes.host_start": lambda options: options.instances_on == KUBERNETES,
    "torpor_endpoint.host.ray.ray_host": lambda options: names_ray(options.instances_on),
    "torpor_endpoint.peers.authority_keeping": lambda options: options.encrypts,
    "torpor_endpoint.peers.deployment_peers": lambda options: options.encrypts,
    "torpor_endpoint.peers.handing_rounds": lambda options: options.encrypts,
    "torpor_endpoint.pages.app": lambda options: True,
    "torpor_endpoint.routing.control.pages_for_routers": lambda options: options.no_runtime,
}
"""Each module, and which options need it. The others come with the endpoint's own composition."""


def needed_modules(options: Options) -> list[str]:
    return [module for module, needs in NEEDED.items() if needs(options)]


def import_ahead(options: Options) -> None:
    """Import them now."""
    for module in needed_modules(options):
        import_module(module)
