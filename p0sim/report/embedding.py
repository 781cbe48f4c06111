"""Figures as images inside a page: small PNGs, the same bytes for the same figure."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass

from matplotlib.figure import Figure
from PIL import Image

from p0sim.report.style import house_style

# House figures use few colours; the rest are shades of smoothed edges.
COLOURS = 64


@dataclass(frozen=True)
class Picture:
    """An image as a data URI.

    Attributes
    ----------
    uri : str
        data:image/png;base64,...
    width, height : int
        Of the image, in pixels.
    """

    uri: str
    width: int
    height: int


def png_of(figure: Figure) -> bytes:
    """A figure as the PNG that `save_figure` writes."""
    drawn = io.BytesIO()
    with house_style():
        figure.savefig(drawn, format="png", backend="agg", metadata={"Software": None})
    return drawn.getvalue()


def picture_of(png: bytes) -> Picture:
    """A PNG in at most 64 colours, as a data URI.

    Parameters
    ----------
    png : bytes
        Of a figure in the house style.
    """
    reduced = io.BytesIO()
    with Image.open(io.BytesIO(png)) as image:
        # quantize keeps no alpha, and a figure has none to keep
        few = image.convert("RGB").quantize(
            COLOURS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE
        )
    few.save(reduced, format="png")
    coded = base64.b64encode(reduced.getvalue()).decode("ascii")
    return Picture(f"data:image/png;base64,{coded}", *few.size)
