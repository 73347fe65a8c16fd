"""How long the endpoint waits for its instances: pauses, periods and time limits, in seconds."""

from torpor_container.frozen_class import frozen


@frozen
class InstanceTiming:
    """A tuple of pauses is used in its order; its last pause is repeated for ever."""

    probe_pauses_s: tuple[float, ...] = (0.005, 0.01, 0.02, 0.05, 0.1, 0.25)  # between pings until the first good one
    placed_within_s: float = 900.0  # until a machine has room for it: an engine may have to add one first
    ping_within_s: float = 2.0  # AWS: "the container must respond to ping requests within 2 seconds"
    health_period_s: float = 5.0  # between pings of a ready instance
    unhealthy_after: int = 3  # failed pings in a row
    restart_pauses_s: tuple[float, ...] = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)  # by failed starts in a row
    death_pauses_s: tuple[float, ...] = (0.1, 0.1, 0.25, 0.5)  # by instances in a row that died soon after being ready
    end_pauses_s: tuple[float, ...] = (1.0, 2.0, 5.0, 10.0, 30.0)  # by failed tries in a row to end an instance
    steady_s: float = 2.0  # an instance that was ready for less than this died soon
    memory_period_s: float = 2.0  # between looks at how containers share an instance's memory
    memory_pause_s: float = 0.5  # the shortest pause between them, while a container lacks room
    stream_s: float = 480.0  # to drain streams, which a drain does not cut
    grace_s: float = 30.0  # to drain; and, as on AWS, from SIGTERM to SIGKILL

    def probe_pause_s(self, probes: int) -> float:
        return _at(self.probe_pauses_s, probes)

    def restart_pause_s(self, failed_starts: int, deaths: int = 0) -> float:
        """The pause before the next launch.

        An instance that was ready is replaced soon: one model may have killed it, and callers of the others wait.
        """
        return _at(self.restart_pauses_s, failed_starts) if failed_starts else _at(self.death_pauses_s, deaths)

    def end_pause_s(self, failures: int) -> float:
        """The pause before the next try to end an instance that the host could not end."""
        return _at(self.end_pauses_s, failures)


def _at(pauses_s: tuple[float, ...], number: int) -> float:
    return pauses_s[min(number, len(pauses_s) - 1)]


TIMING = InstanceTiming()
