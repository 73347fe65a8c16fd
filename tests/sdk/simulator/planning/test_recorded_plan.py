"""Plans in files: what is written is read, and simulates to the same figures."""

import json
from pathlib import Path

import pytest

import torpor
from torpor.errors import TorporError
from torpor.simulator.planning.recorded_plan import RecordedPlan, confirmable, read_plan
from torpor.simulator.simulation_run import run
from torpor_container.typed_json import written
from torpor_endpoint.core.resource_records import Serverless

CALLS = "time_s,model\n" + "".join(f"{30 * number},{'ab'[number % 2]}\n" for number in range(40))
MODELS = "model,memory_bytes,load_s,predict_s\na,1000000,0.5,0.02\nb,1000000,0.5,0.02\n"
SPACE = torpor.PlanSpace(["ml.t2.medium"], instances_max=1, idle_s=[60.0])


@pytest.fixture
def planned(tmp_path: Path) -> torpor.PlanResult:
    (tmp_path / "calls.csv").write_text(CALLS)
    (tmp_path / "models.csv").write_text(MODELS)
    return torpor.plan(tmp_path / "calls.csv", tmp_path / "models.csv", slo_s=1.0, quantile=0.5, space=SPACE)


def recorded(planned: torpor.PlanResult, folder: Path) -> Path:
    file = folder / "plan.json"
    file.write_text(json.dumps(written(RecordedPlan.of(planned))))
    return file


def test_a_plan_in_a_file_is_simulated_to_the_same_figures(planned: torpor.PlanResult, tmp_path: Path) -> None:
    assert planned.best is not None
    found = confirmable(recorded(planned, tmp_path))
    assert (found.scenario, found.goal) == (planned.best.scenario, planned.goal)
    assert run(found.inputs, found.scenario).summary() == planned.seeds[0].summary()


def test_a_serverless_plan_is_read_as_it_was(planned: torpor.PlanResult, tmp_path: Path) -> None:
    recorded(planned, tmp_path)
    plan = json.loads((tmp_path / "plan.json").read_text())
    serverless = torpor.Scenario(serverless=Serverless(2048, 5))
    (tmp_path / "plan.json").write_text(json.dumps(plan | {"scenario": written(serverless)}))
    assert confirmable(tmp_path / "plan.json").scenario == serverless


def test_its_files_are_found_beside_it(
    planned: torpor.PlanResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = recorded(planned, tmp_path)
    file.write_text(file.read_text().replace(f"{tmp_path}/", ""))
    monkeypatch.chdir("/")
    assert len(confirmable(file).inputs.profiles) == 2


def test_a_trace_in_memory_is_in_no_file(tmp_path: Path) -> None:
    trace = torpor.workloads.recorded([(0.0, "a"), (60.0, "b")])
    profiles = {name: torpor.workloads.profile.ModelProfile(name, 1_000_000, 0) for name in "ab"}
    planned = torpor.plan(trace, profiles, slo_s=1.0, quantile=0.5, space=SPACE)
    with pytest.raises(TorporError, match="the plan's trace was not in a file: pass the PlanResult itself"):
        confirmable(recorded(planned, tmp_path))
    assert confirmable(planned).inputs.trace is planned.inputs.trace


def test_where_nothing_meets_the_goal_there_is_nothing_to_confirm(tmp_path: Path) -> None:
    (tmp_path / "calls.csv").write_text(CALLS)
    planned = torpor.plan(tmp_path / "calls.csv", slo_s=1e-6, space=SPACE)
    with pytest.raises(TorporError, match="there is no plan to confirm: nothing in its space meets 99 %"):
        confirmable(planned)
    with pytest.raises(TorporError, match=r"plan\.json: there is no plan to confirm"):
        confirmable(recorded(planned, tmp_path))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"slo_s": "soon"}', "time_s,model\n0,a\n"])
def test_a_file_that_is_no_plan_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(TorporError, match=r"plan\.json is no plan: it is what `torpor plan TRACE"):
        read_plan(tmp_path / "plan.json")
