"""The live runs of `torpor tune --confirm`: which choices are confirmed, and what follows from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from torpor.cli.commands.studies.replay import read_body, watching
from torpor.cli.exit_codes import ExitCode, UsageRefused

if TYPE_CHECKING:
    from torpor.confirming.tuned_confirmation import TunedConfirmation
    from torpor.replay.paced_sending import Body
    from torpor.simulator.planning.search import PlanCandidate
    from torpor.simulator.tuning.tune_result import TuneResult
    from torpor_endpoint.core.pricing.prices import Prices


@dataclass(frozen=True)
class LiveRuns:
    """What is asked for: how many choices to confirm at most, with what, and how long. Raises UsageRefused."""

    most: int
    models: Path | None
    body: Path | None
    bodies: Path | None
    content_type: str | None
    within_s: float
    requests_max: int

    def __post_init__(self) -> None:
        if self.most and self.models is None:
            raise UsageRefused("--confirm starts an endpoint: say of which artifacts with --models DIR")
        if self.most and (self.body is None) == (self.bodies is None):
            raise UsageRefused("--confirm sends requests: say what with --body FILE for all models, or --bodies DIR")
        if not self.most and (self.models or self.body or self.bodies):
            raise UsageRefused("--models, --body and --bodies are for live runs: say how many with --confirm 1")

    def of(self, found: "TuneResult", prices: "Prices") -> "Sequence[TunedConfirmation]":
        """The best choices beside what live endpoints did, until one meets the goal. Raises TorporError."""
        from torpor.confirming.plan_confirmation import Confirmation, confirm
        from torpor.confirming.tuned_confirmation import confirm_best
        from torpor.simulator.planning.recorded_plan import ConfirmablePlan

        if not self.most or found.best is None:
            return ()
        bodies = self._bodies(found)

        def confirmed(plan: ConfirmablePlan) -> Confirmation:
            with watching(min(found.requests, self.requests_max)) as watch:
                return confirm(
                    plan, body=bodies, models=self.models, within_s=self.within_s, requests_max=self.requests_max,
                    prices=prices, watch=watch,
                )  # fmt: skip

        return tuple(confirm_best(found, self.most, confirmed))

    def _bodies(self, found: "TuneResult") -> "Body":
        from torpor.simulator.simulation_inputs import names_of

        return read_body(self.body, self.bodies, self.content_type, names_of(found.inputs.trace))


def chosen(found: "TuneResult", confirmed: "Sequence[TunedConfirmation]") -> "PlanCandidate | None":
    """What is proposed: the choice that met the goal live; else the best that no live run refuted. None if there is
    none."""
    for one in confirmed:
        if one.confirmation.compared.live_meets:
            return one.candidate
    unknown = [one.candidate for one in confirmed if one.confirmation.compared.live_meets is None]
    return next(iter(unknown), None) if confirmed else found.best


def ended(found: "TuneResult", confirmed: "Sequence[TunedConfirmation]") -> ExitCode:
    """The code with which the command ends."""
    if any(one.confirmation.replayed.interrupted for one in confirmed):
        return ExitCode.INTERRUPTED
    if found.best is None:
        return ExitCode.NO_PLAN
    met = [one.confirmation.compared.live_meets for one in confirmed]
    if not met or True in met:
        return ExitCode.DONE
    return ExitCode.TOO_BUSY if None in met else ExitCode.FAILED
