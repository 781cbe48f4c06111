"""Formulas as MathML, which browsers draw themselves: no script, no fonts, no network.

docutils translates LaTeX; what it does not know ends the build, with its place.
"""

from __future__ import annotations

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from mathml_layout import laid_out
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.util.typing import ExtensionMetadata
from sphinx.writers.html5 import HTML5Translator


def setup(app: Sphinx) -> ExtensionMetadata:
    """Offer the renderer to `html_math_renderer` in conf.py."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def visit_inline(writer: HTML5Translator, node: nodes.math) -> None:
    """Write a formula that stands in a line."""
    writer.body.append(_mathml(node, as_block=False))
    raise nodes.SkipNode


def visit_block(writer: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula that stands alone."""
    writer.body.append(f'<div class="math">{_mathml(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def _mathml(node: nodes.math | nodes.math_block, *, as_block: bool) -> str:
    try:
        return laid_out(latex2mathml.tex2mathml(node.astext(), as_block=as_block))
    except MathError as error:
        place = f"{node.get('source', node.source)}:{node.line}"
        raise SphinxError(f"{place}: {error} in {node.astext()}") from error
