"""`torpor demo`: the multi-model blog of AWS, played on real models on this machine."""

from torpor.cli.edge import console
from torpor.extras import require


def demo() -> None:
    """Serve ten house-price models and two others from one endpoint, watch them load and leave, and clean up."""
    require("the demo", "container", "endpoint")
    from torpor.demo import play

    play(console())
