"""The files around the code agree with each other, and the wheel holds the library alone."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
MAKEFILE = (ROOT / "Makefile").read_text()
PINS = {
    canonicalize_name(name): Version(version)
    for name, version in re.findall(
        r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE
    )
}


def test_the_library_depends_on_three_libraries() -> None:
    names = {Requirement(text).name for text in PROJECT["project"]["dependencies"]}
    assert names == {"gymnasium", "numpy", "numba"}


@pytest.mark.parametrize("extra", ["library", *EXTRAS])
def test_every_requirement_is_pinned_within_its_range(extra: str) -> None:
    requirements = PROJECT["project"]["dependencies"] if extra == "library" else EXTRAS[extra]
    for requirement in map(Requirement, requirements):
        assert PINS[canonicalize_name(requirement.name)] in requirement.specifier


def test_what_the_requirements_require_is_pinned_too() -> None:
    groups = [PROJECT["project"]["dependencies"], *EXTRAS.values()]
    waiting = [Requirement(text).name for group in groups for text in group]
    seen: set[str] = set()
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in seen:
            continue
        seen.add(name)
        try:
            requires = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue  # an extra that is not installed here
        waiting += [
            requirement.name
            for requirement in map(Requirement, requires)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        ]
    assert seen - PINS.keys() - {"pip"} == set()


def test_torch_is_pinned_for_ci_and_never_needed_to_compare() -> None:
    assert PINS["torch"] == Version("2.13.0")
    assert "torch" not in {Requirement(text).name for text in EXTRAS["benchmarks"]}
    assert re.findall(r"'\.\[(.*?)\]'", dry_run("compare")) == ["benchmarks"]


def test_the_extras_that_make_installs_exist() -> None:
    installed = re.findall(r"'\.\[([\w,]+)\]'", MAKEFILE)
    assert installed
    assert {extra for group in installed for extra in group.split(",")} <= EXTRAS.keys()


def dry_run(target: str, *arguments: str) -> str:
    done = subprocess.run(
        ["make", "--dry-run", target, "VENV=/nowhere/venv", *arguments],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


@pytest.mark.parametrize("target", ["compare", "train", "test", "throughput", "lint", "format"])
def test_each_target_makes_its_environment_and_installs_with_constraints(target: str) -> None:
    commands = dry_run(target)
    assert "-m venv /nowhere/venv" in commands
    assert "--constraint constraints.txt" in commands


def test_without_a_new_enough_python_make_says_so_in_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        ["make", "compare", "PYTHON=", f"VENV={tmp_path}/venv"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    (line,) = done.stderr.splitlines()
    assert "Python 3.11" in line


def test_ci_and_pre_commit_run_the_same_checks() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    ci = (ROOT / ".ci" / "run").read_text()
    assert [hook["entry"] for hook in hooks] == ["make lint"]
    assert "make lint" in ci
    assert "make test" in ci


def test_the_version_is_in_the_changelog() -> None:
    import klondike_env

    assert f"## [{klondike_env.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


USE_OF_THE_LIBRARY = """
import importlib.util, pathlib, sys
import gymnasium, numpy as np
import klondike_env
assert pathlib.Path(klondike_env.__file__).is_relative_to(sys.prefix), klondike_env.__file__
for name in ("agents", "benchmarks", "tests", "scipy", "torch", "matplotlib"):
    assert importlib.util.find_spec(name) is None, name
envs = gymnasium.make_vec(
    "Klondike-Draw3-v0", num_envs=8, vectorization_mode="vector_entry_point"
)
rng = np.random.default_rng(0)
_, infos = envs.reset(seed=0)
for _ in range(50):
    infos = envs.step(klondike_env.sample_actions(infos["action_mask"], rng))[-1]
env = gymnasium.make("Klondike-Draw1-v0")
_, info = env.reset(seed=0)
env.step(env.action_space.sample(info["action_mask"]))
"""


@pytest.mark.slow
def test_the_wheel_holds_the_library_alone_and_works_by_itself(tmp_path: Path) -> None:
    run = {"check": True, "cwd": tmp_path, "capture_output": True, "text": True}
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, **{**run, "cwd": ROOT})
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"klondike_env"}
    assert "klondike_env/py.typed" in names
    assert not [name for name in names if "__pycache__" in name]

    venv.create(tmp_path / "venv", with_pip=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    constraints = ["--constraint", str(ROOT / "constraints.txt")]
    subprocess.run([python, "-m", "pip", "install", "--quiet", *constraints, str(wheel)], **run)
    subprocess.run([python, "-W", "error", "-c", USE_OF_THE_LIBRARY], **run)
    subprocess.run([str(tmp_path / "venv" / "bin" / "klondike"), "--help"], **run)
