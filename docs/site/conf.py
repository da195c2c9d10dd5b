"""The documentation site: the pages of ``docs/`` and, made of the docstrings, the reference of the API."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

SITE = Path(__file__).parent
DOCS = SITE.parent
sys.path[:0] = [str(SITE), str(DOCS.parent / "tools")]

import api_pages  # noqa: E402

import umiak  # noqa: E402

project = "Umiak"
copyright = "the contributors of Umiak, Apache License 2.0"
release = version = umiak.__version__
root_doc = "README"
exclude_patterns = ["site"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

html_theme = "furo"
html_title = f"Umiak {release}"
html_show_sourcelink = False
html_copy_source = False

myst_heading_anchors = 4
autodoc_typehints = "none"  # the docstrings give dtypes and shapes, which annotations do not
autodoc_inherit_docstrings = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_custom_sections = ["Shape"]
add_module_names = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100

LINK = re.compile(r"\[[^\]]*\]\((\w+)/([\w-]+)\.md\)")
# A link into the repository, which the site does not have.
OUTSIDE = re.compile(r"\[([^\]]*)\]\((?:\.\./\.\./|\.\./(?!guide/|design/))[^)]*\)")


def toctrees(contents: str) -> str:
    """The tables of contents of the sidebar, in the order of the list of pages."""
    pages: dict[str, list[str]] = {"guide": [], "api": ["api/index"], "design": []}
    for folder, page in LINK.findall(contents):
        if f"{folder}/{page}" not in pages[folder]:
            pages[folder].append(f"{folder}/{page}")
    captions = {"guide": "Guide", "api": "Reference", "design": "Design"}
    return "".join(
        "\n```{toctree}\n:hidden:\n:caption: " + captions[folder] + "\n\n" + "\n".join(names) + "\n```\n"
        for folder, names in pages.items()
    )


def read_page(app, docname: str, source: list[str]) -> None:
    source[0] = OUTSIDE.sub(r"\1", source[0])
    if docname == root_doc:
        source[0] += toctrees(source[0])


def add_index(app, error: Exception | None) -> None:
    if error is None:
        shutil.copy(Path(app.outdir, f"{root_doc}.html"), Path(app.outdir, "index.html"))


def adapt_sections(app, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """Sections that napoleon would read otherwise.

    The entries of ``Shape`` become a list: each begins at four spaces and goes on at more. What ``Returns`` and
    ``Yields`` say before a colon is no type.
    """
    inside = False
    for i, line in enumerate(lines):
        if line and not line.startswith(" "):
            inside = line == "Shape:"
            if line in ("Returns:", "Yields:"):
                lines[i] = ":returns:" if line == "Returns:" else ":yields:"
        elif inside and line:
            lines[i] = f"    * {line[4:]}" if line[4] != " " else f"      {line.lstrip()}"


def setup(app) -> None:
    app.connect("autodoc-process-docstring", adapt_sections, priority=400)  # before napoleon, at 500
    api_pages.write(DOCS / "api")
    app.connect("source-read", read_page)
    app.connect("build-finished", add_index)
