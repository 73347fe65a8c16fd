"""Reads from an endpoint's options, and from this machine, what all of its instances share."""

import os
from collections.abc import Callable

from torpor_account.storage.data_dir import DataDir
from torpor_container.isolation.abilities import found
from torpor_container.processes.inherited_variables import opt_outs
from torpor_container.settings import DEFAULTS
from torpor_endpoint.host.images import Images
from torpor_endpoint.host.launch import Surroundings
from torpor_endpoint.options import LOCAL, Options


def surroundings_of(options: Options, folders: DataDir, ahead_s: Callable[[], float] = lambda: 0.0) -> Surroundings:
    """What every instance of this endpoint shares. `ahead_s` is how far its clock is ahead. Raises BadImages."""
    embedded, here = options.s3_endpoint is None, options.instances_on == LOCAL
    held = options.uses_roles and here and found().ports
    return Surroundings(
        endpoint_url=options.instances_url,
        ca_bundle=options.ca_bundle,
        region=options.region,
        logs=folders.endpoint_logs,
        components=folders.component_logs,
        images=Images.read(options.images, options.unknown_images),
        s3_endpoint=options.instances_url if embedded else options.s3_endpoint or "",
        own_store=embedded,
        s3_folder=folders.objects if embedded and here else None,
        refused=options.refused,
        roles=options.uses_roles,
        script_network="endpoint" if held else DEFAULTS.script_network,
        isolated=options.require_isolation,
        device=options.device,
        hidden=folders.root if here else None,
        strict=options.strict,
        faults=options.faults,
        opt_outs=opt_outs(os.environ),
        clock_ahead_s=ahead_s if options.travelling_clock else None,
    )
