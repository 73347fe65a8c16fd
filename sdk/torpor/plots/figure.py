"""A figure with a canvas of its own, which a notebook shows. It needs matplotlib, but not pyplot."""

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
        """Draw without formulas: two amounts of dollars in a text would look like one."""
        for text in self.findobj(Text):
            text.set_parse_math(False)
        super().draw(renderer)

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """IPython's hook: the figure as PNG, with twice the pixels of its size on the page."""
        picture = BytesIO()
        self.savefig(picture, format="png", dpi=NOTEBOOK_DPI)
        return picture.getvalue(), {"width": round(self.get_figwidth() * NOTEBOOK_DPI / 2)}
