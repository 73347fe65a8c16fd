"""What the operations of lineage act on: what callers have made, and what is made of other records."""

from collections.abc import Callable
from dataclasses import dataclass

from torpor_account.aws.calls import Call
from torpor_endpoint.core.lineage.lineage_graph import LineageGraph
from torpor_endpoint.core.lineage.lineage_records import LineageAssociation, LineageEntity
from torpor_endpoint.services.sagemaker.lineage.derived_lineage import DerivedLineage
from torpor_endpoint.services.training.lifecycle import TrainingJob
from torpor_endpoint.storage.store import Store


@dataclass(frozen=True)
class Lineage:
    """`jobs` gives all training jobs. Its methods block."""

    store: Store
    jobs: Callable[[], tuple[TrainingJob, ...]]
    clock: Callable[[], float]

    def graph(self, call: Call) -> LineageGraph:
        """All lineage. What a caller made comes before what is made of records."""
        derived = DerivedLineage(f"arn:aws:sagemaker:{call.region}:{call.account}")
        made = [
            *(one for job in self.jobs() for one in derived.of_job(job)),
            *(one for package in self.store.packages.packages() for one in derived.of_package(package)),
            *(one for endpoint in self.store.endpoints() for one in derived.of_endpoint(endpoint)),
        ]
        return LineageGraph(
            [*self.store.lineage.entities(), *(one for one in made if isinstance(one, LineageEntity))],
            [*self.store.lineage.associations(), *(one for one in made if isinstance(one, LineageAssociation))],
        )
