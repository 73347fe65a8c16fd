"""What the operations on inference experiments and their runner act on."""

from dataclasses import field

from torpor_account.wakeup import Wakeup
from torpor_container.frozen_class import frozen
from torpor_endpoint.services.sagemaker.context import Control
from torpor_endpoint.services.sagemaker.experiments.experiment_records import Experiments


@frozen
class Experimenting:
    """The control plane, whose clock is the experiments' too, and the records. `wakeup` wakes the runner."""

    control: Control
    experiments: Experiments
    wakeup: Wakeup = field(default_factory=Wakeup)
