"""The kinds of jobs: the operations of each, and how they differ from AWS. `job_parts` has a queue for each."""

from torpor_endpoint.services.processing import differences as of_processing
from torpor_endpoint.services.processing import operations as processing
from torpor_endpoint.services.recommendations import differences as of_recommendations
from torpor_endpoint.services.recommendations import recommendation_operations as recommendations
from torpor_endpoint.services.training import differences as of_training
from torpor_endpoint.services.training import operations as training
from torpor_endpoint.services.transform import differences as of_transform
from torpor_endpoint.services.transform import operations as transform
from torpor_endpoint.services.tuning import differences as of_tuning
from torpor_endpoint.services.tuning import operations as tuning

KINDS = (
    (training.OPERATIONS, of_training),
    (processing.OPERATIONS, of_processing),
    (tuning.OPERATIONS, of_tuning),
    (transform.OPERATIONS, of_transform),
    (recommendations.OPERATIONS, of_recommendations),
)
"""For each kind its operations by name, and its differences."""

OPERATIONS = tuple(name for operations, _ in KINDS for name in operations)
DIFFERENCES = {name: text for _, of_kind in KINDS for name, text in of_kind.DIFFERENCES.items()}
WITHOUT_EFFECT = {name: members for _, of_kind in KINDS for name, members in of_kind.WITHOUT_EFFECT.items()}
