"""The roster of the fleet's own pools: the controller writes it."""

from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.in_service.served_endpoints import LiveEndpoint, Roster

FleetEndpoint = LiveEndpoint[InstancePool]
FleetRoster = Roster[InstancePool]
