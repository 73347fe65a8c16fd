"""How a variant runs in virtual time: its instances, their sizes, and when they and their models rest."""

from dataclasses import dataclass

from torpor.workloads.profile import ContainerProfile
from torpor_container.settings import DEFAULTS
from torpor_endpoint.core.scaling import InstanceRange


@dataclass(frozen=True)
class Rests:
    """When idle models are unloaded: a keep-alive by name, with its fixed time in seconds."""

    policy: str = DEFAULTS.model_keep_alive
    idle_s: float = DEFAULTS.idle_s


@dataclass(frozen=True)
class Machine:
    """One instance: its memory and disk for models in bytes, its threads, and how long it takes to wake. Loads and
    predictions share `processors`; with None, concurrent work never slows down."""

    memory_bytes: int
    disk_bytes: int
    threads: int = 1
    wake_s: float = 0.05
    loads_max: int = DEFAULTS.loads_max
    policy: str = DEFAULTS.policy
    cache: bool = DEFAULTS.model_cache  # ModelCacheSetting
    models_rest: Rests | None = None  # None: a model is unloaded only to make room for another
    processors: int | None = None
    containers: tuple[ContainerProfile, ...] = ()  # of a pipeline, in its order; one of them has the models
    batch_size: int = 1  # the most requests of a model that share a prediction
    batch_delay_s: float = 0.0  # how long one that is smaller than the last waits for more requests
    device_bytes: int = 0  # for models on its device; 0: it has none
    imports_s: float = 0.0  # what the first load of all waits for libraries, and those beside it for the rest

    @property
    def models_at(self) -> int:
        """The number of the container with the models."""
        return next((number for number, one in enumerate(self.containers) if one.models), 0)


@dataclass(frozen=True)
class VariantPlan:
    """How a variant runs: with a fixed number of instances, or with a range of them and a keep-alive."""

    machine: Machine
    instances: int = 1
    sizes: InstanceRange | None = None
    keep_alive: str = DEFAULTS.keep_alive
    idle_s: float = DEFAULTS.idle_s
    begun: bool = False  # True: the first instances are ready when the trace begins; False: they still start
    at_once: int | None = None
    """Of an asynchronous variant: the requests that an instance has at most, while the others wait in one queue."""
    in_flight_max: int | None = None  # of a serverless variant, its MaxConcurrency: a request beyond it is refused
