"""The size of each benchmark, for a full run and for a smoke run."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """Counts, or seconds if the name ends in `_s`."""

    turn_s: float = 0.4
    rounds: int = 9
    connections: tuple[int, ...] = (1, 8, 32)
    one_process: bool = False  # for all sections that do not start an endpoint process themselves
    models: int = 8
    peers: bool = True
    onnx: bool = True
    cold_calls: int = 40
    cold_others: tuple[int, ...] = (10, 1_000)
    cold_others_peers: int = 100
    boosters: int = 10_000
    registered: int = 10_000
    resident: int = 2_000
    model_idle_s: float = 300.0
    existing: tuple[int, ...] = (1, 100_000)
    starts: int = 5
    body_bytes: int = 6 * 2**20
    body_rounds: int = 5
    quiet_s: float = 20.0
    residents: tuple[int, ...] = (1, 8, 100, 1_000, 2_000)
    trees: int = 1_000
    forest: int = 100
    small: int = 20
    pauses_ms: tuple[int, ...] = (0, 5)
    costly_connections: tuple[int, ...] = (1, 32)
    costly_turn_s: float = 1.0
    parts: int = 10_000
    large_parts: int = 1_024
    scored: int = 1_000_000
    transforms: tuple[int, ...] = (1, 2)
    fleets: tuple[int, ...] = (10, 100, 1_000, 5_000)
    wakes: int = 40
    called: tuple[int, ...] = (1, 100)
    routed_a_second: tuple[int, ...] = (1_000, 8_000)
    alike: tuple[int, ...] = (80, 8, 1)
    routers: tuple[int, ...] = (1, 4, 16)
    named: tuple[int, ...] = (100, 10_000, 1_000_000)
    slots: tuple[int, ...] = (10, 100, 1_000, 5_000)
    picks: int = 100_000


SHORT = Sizes(
    turn_s=0.02,
    rounds=1,
    connections=(1,),
    one_process=True,
    models=2,
    peers=False,
    onnx=False,
    cold_calls=3,
    cold_others=(1, 5),
    boosters=60,
    registered=20,
    resident=10,
    model_idle_s=2.0,
    existing=(200,),
    starts=1,
    body_bytes=200_000,
    body_rounds=1,
    quiet_s=0.5,
    residents=(1, 5),
    trees=50,
    forest=10,
    small=2,
    costly_connections=(1,),
    costly_turn_s=0.05,
    parts=100,
    large_parts=20,
    scored=2_000,
    transforms=(1,),
    fleets=(10, 50),
    wakes=3,
    called=(2,),
    routed_a_second=(320,),
    alike=(2,),
    routers=(2,),
    named=(10, 100),
    slots=(10, 30),
    picks=500,
)
