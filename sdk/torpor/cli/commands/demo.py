"""`torpor demo`: the multi-model blog of AWS, played on real models on this machine."""

from torpor.cli.edge import console
from torpor.extras import require


def demo() -> None:
    """Serve twelve house-price models, and then one more, from one endpoint; watch them load and leave; clean up."""
    require("the demo", "container", "endpoint")
    from torpor.demo import play

    play(console())
