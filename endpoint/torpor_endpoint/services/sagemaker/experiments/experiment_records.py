"""Stores inference experiments, and the endpoints as they were before, in the endpoint's database."""

from torpor_account.aws.errors import AwsError
from torpor_account.storage.databases.database import Database
from torpor_account.storage.record_table import RecordTable
from torpor_endpoint.services.sagemaker.experiments import errors
from torpor_endpoint.services.sagemaker.experiments.lifecycle import InferenceExperiment


class Experiments:
    """Any thread may call its methods. Each waits for the disk."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._table = RecordTable(database, "inference_experiments", InferenceExperiment)

    def add(self, experiment: InferenceExperiment) -> AwsError | None:
        """Add the experiment. Otherwise the error, without a change: its name or its endpoint is taken."""
        with self._database.transaction():
            for other in self._table.all():
                if not other.finished and other.endpoint_name == experiment.endpoint_name:
                    return errors.ENDPOINT_TAKEN(endpoint=experiment.endpoint_name, name=other.name)
            return None if self._table.add(experiment) else errors.TAKEN(name=experiment.name)

    def get(self, name: str) -> InferenceExperiment | None:
        return self._table.get(name)

    def all(self) -> tuple[InferenceExperiment, ...]:
        return self._table.all()

    def unfinished(self) -> list[InferenceExperiment]:
        return [experiment for experiment in self._table.all() if not experiment.finished]

    def has(self, arn: str) -> bool:
        """Whether there is an experiment with this ARN."""
        experiment = self._table.at(arn.rpartition("/")[2])
        return experiment is not None and experiment.arn == arn

    def change(self, old: InferenceExperiment, new: InferenceExperiment) -> bool:
        """Replace the experiment. False, without a change, if it is no longer the old one."""
        return self._table.replace(new, still=old.__eq__)

    def remove(self, experiment: InferenceExperiment) -> bool:
        """Remove the experiment. False, without a change, if it has changed."""
        with self._database.transaction():
            return self._table.get(experiment.name) == experiment and self._table.remove(experiment.name)
