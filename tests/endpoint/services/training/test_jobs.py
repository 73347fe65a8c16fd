"""Jobs that run to their end, well or badly: the environment of their scripts, and the files that remain."""

import asyncio
import io
import json

import joblib
import pytest
import xgboost

from tests.endpoint.helpers.model_artifacts import put
from tests.endpoint.services.helpers.training_in_folder import FORGOTTEN, SKLEARN, XGBOOST, TrainingFolder, channel
from tests.helpers.thorough_values import thorough

FOREST = """
import argparse, os
import joblib, numpy as np
from sklearn.ensemble import RandomForestRegressor

parser = argparse.ArgumentParser()
parser.add_argument("--n-estimators", type=int)
parser.add_argument("--model-dir", default=os.environ["SM_MODEL_DIR"])
parser.add_argument("--train", default=os.environ["SM_CHANNEL_TRAIN"])
args = parser.parse_args()
rows = np.loadtxt(os.path.join(args.train, "houses.csv"), delimiter=",")
forest = RandomForestRegressor(args.n_estimators, random_state=0).fit(rows[:, 1:], rows[:, 0])
print("trees:", len(forest.estimators_))
joblib.dump(forest, os.path.join(args.model_dir, "model.joblib"))
"""

GIVEN = """
import json, os, sys
from pathlib import Path
seen = {"arguments": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}
Path(os.environ["SM_OUTPUT_DATA_DIR"], "seen.json").write_text(json.dumps(seen))
"""

HOUSES = "3.0,1,2\n5.0,2,3\n7.0,3,4\n9.0,4,5\n"


def test_a_script_trains_a_model_from_its_channel(training: TrainingFolder) -> None:
    async def story() -> None:
        training.script(FOREST)
        put(training.bucket, {"data/train/houses.csv": HOUSES.encode()})
        async with training.open() as api:
            inputs = [channel("train", "s3://bucket/data/train")]
            described = await api.trained(hyperparameters={"n-estimators": "7"}, InputDataConfig=inputs)
        assert (described["TrainingJobStatus"], described["SecondaryStatus"]) == ("Completed", "Completed")
        stages = [past["Status"] for past in described["SecondaryStatusTransitions"]]
        assert stages == ["Starting", "Downloading", "Training", "Uploading", "Completed"]
        assert described["ModelArtifacts"]["S3ModelArtifacts"] == "s3://bucket/jobs/job/output/model.tar.gz"
        forest = joblib.load(io.BytesIO(training.members("jobs/job/output/model.tar.gz")["model.joblib"]))
        assert len(forest.estimators_) == 7
        assert "trees: 7" in training.log("job")

    asyncio.run(story())


def test_a_container_entrypoint_is_the_command_of_the_job(training: TrainingFolder) -> None:
    """As SDK v3's ModelTrainer has it: a shell that runs a script of a channel."""

    async def story() -> None:
        source = b"cd /opt/ml/input/data/code && python write.py $1 > /opt/ml/model/said.txt"
        put(training.bucket, {"code/run.sh": source, "code/write.py": b"import sys; print(*sys.argv[1:])"})
        async with training.open() as api:
            described = await api.trained(
                AlgorithmSpecification={
                    "TrainingImage": SKLEARN,
                    "TrainingInputMode": "File",
                    "ContainerEntrypoint": ["/bin/bash"],
                    "ContainerArguments": ["/opt/ml/input/data/code/run.sh", "seven"],
                },
                HyperParameters={},
                InputDataConfig=[channel("code", "s3://bucket/code/")],
            )
        assert described["TrainingJobStatus"] == "Completed", described
        assert training.members("jobs/job/output/model.tar.gz")["said.txt"] == b"seven\n"

    asyncio.run(story())


def test_a_script_has_the_environment_of_the_training_toolkit(training: TrainingFolder) -> None:
    async def story() -> None:
        training.script(GIVEN)
        put(training.bucket, {"data/train.csv": b"1,2"})
        hyperparameters = {"eta": "0.5", "b": '"text"', "flag": "true", "list": "[1, 2]", "plain": "not json"}
        async with training.open() as api:
            inputs = [channel("train", "s3://bucket/data/train.csv", ContentType="text/csv")]
            await api.trained(hyperparameters=hyperparameters, InputDataConfig=inputs, Environment={"MINE": "yes"})
        seen = json.loads(training.members("jobs/job/output/output.tar.gz")["seen.json"])
        environment = seen["environment"]
        expected = ["-b", "text", "--eta", "0.5", "--flag", "True", "--list", "[1, 2]", "--plain", "not json"]
        assert seen["arguments"] == expected
        assert json.loads(environment["SM_USER_ARGS"]) == seen["arguments"]
        assert (environment["SM_HP_ETA"], environment["SM_HP_FLAG"], environment["SM_HP_B"]) == ("0.5", "true", "text")
        assert json.loads(environment["SM_HPS"])["list"] == [1, 2]
        assert environment["SM_CHANNEL_TRAIN"].endswith("/training/job/input/data/train")
        assert json.loads(environment["SM_INPUT_DATA_CONFIG"])["train"]["ContentType"] == "text/csv"
        assert json.loads(environment["SM_TRAINING_ENV"])["hyperparameters"]["eta"] == 0.5
        assert seen["folder"].endswith("/training/job/code")
        assert environment["MINE"] == "yes"
        assert not [name for name in environment if name.startswith(FORGOTTEN)]

    asyncio.run(story())


FIXED_PATHS = """
import json
from sagemaker_containers import entry_point
from sagemaker_training import environment
facts = environment.Environment()
words = open("/opt/ml/input/data/words/words.txt").read()
open("/opt/ml/model/model.txt", "w").write(words + str(facts.hyperparameters["eta"]) + facts.job_name)
"""


@pytest.mark.parametrize("where", ["/opt/ml/input/data/code/sourcedir.tar.gz", *thorough("/opt/ml/input/data/loose")])
def test_a_script_may_lie_in_a_channel_and_have_aws_s_paths_written_into_it(
    training: TrainingFolder, where: str
) -> None:
    """With network isolation, the SageMaker SDK puts the script into the channel `code`."""

    async def story() -> None:
        training.script(FIXED_PATHS)
        put(training.bucket, {"data/words.txt": b"seven", "loose/train.py": FIXED_PATHS.encode()})
        inputs = [
            channel("code", "s3://bucket/code/sourcedir.tar.gz"),
            channel("loose", "s3://bucket/loose"),
            channel("words", "s3://bucket/data/words.txt"),
        ]
        given = {"sagemaker_submit_directory": f'"{where}"', "eta": "0.5"}
        async with training.open() as api:
            described = await api.trained(hyperparameters=given, InputDataConfig=inputs, EnableNetworkIsolation=True)
        if "mount namespace is not available" in training.log("job"):
            pytest.skip("this machine allows no mount namespace")
        assert described["TrainingJobStatus"] == "Completed", training.log("job")
        assert training.members("jobs/job/output/model.tar.gz") == {"model.txt": b"seven0.5job"}

    asyncio.run(story())


def test_a_failing_script_has_awss_failure_reason(training: TrainingFolder) -> None:
    async def story() -> None:
        training.script("print('before')\nraise ValueError('no such column')")
        async with training.open() as api:
            described = await api.trained()
        assert described["TrainingJobStatus"] == "Failed"
        reason = described["FailureReason"]
        assert reason.startswith("AlgorithmError: ExecuteUserScriptError:\nExitCode 1\n")
        assert 'ErrorMessage "ValueError: no such column"' in reason
        assert "Traceback" in training.log("job")
        assert not (training.bucket / "jobs").exists()

    asyncio.run(story())


def test_a_script_may_give_its_own_reason(training: TrainingFolder) -> None:
    async def story() -> None:
        training.script("import os; open(os.environ['SM_OUTPUT_DIR'] + '/failure', 'w').write('too few rows'); exit(3)")
        async with training.open() as api:
            described = await api.trained()
        assert described["FailureReason"] == "AlgorithmError: too few rows, exit code: 3"

    asyncio.run(story())


@pytest.mark.parametrize(
    ("hyperparameters", "inputs", "reason"),
    [
        ({"sagemaker_submit_directory": "s3://bucket/code/none.tar.gz"}, [], "code/none.tar.gz: The specified key"),
        ({"sagemaker_submit_directory": "s3://nowhere/code.tar.gz"}, [], "nowhere/code.tar.gz: The specified bucket"),
        ({"sagemaker_submit_directory": "s3://bucket/data/train.csv"}, [], "train.csv cannot be unpacked"),
        ({}, [channel("train", "s3://bucket/empty")], 'No S3 objects found under S3 URL "s3://bucket/empty"'),
    ],
)
def test_missing_input_fails_its_job(
    training: TrainingFolder, hyperparameters: dict[str, str], inputs: list[dict[str, str]], reason: str
) -> None:
    async def story() -> None:
        training.script("")
        put(training.bucket, {"data/train.csv": b"1,2"})
        async with training.open() as api:
            described = await api.trained(hyperparameters=hyperparameters, InputDataConfig=inputs)
        assert described["TrainingJobStatus"] == "Failed"
        assert described["FailureReason"].startswith("ClientError: ")
        assert reason in described["FailureReason"]

    asyncio.run(story())


def test_a_job_with_a_missing_output_bucket_fails_at_the_upload(training: TrainingFolder) -> None:
    async def story() -> None:
        training.script("import os; open(os.environ['SM_MODEL_DIR'] + '/m', 'w').close()")
        async with training.open() as api:
            described = await api.trained(OutputDataConfig={"S3OutputPath": "s3://nowhere"})
        assert "Artifact upload failed: s3://nowhere/job/output/model.tar.gz" in described["FailureReason"]

    asyncio.run(story())


def test_nothing_but_the_log_is_left_on_disk(training: TrainingFolder) -> None:
    async def story() -> None:
        async with training.open() as api:
            training.script("import os; open(os.environ['SM_MODEL_DIR'] + '/m', 'w').close()")
            await api.trained(name="well")
            training.script("raise SystemExit(1)")
            await api.trained(name="badly")
        assert not list(training.jobs_folder.iterdir())
        assert sorted(path.parent.name for path in training.logs.glob("*/algo-1-*.log")) == ["badly", "well"]

    asyncio.run(story())


@pytest.mark.parametrize(
    ("content_type", "train", "validation"),
    [
        ("text/csv", b"1.0,1,0\n2.0,2,0\n3.0,3,1\n4.0,4,1\n", b"2.5,2,1\n"),
        ("text/libsvm", b"1 0:1 1:0\n2 0:2\n3 0:3 1:1\n4 0:4 1:1\n", b"2 0:2\n"),
    ],
)
def test_xgboost_trains_without_a_script(
    training: TrainingFolder, content_type: str, train: bytes, validation: bytes
) -> None:
    async def story() -> None:
        put(training.bucket, {"data/train/a": train, "data/validation/a": validation})
        names = ("train", "validation")
        inputs = [channel(name, f"s3://bucket/data/{name}/", ContentType=content_type) for name in names]
        algorithm = {"TrainingImage": XGBOOST, "TrainingInputMode": "File"}
        hyperparameters = {
            "num_round": "5",
            "max_depth": "2",
            "objective": "reg:squarederror",
            "eval_metric": "rmse,mae",
        }
        async with training.open() as api:
            described = await api.trained(
                AlgorithmSpecification=algorithm, HyperParameters=hyperparameters, InputDataConfig=inputs
            )
        assert described["TrainingJobStatus"] == "Completed", training.log("job")
        booster = xgboost.Booster(
            model_file=bytearray(training.members("jobs/job/output/model.tar.gz")["xgboost-model"])
        )
        assert (booster.num_boosted_rounds(), booster.num_features()) == (5, 2)
        assert "validation-mae" in training.log("job")

    asyncio.run(story())


@pytest.mark.thorough
def test_the_failure_of_xgboost_names_the_missing_hyperparameter(training: TrainingFolder) -> None:
    async def story() -> None:
        put(training.bucket, {"train/a": b"1,2\n"})
        inputs = [channel("train", "s3://bucket/train", ContentType="text/csv")]
        algorithm = {"TrainingImage": XGBOOST, "TrainingInputMode": "File"}
        async with training.open() as api:
            described = await api.trained(AlgorithmSpecification=algorithm, HyperParameters={}, InputDataConfig=inputs)
        assert described["FailureReason"] == "AlgorithmError: Missing required hyperparameter: num_round, exit code: 1"

    asyncio.run(story())
