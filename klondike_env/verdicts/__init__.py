"""Verdicts of the solver on the first deals of each suite, one file for each set of rules.

A file is a NumPy archive: `rules`, the options that decide whether a deal can be won, as JSON
(rules that differ in others, such as scoring, share its verdicts); and for each suite a uint8 a
deal, from its first on: the verdict in the two low bits (0 not decided, 1 winnable, 2 unwinnable),
above them the number of binary digits of the states the solver visited.
Made by ``python -m benchmarks winnable --verdicts FILE``.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

UNDECIDED, WINNABLE, UNWINNABLE = range(3)
NAMES = ("unknown", "winnable", "unwinnable")


@dataclass(frozen=True)
class Verdicts:
    """What the solver said of a suite's first deals under some rules.

    Attributes:
        verdict: UNDECIDED, WINNABLE or UNWINNABLE: uint8[deals].
        digits: binary digits of the number of states it visited, a measure of difficulty:
            uint8[deals].
    """

    verdict: np.ndarray
    digits: np.ndarray


def load(suite: str, rules: Any) -> Verdicts:
    """The verdicts on a suite under exactly these rules.

    Raises:
        ValueError: there are none for these rules; says for which there are.
    """
    known = []
    for path in sorted(Path(str(resources.files(__package__))).glob("*.npz")):
        options, suites = _read(path)
        given = {name: getattr(rules, name, None) for name in options}
        if given == options and suite in suites:
            packed = suites[suite]
            return Verdicts(packed & 3, packed >> 2)
        known.append(options)
    there = "; ".join(_text(options) for options in known) or "none"
    raise ValueError(
        f"no verdicts for suite {suite!r} under {rules}: a verdict holds for its own rules only."
        f" There are verdicts for: {there}"
    )


def save(path: Path, suite: str, options: dict[str, Any], verdicts: Verdicts) -> None:
    """Write a suite's verdicts to a file, beside those of other suites that it holds.

    Args:
        path: of the file.
        suite: name of the suite.
        options: the options of the rules that decide whether a deal can be won.
        verdicts: on the suite's first deals.

    Raises:
        ValueError: the file holds verdicts for other rules.
    """
    known, suites = _read(path) if path.exists() else (options, {})
    if known != options:
        raise ValueError(f"{path} holds verdicts for other rules: {_text(known)}")
    packed = (verdicts.digits.astype(np.uint8) << 2) | verdicts.verdict.astype(np.uint8)
    arrays: dict[str, Any] = {**suites, suite: packed}
    with path.open("wb") as file:
        np.savez_compressed(file, rules=np.array(json.dumps(options)), **arrays)
    _read.cache_clear()


@functools.cache
def _read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    with np.load(path, allow_pickle=False) as archive:
        suites = {name: archive[name] for name in archive.files if name != "rules"}
        return json.loads(str(archive["rules"])), suites


def _text(options: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in options.items())
