"""Checks of values that callers hand in."""

from __future__ import annotations

import operator

import numpy as np


def whole(value: object) -> int | None:
    """A whole number of Python or NumPy as int; None for all else, True and False among it."""
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def whole_from(name: str, value: object, lowest: int, also: str = "") -> int:
    """A whole number that is not too small.

    Raises:
        ValueError: naming what the value is for and what is allowed.
    """
    number = whole(value)
    if number is None or number < lowest:
        raise ValueError(f"{name} is a whole number from {lowest} on{also}, not {value!r}")
    return number


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse what is none of some words.

    Raises:
        ValueError: naming what the value is for and the words.
    """
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} is one of {', '.join(choices)}, not {value!r}")
