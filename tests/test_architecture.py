"""Imports point down only: what each part of the project may import, read from the sources."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from klondike_env.compiled import _ABOVE_KERNELS

ROOT = Path(__file__).parent.parent
PACKAGES = ("klondike_env", "agents", "benchmarks")

FLOORS = {
    "klondike_env": 0,  # whatever is not named below: cards, deals, formats, compiling, sampling
    "klondike_env.games": 1,
    "klondike_env.solvers": 2,
    "klondike_env.envs": 2,
    "klondike_env.records": 3,
    "klondike_env.evaluation": 3,
    "klondike_env.rendering": 2,
    "klondike_env.play": 3,
    "klondike_env.cli": 3,
    "agents": 4,
    "benchmarks": 5,
}
# What installing the library brings along; llvmlite is Numba's own.
LIBRARIES = {"gymnasium", "numpy", "numba", "llvmlite"}
# What the extras `render` and `play` bring, for the modules that nothing loads before it is used.
OPTIONAL = {
    "klondike_env.rendering.pillow": {"PIL"},
    **{f"klondike_env.play.{name}": {"rich", "textual"} for name in ("app", "board", "dialogs")},
    "klondike_env.play.texts": {"rich"},
}
STATE_MODULES = ("klondike_env.games.klondike.layout", "klondike_env.games.klondike.kernels")


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {
    module_name(path): path
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
}


def is_within(module: str, package: str) -> bool:
    return f"{module}.".startswith(f"{package}.")


def floor(module: str) -> int:
    return FLOORS[max((part for part in FLOORS if is_within(module, part)), key=len)]


def imports(module: str, *, when_imported: bool = False) -> Iterator[str]:
    """The modules that a source file imports; `when_imported` leaves out imports in functions."""
    path = SOURCES[module]
    nodes: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = module if path.name == "__init__.py" else module.rpartition(".")[0]
            parents = package.split(".")[: len(package.split(".")) - node.level + 1]
            prefix = ".".join(parents) if node.level else ""
            base = ".".join(filter(None, [prefix, node.module]))
            for alias in node.names:
                name = f"{base}.{alias.name}"
                yield name if name in SOURCES else base
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            nodes += node.orelse
        elif not (when_imported and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
            nodes += ast.iter_child_nodes(node)


def is_ours(module: str) -> bool:
    return module.split(".")[0] in PACKAGES


@pytest.mark.parametrize("module", SOURCES)
def test_imports_point_down(module: str) -> None:
    if module == "klondike_env":
        return  # the front door names what is inside; what it loads is tested below
    above = [name for name in imports(module) if is_ours(name) and floor(name) > floor(module)]
    assert not above


@pytest.mark.parametrize("module", [name for name in SOURCES if is_within(name, "klondike_env")])
def test_the_library_needs_only_its_dependencies(module: str) -> None:
    allowed = OPTIONAL.get(module, set()) | LIBRARIES | {"klondike_env"} | sys.stdlib_module_names
    others = {name.split(".")[0] for name in imports(module, when_imported=True)} - allowed
    assert not others


@pytest.mark.parametrize("module", SOURCES)
def test_only_klondike_knows_how_its_state_looks(module: str) -> None:
    game_and_solver = ("klondike_env.games.klondike", "klondike_env.solvers.klondike")
    if not any(is_within(module, package) for package in game_and_solver):
        assert not set(STATE_MODULES) & set(imports(module))


@pytest.mark.parametrize("module", SOURCES)
@pytest.mark.parametrize("wing", ["klondike_env.rendering", "klondike_env.play"])
def test_side_wings_are_imported_only_when_they_are_used(module: str, wing: str) -> None:
    if not is_within(module, wing):
        eager = imports(module, when_imported=True)
        assert not [name for name in eager if is_within(name, wing)]


@pytest.mark.parametrize(
    "program",
    ["import klondike_env", "import gymnasium, klondike_env; gymnasium.spec('Klondike-Draw3-v0')"],
)
def test_importing_the_library_loads_no_compiler(program: str) -> None:
    names = {"numba", "torch", "matplotlib", "scipy", "PIL", "pygame", "textual"}
    heavy = f"print(*{names}.intersection(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {program}; {heavy}"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == ""


def test_the_reader_of_imports_sees_what_it_should() -> None:
    assert {"benchmarks.store", "benchmarks.config"} <= set(imports("benchmarks.compare"))
    everything, eager = (set(imports("benchmarks.report", when_imported=w)) for w in (False, True))
    assert "matplotlib.figure" in everything - eager  # imported in a function
    assert "benchmarks.compare" not in everything  # imported for its types only


def test_no_kernel_imports_what_the_cache_of_kernels_leaves_out() -> None:
    """An edit there must not leave stale machine code behind."""
    left_out = {f"klondike_env.{part.removesuffix('.py')}" for part in _ABOVE_KERNELS}
    todo = [
        module
        for module, path in SOURCES.items()
        if is_within(module, "klondike_env")
        and re.search(r"^@(entry_point|inlined)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert len(todo) > 5
    for module in todo:
        for name in imports(module):
            assert not any(is_within(name, part) for part in left_out), f"{module} imports {name}"
