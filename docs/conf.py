"""How the documentation is built: `make docs`, warnings are errors."""

from __future__ import annotations

import sys
from pathlib import Path

import p0sim

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "p0sim"
author = "The p0sim authors"
version = release = p0sim.__version__

extensions = [
    "mathml",
    "myst_parser",
    "numpydoc",
    "prompts",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
]
nitpicky = True  # a reference that leads nowhere ends the build
smartquotes = False  # values in quotation marks are there to be pasted

exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # the docstrings say what arguments are
# scipy gives it no signature that can be read, and autodoc reads it before it leaves it out
autodoc_default_options = {"exclude-members": "cKDTree"}
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the templates list them
suppress_warnings = ["ref.footnote"]  # a References section need not be pointed at

html_theme = "pydata_sphinx_theme"
html_title = "p0sim"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["p0sim.css"]
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}
# pages without pages below them
html_sidebars = {
    name: []
    for name in ("index", "tutorial", "study-file", "r-users", "theory", "commands", "columns")
}
html_theme_options = {
    "header_links_before_dropdown": 9,
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],  # a field would push the menu into two lines
    # the list of how-tos stands on the left: what they print needs the room on the right
    "secondary_sidebar_items": {"howto/**": [], "[!h]**": ["page-toc"]},
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}
