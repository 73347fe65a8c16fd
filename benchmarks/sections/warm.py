"""Requests to models that are loaded: Torpor, bare servers and every peer that is installed, taking turns."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

from benchmarks import bare, onnx_model, v2_requests
from benchmarks.bare import Bare
from benchmarks.live import Serve
from benchmarks.measure import Figures, Target, Turn, agree, cpu_ratio, figures, spread, warm
from benchmarks.own_answers import make_models
from benchmarks.peers import all as peers
from benchmarks.sizes import Sizes

TORPOR = "Torpor, 1 model"
REFERENCE = "reference"
ONNX_REFERENCE = "reference, ONNX"
TWO_INSTANCES = "two-instances"
EACH_ALONE = "each-alone"


def rows(folder: Path, sizes: Sizes, live: Serve) -> list[Figures]:
    artifacts = folder / "artifacts"
    expected = make_models(artifacts, sizes.models)
    one = dict(islice(expected.items(), 1))
    with ExitStack() as stack:
        running = stack.enter_context(live())
        running.link(artifacts)
        targets = [
            stack.enter_context(bare.reference(Bare.of(REFERENCE, artifacts, one, folder / "bare"))),
            stack.enter_context(bare.floor(Bare.of("floor", artifacts, one, folder / "bare"), folder)),
        ]
        if sizes.onnx:
            network = onnx_model.make(folder / "onnx")
            running.link(folder / "onnx")
            alone = Bare.of(ONNX_REFERENCE, folder / "onnx", network, folder / "bare")
            targets.append(stack.enter_context(bare.reference(alone, "onnx-row")))
        running.deploy()
        targets += [
            running.through(TORPOR, one),
            running.through(f"Torpor, {len(expected)} models", expected),
            running.direct("instance alone", one),
            v2_requests.in_json(running, f"{TORPOR}, V2 in JSON", one),
            v2_requests.in_binary(running, f"{TORPOR}, V2 in binary", one),
        ]
        if sizes.onnx:
            targets.append(running.through("Torpor, ONNX", network))
        running.deploy(1, EACH_ALONE, TORPOR_BATCH_SIZE=1)
        targets.append(running.through(f"{TORPOR}, each alone", one, EACH_ALONE))
        running.deploy(2, TWO_INSTANCES)
        targets.append(running.through(f"Torpor, {len(expected)} models, 2 instances", expected, TWO_INSTANCES))
        wanted = peers.present(sizes.peers)
        models = peers.unpacked(artifacts, list(expected), folder)
        others = stack.enter_context(peers.all_running(wanted, models, expected, folder))
        return _measured(targets, others, sizes)


def _measured(targets: Sequence[Target], others: Sequence[Target], sizes: Sizes) -> list[Figures]:
    agree([*targets, *others])
    for connections in sizes.connections:  # not measured: connections, caches and the processor's clock warm up
        warm(targets, others, connections, sizes.turn_s, 1)
    found: list[Figures] = []
    for connections in sizes.connections:
        turns = warm(targets, others, connections, sizes.turn_s, sizes.rounds)
        found += [_row(name, connections, turns, [other.name for other in others]) for name in turns]
    return found


def _row(name: str, connections: int, turns: Mapping[str, Sequence[Turn]], others: Sequence[str]) -> Figures:
    base = ONNX_REFERENCE if "ONNX" in name else REFERENCE
    ratios = [one.cpu_us / other.cpu_us for one, other in zip(turns[name], turns[base], strict=True)]
    beside = {f"cpu_of_{other}": cpu_ratio(turns[name], turns[other]) for other in others}
    return {
        "target": name,
        "connections": connections,
        **figures(turns[name]),
        **spread("cpu_of_reference", ratios),
        **beside,
    }
