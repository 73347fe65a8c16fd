"""A figure with a canvas of its own, that a notebook shows by itself. It needs matplotlib, and no pyplot."""

from io import BytesIO

from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

NOTEBOOK_DPI = 200


class Sheet(Figure):
    def __init__(self, width_in: float, height_in: float) -> None:
        super().__init__(figsize=(width_in, height_in), dpi=100, facecolor="white", layout="constrained")
        FigureCanvasAgg(self)

    def draw(self, renderer: RendererBase) -> None:
        """Two amounts of dollars in a text are no formula."""
        for text in self.findobj(Text):
            text.set_parse_math(False)
        super().draw(renderer)

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """IPython's own hook: the picture, at twice the pixels that it is shown with."""
        picture = BytesIO()
        self.savefig(picture, format="png", dpi=NOTEBOOK_DPI)
        return picture.getvalue(), {"width": round(self.get_figwidth() * NOTEBOOK_DPI / 2)}
