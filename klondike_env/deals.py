"""Deals by number: number -> deck, seed -> stream of deal numbers, and the named suites.

The generator is our own and frozen, since NumPy promises no stream for ever: SplitMix64 (Steele,
Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014), started at the mixed
deal number, driving a Fisher-Yates shuffle whose bounded draws are unbiased (Lemire, "Fast random
integer generation in an interval", 2019). The same number is the same deck on every platform and
version.

Numbers are split into ranges that never meet:

======================  ===================================================================
0 - 999,999,999         for people: chosen by hand, printed, talked about
1,000,000,000 - ...     the suite ``test``: for reported results only
2,000,000,000 - ...     the suite ``validation``: for tuning and for choosing checkpoints
3,000,000,000 - 2^32-1  not used
2^32 - 2^63-1           streams that ``reset(seed=...)`` starts: training
======================  ===================================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from klondike_env import verdicts
from klondike_env.checks import check_choice, whole, whole_from
from klondike_env.compiled import entry_point, inlined

SUITE_SIZE = 1_000_000_000
SUITES = {
    "test": range(1_000_000_000, 1_000_000_000 + SUITE_SIZE),
    "validation": range(2_000_000_000, 2_000_000_000 + SUITE_SIZE),
}
"""Every deal number of each named suite."""

FIRST_STREAM_NUMBER = 2**32
LAST_NUMBER = 2**63 - 1
MAX_SIZE = 255

GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_DECK_KEY = np.uint64(0x4B6C6F6E64696B65)
_SEED_KEY = np.uint64(0x536F6C6974616972)
_WORD = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_ONE = np.uint64(1)
_FIRST_STREAM_NUMBER = np.uint64(FIRST_STREAM_NUMBER)
_MASK_64 = 2**64 - 1


@inlined
def mix(value):  # type: ignore[no-untyped-def]
    """uint64 -> uint64, a bijection whose output bits each depend on every input bit."""
    value = (value ^ (value >> np.uint64(30))) * _MIX_1
    value = (value ^ (value >> np.uint64(27))) * _MIX_2
    return value ^ (value >> np.uint64(31))


@inlined
def shuffle_into(number, cards):  # type: ignore[no-untyped-def]
    """Write the deck of deal `number` (uint64) into `cards` (uint8, any size up to 255)."""
    size = cards.shape[0]
    for i in range(size):
        cards[i] = i
    state = mix(number ^ _DECK_KEY)
    for i in range(size - 1, 0, -1):
        bound = np.uint64(i + 1)
        state += GAMMA
        product = (mix(state) >> _HALF) * bound
        if (product & _WORD) < bound:
            # 2^32 mod bound: products whose low half is smaller would be drawn once too often.
            excess = ((_WORD - bound) + _ONE) % bound
            while (product & _WORD) < excess:
                state += GAMMA
                product = (mix(state) >> _HALF) * bound
        j = product >> _HALF
        card = cards[i]
        cards[i] = cards[j]
        cards[j] = card


@inlined
def advance_stream(stream):  # type: ignore[no-untyped-def]
    """The stream's next state (uint64)."""
    return stream + GAMMA


@inlined
def stream_number(stream):  # type: ignore[no-untyped-def]
    """The deal number that a stream's state (uint64) stands for: 2^32 ... 2^63 - 1, as int64."""
    number = mix(stream) >> _ONE
    if number < _FIRST_STREAM_NUMBER:
        number += _FIRST_STREAM_NUMBER
    return np.int64(number)


@entry_point
def _shuffle_decks(numbers, decks):  # type: ignore[no-untyped-def]
    for i in range(numbers.shape[0]):
        shuffle_into(np.uint64(numbers[i]), decks[i])


@entry_point
def _advance_streams(streams, numbers):  # type: ignore[no-untyped-def]
    for i in range(streams.shape[0]):
        streams[i] = advance_stream(streams[i])
        numbers[i] = stream_number(streams[i])


def check_number(number: object) -> int:
    """A deal number as int.

    Raises:
        ValueError: not a whole number from 0 to 2^63 - 1.
    """
    value = whole(number)
    if value is None or not 0 <= value <= LAST_NUMBER:
        raise ValueError(f"a deal is a whole number from 0 to 2^63 - 1, not {number!r}")
    return value


def deck(number: int, size: int = 52) -> np.ndarray:
    """The deck of a deal number, in deal order.

    Args:
        number: 0 ... 2^63 - 1.
        size: cards in the deck, 1 ... 255.

    Returns:
        uint8[size], each card number once.

    Raises:
        ValueError: `number` is no deal number, or `size` no size of a deck.
    """
    if whole_from("size", size, 1) > MAX_SIZE:
        raise ValueError(f"size is at most {MAX_SIZE}, not {size}")
    cards: np.ndarray = decks(np.array([check_number(number)]), size)[0]
    return cards


def decks(numbers: np.ndarray, size: int = 52) -> np.ndarray:
    """The decks of many deal numbers: whole numbers [N] -> uint8[N, size].

    Raises:
        ValueError: no such array, or a number below 0.
    """
    numbers = np.asarray(numbers)
    if numbers.dtype.kind not in "iu" or numbers.ndim != 1 or (numbers < 0).any():
        raise ValueError(
            f"deals are whole numbers >= 0 in one row, not {numbers.dtype} {numbers.shape}"
        )
    cards = np.empty((len(numbers), size), dtype=np.uint8)
    _shuffle_decks(numbers.astype(np.int64), cards)
    return cards


def next_numbers(streams: np.ndarray) -> np.ndarray:
    """Advance deal streams (uint64[N], in place) and return their deal numbers (int64[N])."""
    numbers = np.empty(len(streams), dtype=np.int64)
    _advance_streams(streams, numbers)
    return numbers


def stream_of_seed(seed: int) -> int:
    """The start (a uint64) of the deal stream of an environment's seed, a whole number >= 0."""
    state = int(_SEED_KEY)
    while True:  # seeds of any size: 64 bits at a time
        state = _mix_int(state ^ _mix_int((seed & _MASK_64) + int(GAMMA)))
        seed >>= 64
        if not seed:
            return state


def streams_of_seed(seed: int, count: int) -> np.ndarray:
    """Starts of `count` streams (uint64[count]) spread from one seed.

    Each comes from hashing the seed with its place, so neighbouring seeds share no stream, and none
    is the stream of a single environment.
    """
    base = stream_of_seed(seed)
    return np.array(
        [_mix_int(base ^ _mix_int(int(_SEED_KEY) + place)) for place in range(count)],
        dtype=np.uint64,
    )


def _mix_int(value: int) -> int:
    """`mix` for Python integers."""
    value &= _MASK_64
    value = (value ^ (value >> 30)) * int(_MIX_1) & _MASK_64
    value = (value ^ (value >> 27)) * int(_MIX_2) & _MASK_64
    return value ^ (value >> 31)


def suite(name: str, count: int, start: int = 0) -> range:
    """`count` deal numbers of a named suite, from its `start`-th on.

    Raises:
        ValueError: no such suite, or it has not that many deals.
    """
    check_choice("a deal suite", name, tuple(SUITES))
    first, size = whole(start), whole(count)
    if first is None or size is None or size < 1 or first < 0 or first + size > SUITE_SIZE:
        raise ValueError(
            f"suite {name!r} has {SUITE_SIZE} deals: cannot take {count!r} from number {start!r} on"
        )
    return SUITES[name][first : first + size]


def winnable_suite(
    name: str,
    count: int,
    rules: Any,
    *,
    start: int = 0,
    min_states: int = 0,
    max_states: int | None = None,
) -> list[int]:
    """`count` deals of a named suite that can be won when all cards are known.

    Args:
        name: the suite.
        count: how many deals.
        rules: the rules they are to be played by, such as `KlondikeRules(draw_count=1)`; the
            library's solver has decided the first 10,000 deals of each suite for some rules.
        start: leave out so many winnable deals first.
        min_states: only deals for which the solver needed at least so many states, rounded down to
            a power of 2: a measure of difficulty.
        max_states: only deals for which it needed fewer, rounded up to a power of 2.

    Raises:
        ValueError: no verdicts for these rules (others are never taken instead), or not that many
            deals.
    """
    check_choice("a deal suite", name, tuple(SUITES))
    first, size = whole_from("start", start, 0), whole_from("count", count, 1)
    lowest = whole_from("min_states", min_states, 0).bit_length()
    known = verdicts.load(name, rules)
    fits = (known.verdict == verdicts.WINNABLE) & (known.digits >= lowest)
    if max_states is not None:
        fits &= known.digits <= (whole_from("max_states", max_states, 1) - 1).bit_length()
    places = np.flatnonzero(fits)[first : first + size]
    if len(places) < size:
        raise ValueError(
            f"only {int(fits.sum())} such deals are known in suite {name!r}: cannot take {size}"
            f" from number {first} on"
        )
    return [SUITES[name][place] for place in places.tolist()]
