"""Console blocks in which `$` alone is a prompt: what is printed may begin with `%` or `#`."""

from __future__ import annotations

import re

from pygments.lexers.shell import BashSessionLexer
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata


class ConsoleLexer(BashSessionLexer):
    """Lines after `$ ` are commands, `> ` goes on with one, and all else is output."""

    name = "Console of the documentation"
    aliases = ()
    filenames = ()
    _ps1rgx = re.compile(r"^(\$ )(.*\n?)")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Take the place of the lexer named console."""
    app.add_lexer("console", ConsoleLexer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
