"""Faults that a test has strike an endpoint, as values: a schedule says what happens on which occasion.

A schedule is text and can be read back: one line for each fault, such as `slow-s3 model=a.tar.gz after=2 seconds=0.5`.
An occasion is a request that the fault could strike. Each fault counts its own: it strikes `times` of them, after it
has let `after` of them pass. So requests one after the other meet the same faults each time.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Final

from torpor_container.frozen_class import frozen


class Occasion(StrEnum):
    READ = "a read of an object"
    TRANSFER = "a read or a write of an object"
    INVOCATION = "an invocation"


class FaultKind(StrEnum):
    SLOW_S3 = "slow-s3"
    FAILING_S3 = "failing-s3"
    TRUNCATED_S3 = "truncated-s3"
    SKEWED_CLOCK = "skewed-clock"
    CORRUPT_ARTIFACT = "corrupt-artifact"
    OUT_OF_MEMORY = "out-of-memory"
    INSTANCE_KILLED = "instance-killed"
    INSTANCE_FROZEN = "instance-frozen"
    THROTTLED = "throttled"


@frozen
class KindRow:
    """What a kind of fault strikes, and what it does."""

    occasion: Occasion
    meaning: str
    seconds: float | None = None
    """The default of `seconds`; None for a kind that takes none."""


KINDS: Final[Mapping[FaultKind, KindRow]] = {
    FaultKind.SLOW_S3: KindRow(Occasion.TRANSFER, "S3 answers `seconds` later.", 1.0),
    FaultKind.FAILING_S3: KindRow(Occasion.TRANSFER, "S3 answers 503 SlowDown. Clients try again a few times."),
    FaultKind.TRUNCATED_S3: KindRow(Occasion.READ, "The connection ends after half of the object."),
    FaultKind.SKEWED_CLOCK: KindRow(
        Occasion.TRANSFER, "S3 answers 403 RequestTimeTooSkewed, as to a client whose clock is wrong."
    ),
    FaultKind.CORRUPT_ARTIFACT: KindRow(Occasion.READ, "The object arrives whole, with other bytes in its middle."),
    FaultKind.OUT_OF_MEMORY: KindRow(
        Occasion.INVOCATION, "The next load of the model finds no memory, on the instance that takes the invocation."
    ),
    FaultKind.INSTANCE_KILLED: KindRow(
        Occasion.INVOCATION, "The instance that would take the invocation is killed before it is sent."
    ),
    FaultKind.INSTANCE_FROZEN: KindRow(
        Occasion.INVOCATION, "The instance that takes the invocation stands still for `seconds`.", 1.0
    ),
    FaultKind.THROTTLED: KindRow(Occasion.INVOCATION, "The invocation gets ThrottlingException."),
}
TIMES_MAX = 1_000_000
SECONDS_MAX = 3600.0
FROM_MAX_S = 10 * 366 * 86_400.0


class BadFault(ValueError):
    """A fault cannot be read. The message names the line and the field."""


@frozen
class InjectedFault:
    """One fault. `model` restricts it to objects whose key ends so, and to invocations of this TargetModel."""

    kind: FaultKind
    model: str = ""
    after: int = 0
    times: int = 1
    seconds: float | None = None
    from_s: float = 0.0
    """Seconds of the endpoint's clock after the schedule began: earlier requests are no occasions."""

    def __post_init__(self) -> None:
        """Raises BadFault."""
        if self.kind not in KINDS:
            raise BadFault(f"kind: {self.kind!r} is none of {', '.join(KINDS)}")
        object.__setattr__(self, "kind", FaultKind(self.kind))
        default_s = KINDS[self.kind].seconds
        if self.seconds is None:
            object.__setattr__(self, "seconds", default_s)
        elif default_s is None:
            raise BadFault(f"seconds: {self.kind} takes none")
        elif not 0 < self.seconds <= SECONDS_MAX:
            raise BadFault(f"seconds: {self.seconds:g} must be more than 0 and at most {SECONDS_MAX:g}")
        if not 0 <= self.after <= TIMES_MAX:
            raise BadFault(f"after: {self.after} must be from 0 to {TIMES_MAX}")
        if not 1 <= self.times <= TIMES_MAX:
            raise BadFault(f"times: {self.times} must be from 1 to {TIMES_MAX}")
        if not 0 <= self.from_s <= FROM_MAX_S:
            raise BadFault(f"from_s: {self.from_s:g} must be from 0 to {FROM_MAX_S:g}")
        if any(letter.isspace() for letter in self.model):
            raise BadFault(f"model: {self.model!r} has a space")

    def __str__(self) -> str:
        """The line that `parse` reads."""
        plain = InjectedFault(self.kind)
        words = [
            f"{name}={getattr(self, name):{'.15g' if _READ[name] is float else ''}}"
            for name in _NAMES
            if getattr(self, name) != getattr(plain, name)
        ]
        return " ".join([self.kind, *words])

    @classmethod
    def parse(cls, line: str) -> "InjectedFault":
        """Raises BadFault."""
        kind, *words = line.split()
        values: dict[str, object] = {}
        for word in words:
            name, _, text = word.partition("=")
            if name not in _NAMES or name in values:
                raise BadFault(f"{line!r}: {word!r} is none of {', '.join(f'{name}=' for name in _NAMES)}, each once")
            try:
                values[name] = _READ[name](text)
            except ValueError:
                raise BadFault(f"{line!r}: {name}={text!r} is no number") from None
        try:
            return cls(kind, **values)  # type: ignore[arg-type]  # the tables have the types
        except BadFault as error:
            raise BadFault(f"{line!r}: {error}") from None

    def strikes(self, occasion: int) -> bool:
        """Whether it strikes the occasion of this number, from 0."""
        return self.after <= occasion < self.after + self.times

    def may_strike(self, occasion: Occasion, name: str) -> bool:
        """`name` is an object's key, or a TargetModel."""
        of_kind = KINDS[self.kind].occasion
        fits = of_kind is occasion or (of_kind is Occasion.TRANSFER and occasion is Occasion.READ)
        if not fits or not self.model:
            return fits
        return name == self.model if occasion is Occasion.INVOCATION else name.endswith(self.model)


_NAMES = tuple(one.name for one in fields(InjectedFault) if one.name != "kind")
_READ: Final[Mapping[str, type]] = {"model": str, "after": int, "times": int, "seconds": float, "from_s": float}


@frozen
class FaultSchedule:
    """The faults of one test. `parse(str(schedule))` is the same schedule."""

    faults: tuple[InjectedFault, ...] = ()
    drawn: bool = field(default=False, compare=False)
    """Whether chance made it: then not each of its faults has to strike."""

    def __str__(self) -> str:
        return "\n".join(map(str, self.faults))

    def __len__(self) -> int:
        return len(self.faults)

    def __iter__(self) -> Iterator[InjectedFault]:
        return iter(self.faults)

    @classmethod
    def parse(cls, text: str) -> "FaultSchedule":
        """Raises BadFault. Empty lines mean nothing."""
        return cls(tuple(InjectedFault.parse(line) for line in text.splitlines() if line.strip()))


@dataclass
class FaultCounts:
    """How far a schedule is: the occasions that each of its faults has had."""

    schedule: FaultSchedule = FaultSchedule()  # noqa: RUF009  frozen
    had: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.had = [0] * len(self.schedule)

    def struck(self, occasion: Occasion, name: str, elapsed_s: float = 0.0) -> list[InjectedFault]:
        """Count an occasion, so many seconds after the schedule began. The faults that strike it, in their order."""
        found = []
        for number, fault in enumerate(self.schedule):
            if fault.may_strike(occasion, name) and fault.from_s <= elapsed_s:
                if fault.strikes(self.had[number]):
                    found.append(fault)
                self.had[number] += 1
        return found

    def next_read(self, name: str, elapsed_s: float = 0.0) -> list[InjectedFault]:
        """The faults that would strike the next read of this object. Counts nothing."""
        pairs = zip(self.schedule, self.had, strict=True)
        return [
            one
            for one, had in pairs
            if one.may_strike(Occasion.READ, name) and one.strikes(had) and one.from_s <= elapsed_s
        ]

    def left(self, elapsed_s: float = 0.0) -> FaultSchedule:
        """What has not struck yet, as a schedule that begins now."""
        faults = []
        for fault, had in zip(self.schedule, self.had, strict=True):
            gone = max(0, had - fault.after)
            if gone < fault.times:
                after, from_s = max(0, fault.after - had), max(0.0, fault.from_s - elapsed_s)
                faults.append(replace(fault, after=after, times=fault.times - gone, from_s=from_s))
        return FaultSchedule(tuple(faults))
