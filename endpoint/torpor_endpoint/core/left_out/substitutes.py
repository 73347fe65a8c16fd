"""What to use in place of an operation that Torpor does not carry out, by the family that the operation belongs to."""

import re
from typing import Final

CREATE_ENDPOINT = "CreateModel, CreateEndpointConfig and CreateEndpoint"
NO_STUDIO = "Torpor has no Studio: open the notebook in a Jupyter of your own, with AWS_ENDPOINT_URL set."
NO_TRACKING = "Keep runs in a tracking server of your own: a script may call it."
NO_PEOPLE = "Torpor has no people who label: label elsewhere, and put the labels to S3."
NO_DEVICES = "Torpor has no devices: download the artifact from S3 to them."
NO_CLUSTERS = (
    "Torpor runs jobs on this machine: call CreateTrainingJob, or start the endpoint on a Ray cluster or in Kubernetes."
)
CAPTURE = (
    "Torpor makes no monitoring schedules: set DataCaptureConfig in CreateEndpointConfig, and have `torpor drift` compare "
    "what was captured, model by model."
)

SUBSTITUTES: Final[tuple[tuple[str, str], ...]] = (
    (r"\w*(AIBenchmark|AIRecommendation|AIWorkload)\w*", "Measure the endpoint itself, by `torpor replay` and `torpor plan`."),
    (r"GetScalingConfigurationRecommendation", "Take MaxInvocations of DescribeInferenceRecommendationsJob for a target of PutScalingPolicy."),
    (r"\w*(AutoML)\w*", "Call CreateTrainingJob with an algorithm or a script of your own."),
    (r"\w*PipelineVersions?", "A pipeline has one definition here: DescribePipeline shows it, and UpdatePipeline replaces it."),
    (r"SendPipelineExecutionStep\w*", "Torpor has no callback steps: let a processing job wait for what the callback would tell."),
    (r"RetryPipelineExecution", "Call StartPipelineExecution with the same parameters."),
    (r"UpdatePipelineExecution", "Name the execution when it starts: StartPipelineExecution takes PipelineExecutionDisplayName."),
    (r"UpdateTrainingJob|\w*TrainingSession\w*", "A training job runs as it was created: stop it, and create another."),
    (r"\w*(TrainingPlan|ReservedCapacity)\w*", "Torpor reserves no capacity: this machine has what it has."),
    (r"\w*(Cluster|ComputeQuota)\w*", NO_CLUSTERS),
    (r"\w*(CompilationJob|OptimizationJob)\w*", "Deploy the artifact as it is: Torpor makes faster forms of models itself, where they are proved equal."),
    (r"\w*Algorithm\w*", "Name the image in AlgorithmSpecification.TrainingImage of CreateTrainingJob."),
    (r"\w*ModelCard\w*", "Give ModelCard in CreateModelPackage."),
    (r"\w*EndpointPolicy", "One account owns everything: no policy opens it to another one."),
    (r"\w*ModelMetadata\w*", "Torpor knows no list of public models: bring the artifact."),
    (r"\w*(DataQuality|ModelQuality|ModelBias|ModelExplainability|Monitoring)\w*", CAPTURE),
    (r"\w*InferenceRouter\w*", f"Use {CREATE_ENDPOINT} with several variants, or with a model of Mode MultiModel."),
    (r"\w*LineageGroup\w*", "A lineage group shares lineage between accounts, and here one account owns everything: call QueryLineage."),
    (r"\w*(Trial|Experiment|Mlflow|PartnerApp)\w*", NO_TRACKING),
    (r"\w*Feature\w*", "Torpor has no feature store: keep features in S3, or send them with the request."),
    (r"\w*(Hub)\w*", f"Torpor has no hub of models: put the artifact to S3, and call {CREATE_ENDPOINT}."),
    (r"\w*(Label|Workteam|Workforce|HumanTask|FlowDefinition|UiTemplate)\w*", NO_PEOPLE),
    (r"\w*(Device|Edge|StageDevices)\w*", NO_DEVICES),
    (r"StartSession|\w*(Domain|UserProfile|Space|App|AppImageConfig|StudioLifecycleConfig|NotebookInstance)\w*", NO_STUDIO),
    (r"\w*(CodeRepository|CodeRepositories)\w*", "Pack the source as sourcedir.tar.gz, and put it to S3."),
    (r"\w*(Image|Images|ImageVersions?|Aliases)", "Torpor runs the images of its own list, which `--images` extends: docs/how-to/bring-a-container.md."),
    (r"\w*(Project|Servicecatalog|ResourceCatalog)\w*", "Create the resources themselves: Torpor has no templates of projects."),
    (r"\w*(Jobs?|JobSchemaVersions?)", "Call CreateTrainingJob, CreateProcessingJob or CreateTransformJob."),
)  # fmt: skip
"""Patterns of operations' names, and what to use. The first that matches the whole name counts."""


def substitute(operation: str) -> str:
    """What to use instead, in a sentence; empty for an operation that no family has."""
    return next((text for pattern, text in SUBSTITUTES if re.fullmatch(pattern, operation)), "")
