"""What reading any of the formats needs."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

from klondike_env.cards import parse_card

P = ParamSpec("P")
R = TypeVar("R")


def naming(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Put the name of the format before the message of every `ValueError`."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def named(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None

        return named

    return decorate


def content(text: str) -> list[str]:
    """The lines that say something: no byte-order mark, blank lines, ends or ``#`` comments."""
    lines = (line.strip() for line in text.removeprefix("\ufeff").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def parse_cards(texts: Iterable[object], where: str) -> list[int]:
    """Card numbers of card texts.

    Raises:
        ValueError: naming the text that is no card, and where it stands.
    """
    cards = []
    for place, text in enumerate(texts, start=1):
        try:
            # No card text is as long: a file's worth of garbage is not to be quoted whole.
            cards.append(parse_card(str(text)[:12]))
        except ValueError as error:
            raise ValueError(f"{where}, card {place}: {error}") from None
    return cards


def is_card(text: str) -> bool:
    """Whether a text names a card."""
    try:
        parse_card(text)
    except ValueError:
        return False
    return True


def load_json(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: the JSON is damaged or cut off, or names a key twice; says where.
    """
    try:
        return json.loads("\n".join(content(text)), object_pairs_hook=_without_doubles)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"the JSON is damaged or cut off at line {error.lineno}, column {error.colno}"
            f" ({error.msg})"
        ) from None
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    double = next((key for key in keys if keys.count(key) > 1), None)
    if double is not None:
        raise ValueError(f"the key {double!r:.40} stands twice")
    return dict(pairs)
