"""Files for those who carry the project on: workflows, recipe, templates and pages say what the project itself says."""

import os
import platform
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import tapegrad as tg
import wheel
from size import code_lines, package_files

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"
PYTEST = ".venv/bin/python -m pytest"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = {path.stem: path for path in sorted((GITHUB / "workflows").glob("*.yml"))}
ATTESTS = {"id-token", "attestations"}
WRITES = {"release/source": ATTESTS, "release/wheel": ATTESTS, "release/publish": {"id-token"}}
HOOKS = ROOT / ".pre-commit-config.yaml"
# What the runners of a system are, to Python.
MACHINES = {
    "ubuntu-24.04": ("linux", "x86_64"),
    "ubuntu-24.04-arm": ("linux", "aarch64"),
    "macos-15": ("darwin", "arm64"),
    "macos-15-intel": ("darwin", "x86_64"),
    "windows-2025": ("win32", "AMD64"),
}
TAGS = [
    "manylinux_2_17_x86_64",
    "manylinux_2_17_aarch64",
    "macosx_11_0_arm64",
    "macosx_11_0_x86_64",
    "win_amd64",
]


# The package is to become smaller: what is added takes the place of something, or is worth its lines.
MAX_CODE_LINES = 87_440


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def jobs() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the jobs of all workflows with their names."""
    for name, path in WORKFLOWS.items():
        yield from ((f"{name}/{job}", found) for job, found in read(path)["jobs"].items())


def commands(job: dict[str, Any]) -> list[str]:
    """Return the lines that a job runs, each with all values of the matrix."""
    matrix = job.get("strategy", {}).get("matrix", {})
    texts = [step["run"] for step in job["steps"] if "run" in step]
    for name, values in matrix.items():
        field = f"${{{{ matrix.{name} }}}}"
        texts = [text.replace(field, str(value)) for text in texts for value in values]
    return [line.strip() for text in texts for line in text.splitlines()]


JOBS = dict(jobs())


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_may_read_and_no_more(name: str) -> None:
    workflow = read(WORKFLOWS[name])
    assert workflow["permissions"] in ({}, {"contents": "read"})
    assert WORKFLOWS[name].read_text().startswith("# Not yet run")
    assert workflow[True]  # `on`, which is a boolean to YAML 1.1


@pytest.mark.parametrize("name", JOBS)
def test_a_job_ends_in_time_and_pins_its_actions(name: str) -> None:
    job = JOBS[name]
    assert 0 < job["timeout-minutes"] <= 240
    used = [step["uses"] for step in job["steps"] if "uses" in step]
    assert not [action for action in used if not re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v1)", action)]
    writes = {key for key, right in job.get("permissions", {}).items() if right == "write"}
    assert writes == WRITES.get(name, set())
    for step in job["steps"]:
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("name", JOBS)
def test_a_job_calls_what_there_is(name: str) -> None:
    """Targets of the Makefile, extras of the project, files of the suite."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    lines = commands(JOBS[name])
    wanted = {
        word for line in lines if line.startswith("make ") for word in line.split()[1:] if "=" not in word
    }
    assert wanted <= targets
    extras = set(re.findall(r"\.\[(\w+)\]", "\n".join(lines)))
    assert extras <= PROJECT["optional-dependencies"].keys()
    files = re.findall(r"\b(?:tests|docs)/[\w/]+\.py\b", "\n".join(lines))
    assert all((ROOT / file).exists() for file in files)
    assert not re.search(r"matrix\.", "\n".join(lines))  # each field is in the matrix


def test_all_versions_of_python_are_tested() -> None:
    prefix = "Programming Language :: Python :: 3."
    named = {f"3.{text.removeprefix(prefix)}" for text in PROJECT["classifiers"] if text.startswith(prefix)}
    matrix = JOBS["ci/test"]["strategy"]["matrix"]
    assert named <= set(matrix["python"]) == set(JOBS["ci/oldest"]["strategy"]["matrix"]["python"])
    assert {name.partition("-")[0] for name in matrix["system"]} == {"ubuntu", "macos", "windows"}
    assert any(name.endswith("-arm") for name in matrix["system"])
    bound = SpecifierSet(PROJECT["requires-python"])
    assert all(map(bound.contains, matrix["python"]))
    nightly = JOBS["nightly/all"]["steps"][1]["with"]["python-version"].split()
    assert named == set(nightly)


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
@pytest.mark.parametrize(("tag", "code"), [(f"v{tg.__version__}", 0), ("v0.0.9", 1), (tg.__version__, 1)])
def test_a_release_has_the_tag_of_its_version(tag: str, code: int) -> None:
    (script,) = (
        step["run"] for step in JOBS["release/source"]["steps"] if step.get("name", "").startswith("Compare")
    )
    variables = {**os.environ, "GITHUB_REF_NAME": tag}
    done = subprocess.run(["bash", "-ec", script], cwd=ROOT, env=variables, capture_output=True, text=True)
    assert done.returncode == code
    assert bool(done.stderr) == bool(code)


def test_wheels_are_built_for_each_system_that_is_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the script of `make wheel`; each wheel has a name of its own, with the tag that installers there look for."""
    job = JOBS["release/wheel"]
    systems = job["strategy"]["matrix"]["system"]
    assert set(systems) == set(JOBS["ci/test"]["strategy"]["matrix"]["system"]) == MACHINES.keys()
    (built,) = {line for line in commands(job) if "tests/wheel.py" in line}
    (target,) = re.findall(
        r"^wheel:.*\n\t\$\(BIN\)/(.*)\$\(PYTHONS\)$", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    assert built.startswith(target)
    tags = []
    for system in systems:
        name, machine = MACHINES[system]
        monkeypatch.setattr(sys, "platform", name)
        monkeypatch.setattr(platform, "machine", lambda machine=machine: machine)
        tags.append(wheel.tag())
    assert tags == TAGS


def test_a_release_publishes_what_its_jobs_have_uploaded() -> None:
    builders = {name.partition("/")[2]: job for name, job in JOBS.items() if name.startswith("release/")}
    publish = builders.pop("publish")
    assert publish["needs"] == list(builders)
    (download,) = (step["with"] for step in publish["steps"] if "download-artifact" in step["uses"])
    names = []
    for job in builders.values():
        (upload,) = (step["with"] for step in job["steps"] if "upload-artifact" in step.get("uses", ""))
        assert upload["path"] == download["path"] == "dist"
        names.append(upload["name"].partition("${{")[0])
    assert names == ["dist-source", "dist-"]
    assert download["pattern"] == "dist-*"
    assert download["merge-multiple"] is True


@pytest.mark.parametrize("name", JOBS)
def test_a_step_reads_outputs_of_earlier_steps(name: str) -> None:
    earlier: set[str] = set()
    for step in JOBS[name]["steps"]:
        assert set(re.findall(r"steps\.(\w+)\.outputs", str(step))) <= earlier
        earlier.add(step.get("id", ""))


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
@pytest.mark.parametrize("name", JOBS)
def test_scripts_of_jobs_are_those_of_a_shell(name: str) -> None:
    """The shell reads them without running any. What the runner fills in has no place in a script but by the matrix."""
    for script in (step["run"] for step in JOBS[name]["steps"] if "run" in step):
        subprocess.run(["bash", "-n", "-c", script], check=True)
        assert set(re.findall(r"\$\{\{ *(\w+)", script)) <= {"matrix"}


# --- what contributors install and run ---------------------------------------------------------------------------


def test_dependency_groups_are_the_extras() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    dev = groups.pop("dev")
    assert {name: [f"tapegrad[{name}]"] for name in groups} == groups
    assert groups.keys() <= PROJECT["optional-dependencies"].keys()
    assert [entry["include-group"] for entry in dev if isinstance(entry, dict)] == ["test", "docs"]
    assert [Requirement(entry).name for entry in dev if isinstance(entry, str)] == ["pre-commit"]


def test_hooks_run_what_the_makefile_runs() -> None:
    """With the programs of its environment, so that there is one version of each; what they are given is there."""
    hooks = [hook for repository in read(HOOKS)["repos"] for hook in repository["hooks"]]
    assert {repository["repo"] for repository in read(HOOKS)["repos"]} == {"local"}
    makefile = (ROOT / "Makefile").read_text().replace("$(BIN)", ".venv/bin").replace("$(PYTEST)", PYTEST)
    tools = {Requirement(text).name for text in PROJECT["optional-dependencies"]["test"]}
    for hook in hooks:
        entry = hook["entry"].partition(" --force-exclude")[0]
        program = entry.partition(" -q")[0].partition(" --check")[0]
        assert program in makefile
        assert program.split()[0] == ".venv/bin/python" or Path(program.split()[0]).name in tools
        assert all(
            (ROOT / file).exists()
            for file in re.findall(r"\b(?:tests|perf|tapegrad)(?:/[\w.]+)?(?= |$)", entry)
        )
        assert hook["language"] == "system"
    assert [hook["id"] for hook in hooks if "stages" not in hook] == [
        "ruff-format",
        "ruff-check",
        "generated",
    ]


def bounds(texts: list[str]) -> dict[str, SpecifierSet]:
    """Return the versions that are asked for on every Python, by name."""
    found = [Requirement(text) for text in texts]
    return {each.name: each.specifier for each in found if each.marker is None}


def test_the_recipe_asks_for_what_the_project_asks_for() -> None:
    recipe = read(GITHUB / "conda" / "recipe.yaml")
    wanted = bounds(recipe["requirements"]["run"])
    assert wanted.pop("python") == SpecifierSet(PROJECT["requires-python"])
    assert wanted == bounds(PROJECT["dependencies"])
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    host = bounds(recipe["requirements"]["host"])
    assert host["flit-core"] == bounds(build)["flit_core"]
    (entry,) = PROJECT["scripts"].items()
    assert recipe["build"]["python"]["entry_points"] == [" = ".join(entry)]
    assert (GITHUB / "conda" / recipe["source"]["path"]).resolve() == ROOT
    assert (ROOT / recipe["about"]["license_file"]).exists()
    assert recipe["about"]["homepage"] == PROJECT["urls"]["Homepage"]


def versions() -> Iterator[tuple[str, str]]:
    """Yield what says the version, and the version that it says."""
    (newest, *_) = re.findall(r"^## (\d\S*)", (ROOT / "docs" / "changelog.md").read_text(), re.MULTILINE)
    yield "docs/changelog.md", newest
    page = (ROOT / "docs" / "citing.md").read_text()
    for version in re.findall(r"\bversion\b[ ={]+(\d[\d.]*\d)", page):
        yield "docs/citing.md", version
    yield "CITATION.cff", str(read(GITHUB / "CITATION.cff")["version"])
    yield "recipe.yaml", read(GITHUB / "conda" / "recipe.yaml")["context"]["version"]


def test_all_say_the_same_version() -> None:
    found = list(versions())
    assert len(found) == 5
    assert {version for _, version in found} == {tg.__version__}, found


def test_the_page_on_installation_names_the_wheels() -> None:
    page = (ROOT / "docs" / "guide" / "start.md").read_text()
    (name,) = re.findall(r"^pip install dist/(\S+)$", page, re.MULTILINE)
    assert name == f"tapegrad-{tg.__version__}-py3-none-manylinux_2_17_x86_64.whl"
    assert all(f"`{tag}`" in page for tag in TAGS if tag not in name)


# --- pages -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["how_to_choose", "ecosystem", "by_symptom", "cheat_sheet"])
def test_pages_for_those_who_begin_lead_to_pages(name: str) -> None:
    """And are in the guide, and named by the README."""
    guide = ROOT / "docs" / "guide"
    text = (guide / f"{name}.md").read_text()
    assert all((guide / f"{page}.md").exists() for page in re.findall(r"\{doc\}`(\w+)`", text))
    assert f"\n{name}\n" in (guide / "index.md").read_text()
    assert f"(docs/guide/{name}.md)" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "guide").glob("*.md")), ids=lambda path: path.stem)
def test_a_page_begins_with_what_one_came_for(path: Path) -> None:
    """The first cell that is shown has no helper for measurements; one that a page needs is hidden, or at its end."""
    cells = re.findall(r"^```\{code-cell\}\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)
    shown = [cell for cell in cells if not re.match(r":tags: \[.*(hide|remove)-", cell)]
    assert not any(re.search(r"^import time(it)?$", cell, re.MULTILINE) for cell in shown[:1])


def test_the_citation_is_of_this_project() -> None:
    citation = read(GITHUB / "CITATION.cff")
    assert citation["license"] == PROJECT["license"]
    assert citation["repository-code"] == PROJECT["urls"]["Homepage"]
    assert [author["name"] for author in citation["authors"]] == [each["name"] for each in PROJECT["authors"]]


@pytest.mark.parametrize(
    "path", sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.stem
)
def test_templates_of_issues_are_forms(path: Path) -> None:
    form = read(path)
    if path.stem == "config":
        assert all(link.keys() == {"name", "url", "about"} for link in form["contact_links"])
        return
    assert {"name", "description", "body"} <= form.keys()
    fields = [field["id"] for field in form["body"]]
    assert len(fields) == len(set(fields))
    assert all(field["attributes"]["label"] for field in form["body"])


@pytest.mark.parametrize("name", ["CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_links_between_pages_lead_to_files(name: str) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", (GITHUB / name).read_text())
    inner = [link for link in links if "://" not in link]
    assert all((GITHUB / link).exists() for link in inner)
    outer = [link for link in links if "://" in link]
    ours = [link for link in outer if not link.startswith("https://www.contributor-covenant.org/")]
    assert all(link.startswith(PROJECT["urls"]["Homepage"]) for link in ours)


def test_the_package_is_under_its_ceiling() -> None:
    count = code_lines(package_files())
    assert count <= MAX_CODE_LINES, (
        f"tapegrad/ has {count:,} lines of code, of at most {MAX_CODE_LINES:,} (`make size` counts them by room):"
        " take out what the new code replaces; or raise MAX_CODE_LINES, and say in the commit what the lines are worth"
    )
