"""The work that runs beside the requests for as long as the endpoint lives, by a name for the log and for the clock."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from socket import gethostname

from torpor_account.cloudwatch.alarms.watch import Watch
from torpor_account.logs.files.gauge import LogGrowth
from torpor_account.metrics.registry import age
from torpor_account.metrics.series import MINUTE_S
from torpor_account.storage.databases.opening import end_process
from torpor_account.tls.renewing import Renewal
from torpor_endpoint.clocks import instance_clocks
from torpor_endpoint.clocks.travelling import TravellingClock
from torpor_endpoint.core.autoscaling.delays import TimeScale
from torpor_endpoint.endpoint_parts import EndpointParts
from torpor_endpoint.fleet.components.capacity_keeper import CapacityKeeper
from torpor_endpoint.fleet.sizer import Sizer
from torpor_endpoint.fleet.supervision.leaving_machines import LeavingMachines
from torpor_endpoint.host.ray.ray_address import names_ray
from torpor_endpoint.options import LOCAL
from torpor_endpoint.routing.control.local_routers import RoutersBeside
from torpor_endpoint.services.autoscaling.acting.fleet_loads import FleetLoads
from torpor_endpoint.services.autoscaling.acting.rescaling import Rescaling
from torpor_endpoint.services.autoscaling.acting.scaler import Scaler, World
from torpor_endpoint.services.autoscaling.acting.tracking_alarms import judged_by_cloudwatch
from torpor_endpoint.services.sagemaker.experiments.runner import ExperimentRunner

MINUTES_FOR_S = 86_400.0
"""Levels of instances have a sample in each minute of the first day that the clock travels, then in each hour."""
HOUR_S = 3600.0


class Chores:
    """The chores of one endpoint. They travel with its clock, if it travels (`clocks.travelling.Company`)."""

    def __init__(self, parts: EndpointParts) -> None:
        self._parts = parts
        options, pause_of = parts.options, parts.clock.pause_of
        rescaling = Rescaling(parts.control(), options.account, options.region)
        world = World(FleetLoads(parts.roster).load, parts.account.registry, rescaling.apply)
        self._sizer = Sizer(parts.roster, parts.clock.steady, pause_of("sizer"))
        self._capacity = CapacityKeeper(
            parts.components, parts.clock.steady, pause_of("capacity"), pace=options.time_scale
        )
        self._watch = Watch(
            parts.account.alarms,
            parts.account.registry,
            parts.refresh_metrics,
            pause_of("alarms"),
            judges=judged_by_cloudwatch,
        )
        self._scaler = Scaler(parts.autoscaling, world, TimeScale(options.time_scale), pause_of("scaler"))
        self._experiments = ExperimentRunner(parts.experimenting, pause_of("inference experiments"))
        owner = None if parts.account.directory is None else parts.account.directory.owner
        self._routers = RoutersBeside(parts.options, owner)
        self._leaving = LeavingMachines(parts.host, parts.roster, time.time)
        self._growth = LogGrowth(parts.account.logs, pause_of("logs"))

    def runs(self) -> dict[str, Callable[[], Awaitable[None]]]:
        """What each chore does for ever, by its name. Zygote, data capture, pulse, log copies and certificate
        keep to real time."""
        parts, options = self._parts, self._parts.options
        pause_of, copies = parts.clock.pause_of, parts.account.log_copies
        return {
            "collector": parts.collector.run,
            "metrics": lambda: age(parts.account.registry, parts.roster, pause_of("metrics")),
            "sizer": self._sizer.run,
            "capacity": self._capacity.run,
            "rollouts": lambda: parts.controller.watch_rollouts(pause_of("rollouts")),
            "ledger": parts.ledger.run,
            "heartbeat": parts.heartbeat.run,
            "zygote": lambda: parts.warm_parent.retire(parts.options.warm_idle_s),
            "alarms": self._watch.run,
            "scaler": self._scaler.run,
            "data capture": parts.router.capturing.run,
            "async queue": lambda: parts.dispatcher.run(pause_of("async queue")),
            "inference experiments": self._experiments.run,
            "state events": parts.event_queue.run,
            "versions": parts.versions.keeper.run,
            "groups": parts.versions.groups.run,
            "logs": self._growth.run,
            "routers": lambda: parts.routers.run(asyncio.sleep),
            **({"pulse": self._turn} if options.database else {}),
            **({} if copies is None else {"log copies": lambda: copies.run(asyncio.sleep)}),
            **({"routers beside": self._routers.run} if parts.options.routers else {}),
            **({"leaving machines": self._leaving.run} if names_ray(options.instances_on) else {}),
            **({} if parts.handing is None else {"certificates": parts.handing.run}),
            **({} if parts.telemetry is None else {"telemetry": parts.telemetry.run}),
            **({"certificate": Renewal(parts.options, gethostname()).run} if parts.options.tls_self_signed else {}),
        }

    async def _turn(self) -> None:
        from torpor_account.storage.databases.postgresql_heartbeat import turn  # it needs psycopg

        account = self._parts.account
        elsewhere = self._parts.options.instances_on != LOCAL  # the other one manages the same instances then
        await turn(account.pulse, account.proof, asyncio.sleep, end_process if elsewhere else None)

    # -- on the way with a travelling clock ------------------------------------------------------------------------
    def quiet_s(self, chore: str, gone_s: float) -> float | None:
        """Seconds in which the chore has nothing to do, if nothing else happens; None if it may wait for the arrival.

        Rows and samples have times of their own: it changes nothing to write and to age them late.
        """
        match chore:
            case "collector":
                return self._parts.collector.quiet_s(_period_s(gone_s))
            case "sizer":
                return self._sizer.quiet_s()
            case "capacity":
                return self._capacity.quiet_s()
            case "rollouts":
                rollouts = self._parts.controller.rollouts
                return min(rollouts.quiet_s(), self._watch.quiet_s()) if rollouts.watched else rollouts.quiet_s()
            case "alarms":
                return self._watch.quiet_s()
            case "scaler":
                return self._scaler.quiet_s()
            case "async queue":
                return self._parts.dispatcher.quiet_s(_period_s(gone_s))
            case "inference experiments":
                return self._experiments.quiet_s()
            case "ledger" | "logs" | "metrics" | "heartbeat" | "state events" | "versions" | "groups":
                return None
            case _:
                return 0.0

    def under_way(self) -> str | None:
        """The first thing that began and is not done yet."""
        if self._scaler.under_way:
            return "automatic scaling changes a target"
        parts = self._parts
        changing = parts.controller.under_way() or parts.components.under_way() or parts.dispatcher.under_way()
        return changing or instance_clocks.under_way(parts.roster)

    async def arrive(self) -> float:
        """Let the instances and the logs follow to where the clock stands. Returns the seconds until a model is due."""
        parts = self._parts
        assert isinstance(parts.clock, TravellingClock), "only a clock that travels arrives"
        due_s = await instance_clocks.moved(parts.roster, parts.clock.ahead_s)
        await asyncio.to_thread(self._growth.note, set(parts.account.logs.writing()))
        await parts.router.capturing.deliver()
        return due_s


def _period_s(gone_s: float) -> float:
    """The period of the levels' samples, once the clock has gone so far."""
    return MINUTE_S if gone_s < MINUTES_FOR_S else HOUR_S
