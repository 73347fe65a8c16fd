"""What `torpor tune` prints: the best choices, what each setting does near the best, and what is not known."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from torpor.cli.bill_table import beside, bill_table
from torpor.cli.commands.studies.confirm import show as show_confirmation
from torpor.cli.commands.studies.json_outputs import value_text
from torpor.cli.commands.studies.plan import SPARE, marked, spread_of
from torpor.cli.console import console, fitted, plain_table
from torpor.prices.dollars import dollars
from torpor_endpoint.core.pages.plain_figures import counted, milliseconds

if TYPE_CHECKING:
    from torpor.confirming.tuned_confirmation import TunedConfirmation
    from torpor.simulator.planning.search import PlanCandidate
    from torpor.simulator.tuning.tune_result import TuneResult

SHOWN = 8
IN_NAME = frozenset({"TORPOR_POLICY", "TORPOR_KEEP_ALIVE", "TORPOR_IDLE_SECONDS", "TORPOR_MODEL_IDLE_SECONDS"})
"""The settings that a scenario's name has."""
ENDED: Mapping[str, str] = {
    "used up": "as many as were allowed (--evaluations)",
    "nothing new": "until nothing new was proposed",
    "out of time": "until the time was over (--within)",
    "interrupted": "until it was interrupted",
}


def show(found: "TuneResult", chosen: "PlanCandidate | None", confirmed: "Sequence[TunedConfirmation]") -> None:
    """Print all of it. `chosen` is what is proposed after the live runs."""
    printer = console()
    printer.print(f"{found.goal} · {tried(found)}", style="bold")
    printer.print(best_tried(found, printer.width))
    printer.print(f"\n{answer(found)}\n")
    if found.bill.lines:
        printer.print(bill_table("", found.bill.lines, "a month"))
    if found.effects:
        printer.print(settings(found))
        printer.print()
    for live in confirmed:
        show_confirmation(live.confirmation)
        printer.print()
    if chosen is not None:
        printer.print(f"{found.call(chosen)}\n", soft_wrap=True)
    for one in doubts(found, confirmed):
        printer.print(f"doubt: {one}")
    prices = f"US dollars at the prices of {found.prices.priced_on}: {found.prices.source}."
    printer.print(f"\nseed {found.inputs.seed} · {prices}", style="dim")
    for kind, notes in (("assumed", found.inputs.notes), ("left out", found.left_out)):
        for note in notes:
            printer.print(f"{kind}: {note}", style="dim")


def tried(found: "TuneResult") -> str:
    """`41 of 9,216 choices simulated until nothing new was proposed`."""
    return f"{found.evaluations:,} of {counted(found.choices, 'choice')} simulated, {ENDED[found.ended]}"


def best_tried(found: "TuneResult", width: int) -> Table | str:
    """What was simulated to its end: first what meets the goal, by price; the best first."""
    ended = [one for one in found.tried if one.candidate is not None and one.candidate.results]
    if not ended:
        return "None came near."
    best = None if found.best is None else found.best.scenario
    ended.sort(key=lambda one: (not one.meets, one.rank, one.scenario != best))
    shown = list({one.rank: one for one in reversed(ended)}.values())[::-1][:SHOWN]
    place = next((number for number, one in enumerate(shown) if one.scenario == best), None)
    table = fitted(
        [_row(found, one.candidate, number == place) for number, one in enumerate(shown)], SPARE, width, place
    )
    if rest := len(found.tried) - len(shown):
        table.add_row(f"and {rest:,} more: alike, dearer, or stopped early", style="dim")
    return table


def _row(found: "TuneResult", one: "PlanCandidate | None", best: bool) -> Mapping[str, str]:
    assert one is not None
    result = one.results[0]
    return {
        "tried": " ".join([one.scenario.name, *(f"{name}={value}" for name, value in _unnamed(one))]),
        "a month": dollars(result.usd_per_month(found.prices)),
        "hits": f"{result.hit_ratio:.2%}",
        "p99": milliseconds(result.p99_s) if result.requests > result.failed else "-",
        "late": f"{result.slo_misses(found.goal.slo_s):.2%}",
        "": marked("the best" if best else "meets it" if one.meets else "too slow", one.scenario.on_aws),
    }


def _unnamed(one: "PlanCandidate") -> Iterator[tuple[str, str]]:
    """The settings that a scenario's name does not have."""
    for name, value in one.scenario.environment().items():
        if name not in IN_NAME:
            yield name.removeprefix("TORPOR_"), value


def settings(found: "TuneResult") -> Table:
    """A row for each setting: the chosen value, and what other values do, changed alone."""
    shown = plain_table("each setting, changed alone", "setting", "chosen", "no difference", "worse", "not tried")
    for one in found.effects:
        cells = (", ".join(map(value_text, values)) for values in (one.without_effect, one.worse, one.untried))
        shown.add_row(one.name, value_text(one.best), *cells)
    return shown


def answer(found: "TuneResult") -> str:
    """The best in one sentence, with its price; or how near the nearest came."""
    if found.best is not None:
        usd = f"{dollars(found.bill.usd)}{beside(found.bill.unpriced)}"
        return " ".join([f"{found.best.scenario.name}: {usd} a month.", *_seeds(found)])
    told = f"Nothing that was tried meets {found.goal}."
    nearest = found.nearest
    if nearest is None or nearest.candidate is None:
        why = dict.fromkeys(one.why_not for one in found.tried)
        return " ".join([told, *(f"{one}." for one in list(why)[:1])])
    return f"{told} The nearest was {nearest.candidate.scenario.name}: {nearest.why_not}."


def doubts(found: "TuneResult", confirmed: "Sequence[TunedConfirmation]") -> list[str]:
    """What is not known of the answer, in words."""
    return [*_of_search(found), *_of_requests(found), *_of_live_runs(found, confirmed)]


# -- inside ------------------------------------------------------------------------------------------------------------
def _seeds(found: "TuneResult") -> Iterator[str]:
    met, of = found.agree
    if of > 1:
        yield f"{met} of {of} seeds meet the SLO, {', '.join(map(spread_of, found.spread))}."


def _of_search(found: "TuneResult") -> Iterator[str]:
    if found.evaluations < found.choices:
        yield f"{tried(found)}: another choice may be cheaper still"
    untried = [f"{one.name} {', '.join(map(value_text, one.untried))}" for one in found.effects if one.untried]
    if untried:
        yield f"not tried beside the other settings of the best: {'; '.join(untried)}"
    met, of = found.agree
    if met < of:
        yield f"only {met} of {of} seeds meet the SLO with the best, and nothing else that was tried is surer"


def _of_requests(found: "TuneResult") -> Iterator[str]:
    if found.requests < found.of:
        yield f"only the first {found.requests:,} of {counted(found.of, 'request')} were simulated (--requests)"
    if found.best is not None and not found.conclusive:
        share = f"{found.goal.quantile * 100:.6g} %"
        few = f"{counted(found.requests, 'request')} are too few to know whether {share} are in time"
        yield f"{few}: give {found.goal.enough:,} or more"


def _of_live_runs(found: "TuneResult", confirmed: "Sequence[TunedConfirmation]") -> Iterator[str]:
    if found.best is None:
        return
    if not confirmed:
        yield "no live run: --confirm 1 --models DIR --body FILE sends the trace to an endpoint of the best"
    for one in confirmed:
        compared = one.confirmation.compared
        if compared.live_meets is None:
            yield f"{one.candidate.scenario.name}: this machine was too busy to say whether it meets the SLO live"
        elif not compared.live_meets:
            yield f"{one.candidate.scenario.name} does not meet the SLO live, and is not proposed"
        elif not one.confirmation.part.whole:
            part = one.confirmation.part
            yield f"the live run had {counted(part.requests, 'request')} of {part.of:,}"
