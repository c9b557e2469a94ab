"""Klondike positions in readable form, as dicts that are also JSON.

    {"tableau": ["KH", "", "(8S)(AD)(5H) 8D 7S", "", "", "", ""],
     "foundations": {"C": 0, "D": 0, "H": 4, "S": 0},
     "stock": "5C 6D", "waste": "2C QH", "redeals_left": null, "score": 0}

Piles and waste run bottom to top, the stock in draw order, ``(X)`` lies face down. Left out, keys
take the values of a fresh game. ``"rest": "stock"`` appends all cards not named to the stock, in
card order.

Three more keys appear only where they differ from what a player would assume: ``unseen`` (stock
cards never turned yet; else the whole stock before the first known redeal and none after),
``redeals`` (redeals made, which the standard score counts; else what ``redeals_left`` implies) and
``moves`` (moves made, for timed games; else 0).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from klondike_env.cards import (
    CARDS,
    FACE_DOWN,
    NUM_CARDS,
    NUM_RANKS,
    SUITS,
    card_text,
    check_each_once,
    parse_card,
)
from klondike_env.checks import whole
from klondike_env.games.klondike import kernels
from klondike_env.games.klondike.layout import (
    MAX_HEIGHT,
    MAX_HIDDEN,
    PILES,
    STATE,
    TALON,
    encode_rules,
)
from klondike_env.games.klondike.rules import KlondikeRules

KEYS = (
    "tableau",
    "foundations",
    "stock",
    "waste",
    "redeals_left",
    "score",
    "rest",
    "unseen",
    "redeals",
    "moves",
)

_DOWN = re.compile(r"\(([^()]*)\)")


def parse(
    position: Mapping[str, Any],
    rules: KlondikeRules | None = None,
    actions: str = "turn",
    bank: int = 0,
) -> np.ndarray:
    """State of a position.

    Args:
        position: see the module's head.
        rules: the rules that it is played by, by default those of `Klondike-Draw3-v0`.
        actions: the action set it is played with; under `reach` the whole stock counts as seen.
        bank: score of the game before, which cumulative rules carry over unless a score is given.

    Returns:
        One record of `layout.STATE`, as an array of one.

    Raises:
        ValueError: the position is impossible; says why in one line.
    """
    rules = rules or KlondikeRules()
    record = encode_rules(rules, actions)
    if not isinstance(position, Mapping):
        raise ValueError(f"a position is a dict, not {type(position).__name__}")
    unknown = [key for key in position if key not in KEYS]
    if unknown:
        raise ValueError(f"a position has no {unknown[0]!r}: its keys are {', '.join(KEYS)}")

    piles = _parse_tableau(position.get("tableau", []))
    up = _parse_foundations(position.get("foundations", {}))
    stock = _parse_cards(position.get("stock", ""), "stock")
    waste = _parse_cards(position.get("waste", ""), "waste")
    cards = [suit * NUM_RANKS + rank for suit in range(4) for rank in range(up[suit])]
    cards += [card for down, run in piles for card in down + run] + stock + waste
    if "rest" in position:
        if position["rest"] != "stock":
            raise ValueError(f'"rest" can only be "stock", not {position["rest"]!r}')
        rest = [card for card in range(NUM_CARDS) if card not in cards]
        stock, cards = stock + rest, cards + rest
    check_each_once(cards, "the position")
    if len(stock) + len(waste) > TALON:
        raise ValueError(f"stock and waste hold {len(stock) + len(waste)} cards: at most {TALON}")
    if sum(up) == NUM_CARDS:
        raise ValueError("the position is already won: nothing is left to play")

    states = np.zeros(1, dtype=STATE)
    state = states[0]
    for i, (down, run) in enumerate(piles):
        _fill_pile(state, i, down, run, rules.cards_known)
    state["foundations"] = up
    state["foundation_cards"] = sum(up)
    state["face_down_cards"] = sum(len(down) for down, _ in piles)
    state["talon"][: len(waste) + len(stock)] = np.array(waste + stock, dtype=np.uint8) + 1
    state["waste_size"], state["talon_size"] = len(waste), len(waste) + len(stock)

    state["redeals_left"] = _parse_redeals_left(
        position.get("redeals_left"), rules, "redeals_left" in position
    )
    implied = _implied_redeals(int(state["redeals_left"]), rules)
    state["redeals"] = _whole(position, "redeals", implied, 0)
    state["moves"] = _whole(position, "moves", 0, 0)
    all_seen = rules.cards_known or actions == "reach"
    unseen = _whole(position, "unseen", 0 if all_seen or implied else len(stock), 0)
    if unseen > len(stock):
        raise ValueError(f"unseen is {unseen}, but the stock has {len(stock)} cards")
    state["unseen"] = 0 if all_seen else unseen
    carried = bank if rules.cumulative else 0
    lowest = 0 if rules.scoring == "standard" else -(2**53)
    state["score"] = _whole(position, "score", rules.start_score + carried, lowest)
    state["deal"] = -1
    kernels.refresh(states, record)
    return states


def format(states: np.ndarray, rules: KlondikeRules | None = None) -> dict[str, Any]:  # noqa: A001
    """Position of a state (states[1]), which `parse` reads back.

    Hidden cards show, so it is not for players.
    """
    rules = rules or KlondikeRules()
    state = states[0]
    waste_size, size = int(state["waste_size"]), int(state["talon_size"])
    redeals_left = int(state["redeals_left"])
    position: dict[str, Any] = {
        "tableau": [_format_pile(state, i) for i in range(PILES)],
        "foundations": {
            suit: int(up) for suit, up in zip(SUITS, state["foundations"], strict=True)
        },
        "stock": _format_cards(state["talon"][waste_size:size]),
        "waste": _format_cards(state["talon"][:waste_size]),
        "redeals_left": None if redeals_left < 0 else redeals_left,
        "score": int(state["score"]),
    }
    implied = _implied_redeals(redeals_left, rules)
    assumed = 0 if rules.cards_known or implied else size - waste_size
    if state["unseen"] != assumed:
        position["unseen"] = int(state["unseen"])
    if rules.scoring == "standard" and state["redeals"] != implied:
        position["redeals"] = int(state["redeals"])
    if rules.seconds_per_move and state["moves"]:
        position["moves"] = int(state["moves"])
    return position


def _implied_redeals(redeals_left: int, rules: KlondikeRules) -> int:
    return 0 if rules.passes is None else rules.passes - 1 - redeals_left


def _parse_redeals_left(value: object, rules: KlondikeRules, is_given: bool) -> int:
    if rules.passes is None:
        if value is not None:
            raise ValueError(f"redeals_left is null under unlimited passes, not {value!r}")
        return -1
    most = rules.passes - 1
    if not is_given:
        return most
    number = whole(value)
    if number is None or not 0 <= number <= most:
        raise ValueError(
            f"redeals_left is a whole number from 0 to {most} under these rules, not {value!r}"
        )
    return number


def _whole(position: Mapping[str, Any], key: str, default: int, lowest: int) -> int:
    if key not in position:
        return default
    value = whole(position[key])
    if value is None:
        raise ValueError(f"{key} is a whole number, not {position[key]!r}")
    highest = 2**53 if key == "score" else 10**9
    if not lowest <= value <= highest:
        raise ValueError(f"{key} lies from {lowest} to {highest} under these rules, not {value}")
    return value


def _parse_tableau(piles: object) -> list[tuple[list[int], list[int]]]:
    if not isinstance(piles, (list, tuple)) or len(piles) not in (0, PILES):
        found = f"{len(piles)} piles" if isinstance(piles, (list, tuple)) else repr(piles)
        raise ValueError(f"the tableau is a list of {PILES} piles, not {found}")
    return [_parse_pile(text, f"pile {i + 1}") for i, text in enumerate(piles)] or [
        ([], [])
    ] * PILES


def _parse_pile(text: object, where: str) -> tuple[list[int], list[int]]:
    if not isinstance(text, str):
        raise ValueError(f'{where} is a text such as "(8S)(AD) 8D 7S", not {text!r}')
    last = text.rfind(")")
    down = [_parse_card(card, where) for card in _DOWN.findall(text[: last + 1])]
    if _DOWN.sub(" ", text[: last + 1]).strip():
        raise ValueError(
            f"{where} has a face-up card under a face-down one, or a stray bracket: {text!r}"
        )
    run = _parse_cards(text[last + 1 :], where)
    if down and not run:
        raise ValueError(f"{where} has no face-up card: its top card would have been turned up")
    if len(down) > MAX_HIDDEN:
        raise ValueError(
            f"{where} has {len(down)} face-down cards: no deal has more than {MAX_HIDDEN}"
        )
    for below, card in pairwise(run):
        if below % NUM_RANKS != card % NUM_RANKS + 1 or _is_red(below) == _is_red(card):
            raise ValueError(
                f"{where}: {card_text(card)} cannot lie face up on {card_text(below)}: face-up"
                " cards run down in alternating colours"
            )
    return down, run


def _parse_foundations(foundations: object) -> list[int]:
    if not isinstance(foundations, Mapping) or not set(foundations) <= set(SUITS):
        raise ValueError(
            f"foundations are a dict with keys of {' '.join(SUITS)}, not {foundations!r}"
        )
    ups = []
    for suit in SUITS:
        up = whole(foundations.get(suit, 0))
        if up is None or not 0 <= up <= NUM_RANKS:
            raise ValueError(f"a foundation has 0 to {NUM_RANKS} cards, not {foundations[suit]!r}")
        ups.append(up)
    return ups


def _parse_cards(text: object, where: str) -> list[int]:
    if not isinstance(text, str):
        raise ValueError(f'{where} is a text such as "5C 6D", not {text!r}')
    return [_parse_card(card, where) for card in text.split()]


def _parse_card(text: str, where: str) -> int:
    try:
        return parse_card(text)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _is_red(card: int) -> bool:
    return card // NUM_RANKS in (1, 2)


def _fill_pile(state: np.void, i: int, down: list[int], run: list[int], are_known: bool) -> None:
    start = i * MAX_HEIGHT
    cards = np.array(down + run, dtype=np.uint8) + 1
    state["hidden"][i * MAX_HIDDEN : i * MAX_HIDDEN + len(down)] = cards[: len(down)]
    state["tableau"][start : start + len(cards)] = cards
    if not are_known:
        state["tableau"][start : start + len(down)] = FACE_DOWN
    state["height"][i], state["face_down"][i] = len(cards), len(down)


def _format_pile(state: np.void, i: int) -> str:
    start, height, down = i * MAX_HEIGHT, int(state["height"][i]), int(state["face_down"][i])
    cards = state["hidden"][i * MAX_HIDDEN : i * MAX_HIDDEN + down]
    hidden = "".join(f"({CARDS[card - 1]})" for card in cards)
    shown = _format_cards(state["tableau"][start + down : start + height])
    return f"{hidden} {shown}" if hidden else shown


def _format_cards(cards: np.ndarray) -> str:
    return " ".join(CARDS[card - 1] for card in cards)
