"""`torpor demo`: the example of AWS's blog on multi-model endpoints, with real models on this machine."""

from torpor.cli.console import console
from torpor.extras import require


def demo() -> None:
    """Serve twelve house-price models, and then one more, from one endpoint; watch loads and evictions; clean up."""
    require("the demo", "container", "endpoint")
    from torpor.demo import play

    play(console())
