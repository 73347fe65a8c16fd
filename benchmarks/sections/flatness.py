"""Whether a request costs the same with one model in memory and with thousands.

Every number of models has an endpoint of its own, and they take turns. Where several models are called in turn their
trees are read from memory and no longer from the processor's caches: what that alone costs is measured in a bare
process. So a row is held against the fewest models in memory of which as many were called.
"""

from pathlib import Path

from benchmarks.bare import unpack
from benchmarks.boosters import FEW
from benchmarks.live import Serve
from benchmarks.measure import Figures, Target, agree, cpu_ratio, figures, warm
from benchmarks.own_answers import make_models
from benchmarks.prefixes import link_many, names
from benchmarks.sections.resident import in_bare_process
from benchmarks.sizes import Sizes

CONNECTIONS = 8


def rows(folder: Path, sizes: Sizes, live: Serve) -> list[Figures]:
    ((model, answer),) = make_models(folder, 1).items()
    every = names("model", max(sizes.residents))
    with live() as torpor:
        link_many(folder / model, torpor.folder, every)
        targets: list[Target] = []
        fewest: dict[int, str] = {}
        like: dict[str, str] = {}
        for count in sizes.residents:
            torpor.deploy(endpoint=f"models-{count}", TORPOR_MEMORY_MIB=8192)
            torpor.load(every[:count], f"models-{count}")
            for called in sorted({min(FEW, count), count}):
                expected, name = dict.fromkeys(every[:called], answer), f"{count} resident, {called} called"
                targets.append(torpor.through(name, expected, f"models-{count}"))
                like[name] = fewest.setdefault(called, name)
        agree(targets)
        turns = warm(targets, (), CONNECTIONS, sizes.turn_s, sizes.rounds)
    rows = [
        {"what": name, **figures(seen), "cpu_of_fewest": cpu_ratio(seen, turns[like[name]])}
        for name, seen in turns.items()
    ]
    most = max(sizes.residents)
    bare = in_bare_process(unpack(folder / model, folder / "bare"), most)
    rows += [
        {"what": f"a prediction in a bare process, {called} of {most} called", "cpu_us": bare[which]}
        for called, which in ((1, "us_one"), (min(FEW, most), "us_few"), (most, "us_all"))
    ]
    return rows
