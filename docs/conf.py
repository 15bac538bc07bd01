"""The documentation site: `sphinx-build -W -n docs build/docs`."""

from __future__ import annotations

import sys
from pathlib import Path

import fnabi

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "fnabi"
copyright = "the fnabi authors"
release = version = fnabi.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "command_line",
    "entry_points",
    "error_codes",
    "failures",
    "instruction_table",
    "repository",
]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3

suppress_warnings = ["ref.python"]  # two modules may document a name, such as Module
default_role = "code"  # docstrings write `name` for code
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": True}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
highlight_language = "default"  # Python where it is valid

# A button copies the commands of a session, without prompts and without what they print.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_title = "fnabi"
html_copy_source = False
html_theme_options = {"source_directory": "docs/"}
