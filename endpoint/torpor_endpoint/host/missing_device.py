"""Looks for the devices that a variant asks for before anything of it starts.

A process of its own looks: one that has looked once cannot be the parent of instances.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Mapping

from torpor_container.core.devices.asked_device import DeviceKind
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.host import LaunchSpec, Slot
from torpor_endpoint.host.launch import DEVICE

REMEDY = "`torpor up --device cpu`, or TORPOR_DEVICE=cpu in the model's Environment, predicts on the processor."


async def missing_device(variant: Variant, spec: Callable[[Variant, Slot], LaunchSpec]) -> str | None:
    """Why this machine has not the device that a container of the variant asks for; None if it asks for none."""
    for place in range(len(variant.containers)):
        environment = spec(variant, Slot("", variant.name, 0, place)).environment
        asked = environment.get(DEVICE.variable, "").startswith(DeviceKind.CUDA)
        if asked and (missing := await _looked_for(environment)):
            return f"The variant {variant.name} cannot start: {missing}. {REMEDY}"
    return None


async def _looked_for(environment: Mapping[str, str]) -> str:
    """What the process that looks says; empty if the device is there."""
    asked = environment[DEVICE.variable]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "torpor_container.devices", asked),
        env={**os.environ, **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    end = asyncio.ensure_future(process.communicate())
    try:
        output, _ = await asyncio.shield(end)
    except asyncio.CancelledError:
        process.kill()  # a driver may hang
        await end
        raise
    if process.returncode == 0:
        return ""
    last = output.decode(errors="replace").strip().rpartition("\n")[2]
    return last or f"the process that looked for TORPOR_DEVICE={asked} ended with code {process.returncode}"
