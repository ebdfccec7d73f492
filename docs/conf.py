"""The site: Sphinx, its extensions, and what they must not do (no network, no unknown names, no failing example)."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ.setdefault("TAPEGRAD_PROGRESS", "0")  # pages do not show how long a cell took

import matplotlib as mpl  # noqa: E402  after the path
from matplotlib import pyplot as plt  # noqa: E402

import tapegrad  # noqa: E402

mpl.use("agg")  # of this process alone: the kernels of pages choose the one that shows their figures

# --- the project -------------------------------------------------------------------------------------------------

project = "tapegrad"
author = "The tapegrad developers"
copyright = f"2026, {author}"
version = release = tapegrad.__version__

# --- what is read ------------------------------------------------------------------------------------------------

extensions = [
    "myst_nb",  # pages in Markdown, whose cells are run
    "numpydoc",  # docstrings in NumPy's form; loads autodoc and autosummary
    "sphinx.ext.autosummary",
    "sphinx_design",  # cards and tabs
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",  # formulas without a network
    "reference_pages",  # a page for each public name (docs/_ext)
]
exclude_patterns = ["_build", "gallery/*/**", "examples/**/*.ipynb", "examples/**/*.py", "**/README.md"]
templates_path = ["_templates"]
default_role = "literal"  # docstrings set code in single backticks
nitpicky = True
# The configuration has functions, so that Sphinx cannot compare it with that of the last build.
suppress_warnings = ["config.cache"]
nitpick_ignore_regex = [
    # There is no inventory of other projects, which would have to be fetched.
    (r"py:.*", r"(numpy|np|scipy|numba|jax|matplotlib|concurrent|nutpie|iminuit|nlopt|emcee)(\..*)?"),
]

# --- pages in Markdown -------------------------------------------------------------------------------------------

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 3
nb_execution_mode = "force"  # nothing on the site is older than the code
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_show_tb = True
nb_merge_streams = True

# --- the reference -----------------------------------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say types and shapes
autodoc_member_order = "alphabetical"
numpydoc_show_class_members = False  # the templates list them
numpydoc_validation_checks: set[str] = set()  # tests/test_docstrings.py checks more

# --- the gallery -------------------------------------------------------------------------------------------------

SECTIONS = ("measurement", "dynamics", "statistics", "methods")


def _reset(conf: dict[str, object], name: str) -> None:
    """Give each script the same settings of figures."""
    plt.rcdefaults()
    plt.rcParams.update({"figure.figsize": (7.5, 4.2), "savefig.dpi": 110, "axes.spines.top": False})
    plt.rcParams["axes.spines.right"] = False


sphinx_gallery_conf = {
    # Not all of ``gallery``: it holds data, too, and the page that shows all sections.
    "examples_dirs": [f"gallery/{section}" for section in SECTIONS],
    "gallery_dirs": [f"examples/{section}" for section in SECTIONS],
    "filename_pattern": r"/\w+\.py$",  # all of them are run
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "ExampleTitleSortKey",
    "backreferences_dir": "reference/generated/backreferences",
    "doc_module": ("tapegrad",),
    "reference_url": {"tapegrad": None},  # links in code to the reference; no other project is asked
    "abort_on_example_error": True,
    "run_stale_examples": True,  # the library may have changed, if the script has not
    "only_warn_on_example_error": False,
    "reset_modules": (_reset,),
    "reset_modules_order": "before",
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "min_reported_time": 2.0,
    "download_all_examples": True,
    "image_scrapers": ("matplotlib",),
    "plot_gallery": True,
}

# --- what is written ---------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "tapegrad"
html_static_path = ["_static"]
html_css_files = ["tapegrad.css"]
html_logo = "_static/logo.svg"
html_favicon = "_static/favicon.svg"
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {"index": [], "changelog": []}
html_theme_options = {
    "logo": {"text": "tapegrad", "alt_text": "tapegrad: start page"},
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
