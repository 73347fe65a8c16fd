"""Asserts on an endpoint's state and past: which model left, whether the endpoint sleeps, what CloudWatch answers."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from torpor.pages import clock, model_story, state
from torpor.pages.numbers import VariantWindow
from torpor.pages.observed_endpoint import ObservedEndpoint, cold_starts, state_of
from torpor_endpoint.core.pages.state import VariantState

LAST_S = 3600.0
"""The period of `assert_metric`, unless the caller gives another."""
PERCENTILE = "p"


def assert_evicted(
    endpoint: ObservedEndpoint, model: str, *, for_model: str | None = None, reason: str | None = None
) -> None:
    """Assert that the model has left memory: its latest decision is that it leaves.

    With `for_model`, it left because that model needed the room. `reason` must be a part of the decision's reason. The
    failure message is the model's story.
    """
    __tracebackhide__ = True
    seen = state_of(endpoint)
    leaving = [one for one in state.decisions(endpoint.connection, endpoint.name, model) if one.action == "evict"]
    told = f"\n{model_story.story(endpoint.connection, seen, model)}"
    if any(instance.named(model) for instance in seen.instances):
        raise AssertionError(f"{model} is in memory{told}")
    if not leaving:
        raise AssertionError(f"no running instance has evicted {model}{told}")
    last = leaving[-1]
    if for_model is not None and last.for_model != for_model:
        raise AssertionError(f"{model} did not leave for {for_model}, but for {last.for_model or 'no model'}{told}")
    if reason is not None and reason not in last.reason:
        raise AssertionError(f"{model} left for another reason than {reason!r}{told}")


def assert_asleep(endpoint: ObservedEndpoint, variant: str | None = None) -> None:
    """Assert that the variant (each one without a name) has no instance and wants none."""
    __tracebackhide__ = True
    for found in _variants(endpoint, variant):
        if found.wanted or found.instances or found.leaving:
            raise AssertionError(f"{endpoint.name} is awake: {_standing(found)}")


def assert_awake(endpoint: ObservedEndpoint, variant: str | None = None, *, instances: int | None = None) -> None:
    """Assert that the variant (each one without a name) has a ready instance, or as many as `instances` says."""
    __tracebackhide__ = True
    for found in _variants(endpoint, variant):
        ready = len(found.instances)
        if ready != instances if instances is not None else not ready:
            wanted = "an instance" if instances is None else f"{instances} instances"
            raise AssertionError(f"{endpoint.name} has not {wanted}: {_standing(found)}{_latest(endpoint)}")


def assert_metric(
    endpoint: ObservedEndpoint,
    name: str,
    statistic: str,
    value: float | None = None,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    variant: str = "AllTraffic",
    last_s: float = LAST_S,
) -> None:
    """Assert on one statistic (`Sum`, `Average`, `Maximum`, `p99`, …) of a metric of the endpoint's variant.

    CloudWatch's API is asked for one value over the last `last_s` seconds, from the minute on in which the endpoint was
    created: what an earlier endpoint of its name counted before is not in it. No sample in them is a failure, unless
    the value 0 is expected of a `Sum` or a `SampleCount`.
    """
    __tracebackhide__ = True
    if value is None and at_least is None and at_most is None:
        raise TypeError("say what is expected: value=, at_least= or at_most=")
    wanted = Expected(value, at_least, at_most)
    now_s = clock.now_s(endpoint.connection)
    lives_s = now_s - _created_s(endpoint, now_s - last_s)
    cloudwatch = endpoint.connection.client("cloudwatch")
    try:
        found = MetricRead(cloudwatch, endpoint.name, variant, name, statistic).last(min(last_s, lives_s), now_s)
    finally:
        cloudwatch.close()
    if not wanted.holds(found.value):
        raise AssertionError(f"{name} ({statistic}) of {endpoint.name}/{variant} is {found}, not {wanted}")


@dataclass(frozen=True)
class Expected:
    """What a metric's value should be. A value is equal to within rounding."""

    value: float | None
    at_least: float | None
    at_most: float | None

    def holds(self, found: float | None) -> bool:
        if found is None:
            return False
        if self.value is not None and abs(found - self.value) > 1e-9 * max(1.0, abs(self.value)):
            return False
        return (self.at_least is None or found >= self.at_least) and (self.at_most is None or found <= self.at_most)

    def __str__(self) -> str:
        words = (("", self.value), ("at least ", self.at_least), ("at most ", self.at_most))
        return " and ".join(f"{word}{bound:g}" for word, bound in words if bound is not None)


@dataclass(frozen=True)
class MetricValue:
    """The value of a metric in a period, with the other names that CloudWatch lists for the variant."""

    value: float | None
    last_s: float
    known: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.value is not None:
            return f"{self.value:g} in the last {self.last_s:.0f} s"
        listed = ", ".join(self.known) or "none"
        return f"without a sample in the last {self.last_s:.0f} s (metrics of this variant: {listed})"


@dataclass(frozen=True)
class MetricRead:
    """Reads one statistic of one metric through CloudWatch's API."""

    cloudwatch: Any
    endpoint: str
    variant: str
    name: str
    statistic: str

    def last(self, last_s: float, now_s: float) -> MetricValue:
        """The value over the last `last_s` seconds before `now_s`, in epoch seconds."""
        end = datetime.fromtimestamp(now_s, UTC) + timedelta(seconds=1)
        window = VariantWindow(self.endpoint, self.variant, end - timedelta(seconds=last_s + 1), end)
        listed = self.cloudwatch.get_paginator("list_metrics").paginate(Dimensions=window.dimensions)
        metrics = [metric for page in listed for metric in page["Metrics"]]
        known = tuple(sorted({metric["MetricName"] for metric in metrics}))
        for metric in metrics:
            if metric["MetricName"] == self.name:
                value = self._value(metric["Namespace"], window)
                if value is not None:
                    return MetricValue(value, last_s, known)
        empty = 0.0 if self.statistic in ("Sum", "SampleCount") and self.name in known else None
        return MetricValue(empty, last_s, known)

    def _value(self, namespace: str, window: VariantWindow) -> float | None:
        percentile = self.statistic.startswith(PERCENTILE)
        answer = self.cloudwatch.get_metric_statistics(
            Namespace=namespace,
            MetricName=self.name,
            Dimensions=window.dimensions,
            StartTime=window.from_minute,
            EndTime=window.end,
            Period=window.whole_s,
            **{"ExtendedStatistics" if percentile else "Statistics": [self.statistic]},
        )
        if not answer["Datapoints"]:
            return None
        [point] = answer["Datapoints"]
        found: float = point["ExtendedStatistics"][self.statistic] if percentile else point[self.statistic]
        return found


def _created_s(endpoint: ObservedEndpoint, otherwise_s: float) -> float:
    """When the endpoint was created, in epoch seconds; `otherwise_s` for one that is deleted."""
    sagemaker = endpoint.connection.client("sagemaker")
    try:
        created: datetime = sagemaker.describe_endpoint(EndpointName=endpoint.name)["CreationTime"]
        return created.timestamp()
    except sagemaker.exceptions.ClientError:
        return otherwise_s
    finally:
        sagemaker.close()


def _variants(endpoint: ObservedEndpoint, name: str | None) -> list[VariantState]:
    """The endpoint's variant of this name, or all. Raises AssertionError if there is none."""
    variants = [found for found in state_of(endpoint).variants if name in (None, found.name)]
    if not variants:
        raise AssertionError(f"{endpoint.name} has no variant {name!r}")
    return variants


def _standing(variant: VariantState) -> str:
    """`AllTraffic wants 1 instance: 0 ready, 1 leaving, 0 requests held`"""
    return (
        f"{variant.name} wants {variant.wanted}: {len(variant.instances)} ready, {variant.leaving} leaving, "
        f"{variant.held} requests held, {sum(one.in_flight for one in variant.instances)} in flight"
    )


def _latest(endpoint: ObservedEndpoint) -> str:
    """The last cold start, which says what woke the endpoint last."""
    found = cold_starts(endpoint)
    return f"\n  its last cold start: {found[-1]}" if found else "\n  it had no cold start"
