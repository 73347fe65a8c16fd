"""The record of a soak test: what S3 held, what was killed when, which endpoints slept, and the outcome of each
call."""

import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from benchmarks.soak.answers import GOOD, Call, History, Kill, Known, Verdict, judged

ODDITIES_MAX = 20


@dataclass
class Truth:
    """Times are `time.monotonic`'s."""

    revalidates: dict[str, bool]
    objects: dict[str, History] = field(default_factory=lambda: defaultdict(History))
    asleep_s: dict[str, float] = field(default_factory=dict)
    kills: list[Kill] = field(default_factory=list)
    verdicts: Counter[tuple[str, Verdict]] = field(default_factory=Counter)
    deeds: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    warm_s: list[float] = field(default_factory=list)
    cold_s: list[float] = field(default_factory=list)
    oddities: list[str] = field(default_factory=list)

    def present(self) -> list[str]:
        """The models that are in S3, by what was last asked of it."""
        return sorted(key for key, history in self.objects.items() if history.number is not None)

    def absent(self) -> list[str]:
        return sorted(key for key, history in self.objects.items() if history.number is None)

    def known(self, endpoint: str) -> Known:
        return Known(self.asleep_s.get(endpoint, float("-inf")), self.revalidates[endpoint])

    def slept(self, endpoint: str, at_s: float) -> None:
        self.asleep_s[endpoint] = at_s
        self.deeds["sleeps seen"] += 1

    def ended(self, call: Call, known: Known) -> None:
        """`known` is what was known as the call began."""
        verdict = judged(call, self.objects[call.model], known, self.kills)
        self.verdicts[call.endpoint, verdict] += 1
        (self.cold_s if {"wake", "hold", "load"} & set(call.steps) else self.warm_s).append(call.ended_s - call.began_s)
        if call.number is None:
            self.errors[f"{verdict}: {_shape(call)}"] += 1
        if verdict not in GOOD:
            self.odd(f"{verdict}: {call}, of {self.objects[call.model].spells[-4:]}, {known}")

    def odd(self, what: str) -> None:
        """A failure that the soak test found."""
        self.deeds["oddities"] += 1
        if len(self.oddities) < ODDITIES_MAX:
            self.oddities.append(f"{time.strftime('%H:%M:%S')} {what}")

    def count(self, verdict: Verdict) -> int:
        return sum(number for (_, one), number in self.verdicts.items() if one is verdict)


def _shape(call: Call) -> str:
    """The error without the name of what it befell."""
    return call.error.replace(call.model, "MODEL").replace(call.endpoint, "ENDPOINT")[:120]
