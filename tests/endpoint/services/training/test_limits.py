"""Jobs that are stopped, run too long, wait, or are cut off: each ends as it should, and no process of it survives."""

import asyncio

from tests.endpoint.services.helpers.training_in_folder import TrainingFolder, job
from tests.helpers.processes import marked
from tests.helpers.waiting import PATIENCE_S, reached, soon

SLEEPER = "import time; print('asleep', flush=True); time.sleep(600)"

SAVER = """
import os, signal, sys, time
def save(number, frame):
    open(os.environ["SM_MODEL_DIR"] + "/model", "w").write("half trained")
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
print("ready", flush=True)
time.sleep(600)
"""

STUBBORN = """
import signal, subprocess, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "600"])
print("ready", flush=True)
time.sleep(600)
"""


async def printed(training: TrainingFolder, text: str, name: str = "job") -> None:
    """Once the script has said so."""
    logs = training.logs / name
    await reached(lambda: text in "".join(path.read_text() for path in logs.glob("*.log")), 60.0, 0.01)


def test_a_stopped_script_may_save_its_model_first(training: TrainingFolder) -> None:
    async def story() -> None:
        training.script(SAVER)
        async with training.open() as api:
            await api("CreateTrainingJob", **job())
            await printed(training, "\nready")
            await api("StopTrainingJob", TrainingJobName="job")
            assert (await api.describe())["TrainingJobStatus"] == "Stopping"
            await api.training.queue.ended("job")
            described = await api.describe()
        assert (described["TrainingJobStatus"], described["SecondaryStatus"]) == ("Stopped", "Stopped")
        assert training.members("jobs/job/output/model.tar.gz")["model"] == b"half trained"

    asyncio.run(story())


def test_a_script_that_runs_too_long_is_ended(training: TrainingFolder) -> None:
    async def story() -> None:
        training.script(SLEEPER)
        async with training.open() as api:
            described = await api.trained(StoppingCondition={"MaxRuntimeInSeconds": 1})
        assert (described["TrainingJobStatus"], described["SecondaryStatus"]) == ("Stopped", "MaxRuntimeExceeded")
        assert described["BillableTimeInSeconds"] >= 1

    asyncio.run(story())


def test_a_script_that_will_not_end_is_killed_with_all_it_started(training: TrainingFolder) -> None:
    async def story() -> None:
        training.script(STUBBORN)
        async with training.open(grace_s=0.1) as api:
            await api("CreateTrainingJob", **job(Environment={"MARK": str(training.folder)}))
            await printed(training, "\nready")
            assert len(marked(f"MARK={training.folder}")) == 2
            await api("StopTrainingJob", TrainingJobName="job")
            await api.training.queue.ended("job")
            assert soon(lambda: not marked(f"MARK={training.folder}"))
            assert (await api.describe())["TrainingJobStatus"] == "Stopped"

    asyncio.run(story())


def test_a_job_waits_for_its_turn_and_can_be_stopped_meanwhile(training: TrainingFolder) -> None:
    async def story() -> None:
        training.script(SLEEPER)
        async with training.open(at_once=1) as api:
            await api("CreateTrainingJob", **job("first"))
            await api.reached("Training", "first")
            await api("CreateTrainingJob", **job("second"))
            await api("CreateTrainingJob", **job("third"))
            assert (await api.describe("second"))["SecondaryStatus"] == "Starting"
            await api("StopTrainingJob", TrainingJobName="second")
            await api.training.queue.ended("second")
            assert (await api.describe("second"))["TrainingJobStatus"] == "Stopped"
            assert "TrainingTimeInSeconds" not in {k: v for k, v in (await api.describe("second")).items() if v}
            await api("StopTrainingJob", TrainingJobName="first")
            await api.reached("Training", "third")

    asyncio.run(story())


def test_a_restart_fails_the_running_job_and_starts_the_waiting_one(training: TrainingFolder) -> None:
    async def story() -> None:
        training.script(SLEEPER)
        async with training.open() as api:
            await api("CreateTrainingJob", **job("ran", Environment={"MARK": str(training.folder)}))
            await printed(training, "asleep", "ran")
            await api("CreateTrainingJob", **job("waited"))
        assert soon(lambda: not marked(f"MARK={training.folder}"))
        training.script("print('done')")
        async with training.open() as api:
            ran = await api.describe("ran")
            assert ran["TrainingJobStatus"] == "Failed"
            assert "The endpoint stopped while the training job was Training" in ran["FailureReason"]
            await api.training.queue.ended("waited")
            assert (await api.describe("waited"))["TrainingJobStatus"] == "Completed"
        assert not list(training.jobs_folder.iterdir())

    asyncio.run(story())


def test_files_of_a_killed_endpoint_are_removed(training: TrainingFolder) -> None:
    async def story() -> None:
        training.script(SLEEPER)
        async with training.open() as api:
            await api("CreateTrainingJob", **job())
            await printed(training, "asleep")
        left = training.jobs_folder / "job" / "code" / "train.py"
        left.parent.mkdir(parents=True)
        left.write_text("as after kill -9")
        async with training.open():
            assert not list(training.jobs_folder.iterdir())

    asyncio.run(story())


def test_the_output_of_a_chatterbox_is_bounded(training: TrainingFolder) -> None:
    async def story() -> None:
        training.script(
            "import sys\nfor _ in range(20): sys.stdout.write('x' * (1 << 20))\nprint('\\nthe end')\nexit(1)"
        )
        async with training.open() as api:
            described = await api.trained()
        assert len(training.log("job")) < 17 * 2**20
        assert 'ErrorMessage "the end"' in described["FailureReason"]

    asyncio.run(story())


def test_a_detached_process_that_holds_the_pipe_does_not_delay_the_jobs_end(training: TrainingFolder) -> None:
    async def story() -> None:
        training.script(
            "import subprocess, sys\n"
            "away = subprocess.Popen(['sleep', '30'], start_new_session=True)\nprint('away', away.pid)"
        )
        async with training.open() as api:
            described = await asyncio.wait_for(api.trained(), PATIENCE_S)
        assert described["TrainingJobStatus"] == "Completed"

    asyncio.run(story())
