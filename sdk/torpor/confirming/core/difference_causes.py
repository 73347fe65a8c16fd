"""Names the causes of what differs between a forecast and a live endpoint, as far as the measurements show them."""

from collections.abc import Iterator, Mapping

from torpor.confirming.core.forecast_beside_fact import SENT_LATE_MAX, WAITING_MAX, ForecastBesideFact

NOTICED = 1.25
"""A step that takes this many times as long, or as short, is a cause."""
NOTICED_S = 0.001
"""A difference that is smaller is none."""
BILL_NOTICED = 0.02
"""A difference of a bill that is a smaller share of the forecast is none."""
TIMED = frozenset({"hit ratio", "p50_s", "p99_s", "late", "usd"})
"""The figures that slower steps change."""
STEPS: Mapping[str, str] = {
    "wake_s": "an instance woke in",
    "load_s": "a model came into memory in",
    "predict_s": "a prediction, with its wait for a thread, took",
    "overhead_s": "the rest of a request took",
}


def causes(compared: ForecastBesideFact, plan_processors: int, failures: Mapping[str, str]) -> Iterator[str]:
    """The causes in words, those of the machine first. `plan_processors` are the processors of all instances of the
    plan; `failures` has the first message of each kind of error."""
    yield from _of_machine(compared, plan_processors)
    yield from _of_failures(compared, failures)
    yield from _of_steps(compared)
    yield from _of_memory(compared)
    yield from _of_bill(compared)


def _of_machine(compared: ForecastBesideFact, plan_processors: int) -> Iterator[str]:
    strain, slo_s = compared.strain, compared.goal.slo_s
    if strain.sent_late_s > SENT_LATE_MAX * slo_s:
        bound = strain.in_flight_most >= strain.in_flight_max
        why = f"{strain.in_flight_max:,} were in flight, the most allowed" if bound else "the machine sent no faster"
        yield f"requests were sent up to {_time(strain.sent_late_s)} late (p99): {why}"
    if strain.waiting_share > WAITING_MAX:
        yield (
            f"the machine was busy: for {strain.waiting_share:.0%} of the time some process waited for a processor,"
            f" where {WAITING_MAX:.0%} is bearable"
        )
    if plan_processors > strain.processors:
        yield f"the plan's instances have {plan_processors} processors, and this machine has {strain.processors}"


def _of_failures(compared: ForecastBesideFact, failures: Mapping[str, str]) -> Iterator[str]:
    if compared.live.failed > compared.forecast.failed:
        told = "; ".join(f"{kind}: {message}" if message else kind for kind, message in failures.items())
        yield f"{compared.live.failed:,} requests failed, where {compared.forecast.failed:,} were to fail ({told})"


def _of_steps(compared: ForecastBesideFact) -> Iterator[str]:
    """Of times that agree, a step explains nothing: its profile may be right where few requests met a slow one."""
    if all(one.agrees for one in compared.figures if one.figure in TIMED):
        return
    for name, words in STEPS.items():
        here, there = getattr(compared.forecast.steps, name), getattr(compared.live.steps, name)
        if here is None or there is None or abs(there - here) < NOTICED_S:
            continue
        if there > NOTICED * here or here > NOTICED * there:
            how = "slower" if there > here else "quicker"
            yield f"{how} than the profile: {words} {_time(there)} on average, and not in {_time(here)}"


def _of_memory(compared: ForecastBesideFact) -> Iterator[str]:
    here, there = compared.forecast, compared.live
    if here.wakes == there.wakes and there.evictions > 1.02 * here.evictions + 1:
        yield "models or instances took more memory than the profiles say: more of them were evicted"
    elif here.wakes == there.wakes and here.evictions > 1.02 * there.evictions + 1:
        yield "models or instances took less memory than the profiles say: fewer of them were evicted"
    if here.wakes != there.wakes:
        yield f"{there.wakes:,} wakes, where {here.wakes:,} were forecast: the models of each come anew"


def _of_bill(compared: ForecastBesideFact) -> Iterator[str]:
    """What slower calls make of the difference: their number, times what each took more."""
    here, there, again = compared.forecast, compared.live, compared.usd_by_live_times
    if not compared.by_duration or here.usd is None or there.usd is None or again is None or not there.requests:
        return
    off_usd = there.usd - here.usd
    if abs(off_usd) <= BILL_NOTICED * here.usd:
        return
    each_s, forecast_s = (one.billed_ms / max(1, one.requests) / 1000 for one in (there, here))
    yield (
        f"{(again - here.usd) / off_usd:.0%} of the bill's difference is the time of calls: {there.requests:,} of them"
        f" are billed for {_time(each_s)} on average, and not for {_time(forecast_s)}"
    )


def _time(seconds: float) -> str:
    return f"{seconds * 1000:,.3g} ms" if seconds < 1 else f"{seconds:,.3g} s"
