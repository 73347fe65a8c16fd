"""Counts what the running transform jobs have done, and tells how long they take yet."""

from dataclasses import dataclass, field

from torpor_endpoint.core.pages.transform_jobs import JobProgress


@dataclass(eq=False)
class ObjectProgress:
    """One object that is transformed now. `share` of it was read, from 0 to 1."""

    share: float = 0.0
    records: int = 0


@dataclass(eq=False)
class RunningProgress:
    """One job since it began, or went on after a restart: `done_before` objects and `records_before` are of before."""

    began_s: float
    objects: int = 0
    done_before: int = 0
    records_before: int = 0
    done: int = 0
    failed: int = 0
    records: int = 0
    """Of the objects that are done, since it began."""
    running: set[ObjectProgress] = field(default_factory=set)
    ended_s: float | None = None

    def shown(self, name: str, now_s: float) -> JobProgress:
        records = self.records + sum(one.records for one in self.running)
        transformed = self.done + self.failed + sum(one.share for one in self.running)
        left = self.objects - self.done_before - transformed
        took_s = max((self.ended_s or now_s) - self.began_s, 0.0)
        return JobProgress(
            name=name,
            ended=self.ended_s is not None,
            objects=self.objects,
            done=self.done_before + self.done,
            failed=self.failed,
            share=1 - left / self.objects if self.objects else 0.0,
            records=self.records_before + records,
            records_per_s=records / took_s if took_s else 0.0,
            left_s=took_s * left / transformed if transformed else None,
        )
