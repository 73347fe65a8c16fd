"""Names the objects of an instance in a cluster, and finds the slot again. It does no I/O.

A name says to people whose instance it is, and a digest of the whole slot keeps two of them apart: endpoints may differ
in upper case alone, and may be longer than a name. The real names are in annotations, and in labels where they fit.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final

from torpor_endpoint.host import Slot

SLOT_CHARS = 12
READABLE_CHARS = 16
"""A pod's name has 17 characters more than its Deployment's, and its host's name has 63 at most."""

DEPLOYMENT: Final = "torpor/deployment"
"""The label of everything that one Torpor made: a digest of its secret, so that two leave each other alone."""
FLEET: Final = "torpor/fleet"
"""The label of all instances of a variant: a digest, since not every name fits into a label."""
SLOT: Final = "torpor/slot"
GENERATION: Final = "torpor/generation"
"""Each launch of a slot has its own: the instance's secret follows from it."""
CONFIGURATION: Final = "torpor/configuration"
"""The annotation with what a launch is for: a process that starts anew adopts no instance of another configuration."""
LABEL = re.compile("[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


def slot_digest(slot: Slot) -> str:
    """Tells the slots of one Torpor apart. No name of an endpoint or a variant has the separator."""
    whole = "\0".join((slot.endpoint, slot.variant, str(slot.number), str(slot.container)))
    return hashlib.sha256(whole.encode()).hexdigest()[:SLOT_CHARS]


def fleet_digest(endpoint: str, variant: str) -> str:
    """Tells the variants of one Torpor apart."""
    return hashlib.sha256(f"{endpoint}\0{variant}".encode()).hexdigest()[:SLOT_CHARS]


def deployment_name(slot: Slot, deployment: str) -> str:
    """A DNS label of 45 characters at most."""
    readable = _readable((slot.endpoint, slot.variant), f"-{slot.number}")
    return f"torpor-{deployment}-{readable}-{slot_digest(slot)}"


def budget_name(endpoint: str, variant: str, deployment: str) -> str:
    """The name of a variant's disruption budget, as `deployment_name` has it."""
    return f"torpor-{deployment}-{_readable((endpoint, variant), '')}-{fleet_digest(endpoint, variant)}"


def _readable(words: tuple[str, str], end: str) -> str:
    """What people see of the real names, READABLE_CHARS at most, and `end` whole."""
    readable = re.sub("[^a-z0-9]+", "-", "-".join(words).lower()).strip("-")
    return readable[: READABLE_CHARS - len(end)].rstrip("-") + end


def secret_name(name: str, generation: str) -> str:
    """The Secret of one launch."""
    return f"{name}-{generation}"


def labels(slot: Slot, deployment: str, generation: str) -> dict[str, str]:
    """What selectors find an instance by."""
    readable = {"torpor/endpoint": slot.endpoint, "torpor/variant": slot.variant}
    return {
        "app.kubernetes.io/name": "torpor-instance",
        "app.kubernetes.io/managed-by": "torpor",
        DEPLOYMENT: deployment,
        FLEET: fleet_digest(slot.endpoint, slot.variant),
        SLOT: slot_digest(slot),
        GENERATION: generation,
        **{name: value for name, value in readable.items() if LABEL.fullmatch(value)},
    }


def annotations(slot: Slot) -> dict[str, str]:
    """The slot itself."""
    return {
        "torpor/endpoint": slot.endpoint,
        "torpor/variant": slot.variant,
        "torpor/number": str(slot.number),
        "torpor/container": str(slot.container),
    }


def slot_of(metadata: Mapping[str, Any]) -> Slot | None:
    """The slot of an object that has `annotations`; None for any other."""
    found = metadata.get("annotations") or {}
    try:
        return Slot(
            found["torpor/endpoint"],
            found["torpor/variant"],
            int(found["torpor/number"]),
            int(found["torpor/container"]),
        )
    except (KeyError, ValueError):
        return None
