"""Has a schedule of faults strike an endpoint that was started with faults, and reads how far it is."""

import json

from torpor.calling.connection import EndpointConnection
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.core.pages.strikes import FaultState
from torpor_endpoint.core.testing.fault_schedule import FaultSchedule


def state(connection: EndpointConnection) -> FaultState:
    """What has struck. Raises EndpointRefused for an endpoint that was started without faults."""
    return FaultState.read(connection.json_page(PageName.FAULTS))


def begin(connection: EndpointConnection, schedule: FaultSchedule) -> FaultState:
    """Have these faults strike from now on. Raises EndpointRefused."""
    page = connection.page(PageName.FAULTS, method="POST", sent=str(schedule).encode())
    return FaultState.read(json.loads(page))
