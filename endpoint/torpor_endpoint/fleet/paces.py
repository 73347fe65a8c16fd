"""How patient the endpoint is with its instances: pauses, periods and deadlines, in seconds."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Paces:
    """The last pause of each kind goes on for ever."""

    probe_pauses_s: tuple[float, ...] = (0.005, 0.01, 0.02, 0.05, 0.1, 0.25)  # between pings until the first good one
    ping_within_s: float = 2.0  # AWS: "the container must respond to ping requests within 2 seconds"
    health_period_s: float = 5.0  # between pings of a ready one
    unhealthy_after: int = 3  # pings in a row that failed
    restart_pauses_s: tuple[float, ...] = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)  # by failed starts in a row
    death_pauses_s: tuple[float, ...] = (0.1, 0.1, 0.25, 0.5)  # by how many in a row were ready, and died soon
    steady_s: float = 2.0  # one that was ready for less died soon
    grace_s: float = 30.0  # AWS: SIGTERM, then SIGKILL 30 s later. As long its last requests have, before that

    def probe_pause_s(self, probes: int) -> float:
        return _at(self.probe_pauses_s, probes)

    def restart_pause_s(self, failed_starts: int, deaths: int = 0) -> float:
        """One that was ready follows soon: its end may be one model's doing, and the others' callers wait."""
        return _at(self.restart_pauses_s, failed_starts) if failed_starts else _at(self.death_pauses_s, deaths)


def _at(pauses_s: tuple[float, ...], number: int) -> float:
    return pauses_s[min(number, len(pauses_s) - 1)]


PACES = Paces()
