"""Whether a request costs the same with one model in memory and with thousands, with one instance and with two.

Every number of models has an endpoint of its own, and they take turns. Where all models are called in turn their trees
are read from memory and no longer from the processor's caches: what that alone costs is measured in a bare process.
"""

from pathlib import Path

from benchmarks.bare import unpack
from benchmarks.boosters import FEW
from benchmarks.live import Serve
from benchmarks.measure import Figures, Target, agree, cpu_ratio, figures, warm
from benchmarks.own_answers import make_models
from benchmarks.prefixes import link_many, names
from benchmarks.sections.density import in_bare_process
from benchmarks.sizes import Sizes

CONNECTIONS = 8


def rows(folder: Path, sizes: Sizes, live: Serve) -> list[Figures]:
    ((model, answer),) = make_models(folder, 1).items()
    every = names("model", max(sizes.residents))
    with live() as torpor:
        link_many(folder / model, torpor.folder, every)
        targets: list[Target] = []
        for count in sizes.residents:
            torpor.deploy(endpoint=f"models-{count}", TORPOR_MEMORY_MIB=8192)
            torpor.load(every[:count], f"models-{count}")
            for called in sorted({min(FEW, count), count}):
                expected = dict.fromkeys(every[:called], answer)
                targets.append(torpor.through(f"{count} resident, {called} called", expected, f"models-{count}"))
        torpor.deploy(2, "two-instances", TORPOR_MEMORY_MIB=8192)
        targets.append(torpor.through("two instances", dict.fromkeys(every[:FEW], answer), "two-instances"))
        agree(targets)
        turns = warm(targets, (), CONNECTIONS, sizes.turn_s, sizes.rounds)
    (base, *_) = turns.values()
    rows = [{"what": name, **figures(seen), "cpu_of_first": cpu_ratio(seen, base)} for name, seen in turns.items()]
    most = max(sizes.residents)
    bare = in_bare_process(unpack(folder / model, folder / "bare"), most)
    rows += [
        {"what": f"a prediction in a bare process, {called} of {most} called", "cpu_us": bare[which]}
        for called, which in ((1, "us_one"), (min(FEW, most), "us_few"), (most, "us_all"))
    ]
    return rows
