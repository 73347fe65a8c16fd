"""What notebooks call around inference, with version 2 of the SageMaker Python SDK: a tuning job and a pipeline."""

from pathlib import Path
from typing import Any

from tests.clients.helpers.sagemaker_endpoint import SageMakerEndpoint, Steps

SCRIPT = """
import argparse, os
parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, default=0.5)
given, _ = parser.parse_known_args()
print(f"loss={abs(given.rate - 0.5)};")
open(os.path.join(os.environ["SM_MODEL_DIR"], "rate.txt"), "w").write(str(given.rate))
"""
MEASURE = """
import json, sys
json.dump({"loss": float(sys.argv[1])}, open("/opt/ml/processing/output/report.json", "w"))
"""


def tuning_job(step: Steps, around: SageMakerEndpoint, session: Any) -> None:
    from sagemaker import get_execution_role
    from sagemaker.sklearn import SKLearn
    from sagemaker.tuner import ContinuousParameter, HyperparameterTuner

    script = Path(around.path("tuned")) / "train.py"
    script.parent.mkdir()
    script.write_text(SCRIPT)
    role = get_execution_role(session)
    trained = SKLearn(
        str(script), framework_version="1.2-1", instance_type="ml.m5.large", role=role, sagemaker_session=session
    )
    with step("HyperparameterTuner.fit, and its best training job"):
        tuner = HyperparameterTuner(
            trained,
            "loss",
            {"rate": ContinuousParameter(0.001, 1)},
            [{"Name": "loss", "Regex": "loss=([0-9.]+)"}],
            objective_type="Minimize",
            max_jobs=3,
            max_parallel_jobs=2,
        )
        tuner.fit(wait=True)
        losses = tuner.analytics().dataframe().set_index("TrainingJobName")["FinalObjectiveValue"]
        assert losses[tuner.best_training_job()] == min(losses), losses


def workflow(step: Steps, around: SageMakerEndpoint, session: Any) -> None:
    from sagemaker import get_execution_role
    from sagemaker.processing import ProcessingOutput
    from sagemaker.sklearn.processing import SKLearnProcessor
    from sagemaker.workflow.condition_step import ConditionStep
    from sagemaker.workflow.conditions import ConditionLessThan
    from sagemaker.workflow.fail_step import FailStep
    from sagemaker.workflow.functions import JsonGet
    from sagemaker.workflow.parameters import ParameterString
    from sagemaker.workflow.pipeline import Pipeline
    from sagemaker.workflow.pipeline_context import PipelineSession
    from sagemaker.workflow.properties import PropertyFile
    from sagemaker.workflow.steps import ProcessingStep

    script = Path(around.path("measure")) / "measure.py"
    script.parent.mkdir()
    script.write_text(MEASURE)
    later, role = PipelineSession(), get_execution_role(session)
    processor = SKLearnProcessor("1.2-1", role, instance_type="ml.m5.large", instance_count=1, sagemaker_session=later)
    loss, report = ParameterString("Loss", default_value="0.25"), PropertyFile("Report", "out", "report.json")
    output = ProcessingOutput(output_name="out", source="/opt/ml/processing/output")
    measure = ProcessingStep(
        "Measure",
        step_args=processor.run(code=str(script), outputs=[output], arguments=[loss]),
        property_files=[report],
    )
    measured = JsonGet(step_name="Measure", property_file=report, json_path="loss")
    check = ConditionStep(
        "Check", conditions=[ConditionLessThan(measured, 0.5)], if_steps=[], else_steps=[FailStep("Stop", "too much")]
    )
    pipeline = Pipeline("measured", [loss], steps=[measure, check], sagemaker_session=later)
    with step("Pipeline.upsert, twice"):
        assert pipeline.upsert(role)["PipelineArn"] == pipeline.upsert(role)["PipelineArn"]
    for value, status in (("0.25", "Succeeded"), ("0.75", "Failed")):
        with step(f"Pipeline.start: {status}"):
            execution = pipeline.start({"Loss": value})
            while (now := execution.describe())["PipelineExecutionStatus"] == "Executing":
                pass
            assert now["PipelineExecutionStatus"] == status, now
            outcomes = [
                one["Metadata"]["Condition"]["Outcome"] for one in execution.list_steps() if one["StepName"] == "Check"
            ]
            assert outcomes == [str(status == "Succeeded")]
    with step("Pipeline.delete"):
        pipeline.delete()
