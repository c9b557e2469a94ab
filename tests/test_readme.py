"""Every code block of the README runs, and its table of ids says what the code says."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from klondike_env.games.klondike.rules import PRESETS, KlondikeRules

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
PYTHON = [body for language, body in BLOCKS if language == "python"]
CONSOLE = [line for language, body in BLOCKS if language == "console" for line in body.splitlines()]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a reader has it: the checkout with the README's own files saved in it."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("klondike_env", "agents", "benchmarks", "configs", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for body in PYTHON:
        if saved := re.match(r"# (\w+\.py)\n", body):
            (folder / saved[1]).write_text(body, encoding="utf-8")
    return folder


def run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_all_blocks_are_python_or_console() -> None:
    assert {language for language, _ in BLOCKS} == {"python", "console"}
    assert len(PYTHON) >= 4


@pytest.mark.parametrize("body", PYTHON, ids=range(len(PYTHON)))
def test_python_block_runs(body: str, checkout: Path) -> None:
    run([sys.executable, "-W", "error", "-c", body], checkout)


@pytest.mark.parametrize("line", CONSOLE)
def test_console_command_runs(line: str, checkout: Path) -> None:
    program, *arguments = line.split()
    if program == "make":  # the targets run these tests: only look that they exist
        run(["make", "--dry-run", "--directory", str(ROOT), *arguments], ROOT)
        return
    module = {"klondike": ["-m", "klondike_env.cli"], "python": []}[program]
    assert run([sys.executable, *module, *arguments], checkout)


def describe(rules: KlondikeRules) -> str:
    """The rules as the README's table words them."""
    default = KlondikeRules()
    passes = "unlimited passes" if rules.passes is None else f"{rules.passes} passes"
    words = [f"draw {rules.draw_count}", passes.replace("1 passes", "1 pass")]
    if rules.run_moves != default.run_moves:
        words.append(f"{rules.run_moves.replace('_', ' ')} runs only")
    if rules.forced_aces:
        words.append("forced aces")
    if not rules.foundation_to_tableau:
        words.append("no taking back")
    if rules.scoring != default.scoring:
        words.append(f"scoring {rules.scoring}")
    if rules.stake != default.stake:
        words.append(f"stake {rules.stake}")
    if rules.cards_known:
        words.append("all cards known")
    return ", ".join(words)


def test_table_of_ids_is_the_code_s() -> None:
    rows = re.findall(r"^\| `(Klondike-[\w-]+)` \| (.*?) \|$", README, re.MULTILINE)
    assert rows == [(name, describe(rules)) for name, rules in PRESETS.items()]
