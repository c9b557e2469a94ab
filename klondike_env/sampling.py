"""Uniformly random legal actions for a whole batch, compiled."""

from __future__ import annotations

import numpy as np

from klondike_env.compiled import entry_point, inlined, load_word
from klondike_env.deals import advance_stream, mix

_HALF = np.uint64(32)
_LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
_ONES = np.uint64(0x0101010101010101)
_TOP = np.uint64(56)


@inlined
def _flags(word):  # type: ignore[no-untyped-def]
    """Each of the eight bytes of a word -> 1 if it is not 0."""
    return ((((word & _LOW_BITS) + _LOW_BITS) | word) >> np.uint64(7)) & _ONES


@inlined
def _tail_flags(mask, size):  # type: ignore[no-untyped-def]
    """The flags of the last `size` % 8 actions."""
    flags = np.uint64(0)
    for action in range(size & ~7, size):
        flags |= np.uint64(mask[np.uint64(action)] != 0) << np.uint64(8 * (action & 7))
    return flags


@entry_point
def _sample(masks, key, actions):  # type: ignore[no-untyped-def]
    """Choose in each row; returns the first row that has no legal action, or -1."""
    size = np.int64(masks.shape[1])
    words = size >> 3
    state = key
    for row in range(masks.shape[0]):
        mask = masks[row]
        tail = _tail_flags(mask, size)
        count = np.int64((tail * _ONES) >> _TOP)
        for eight in range(words):
            count += np.int64((_flags(load_word(mask, 8 * eight)) * _ONES) >> _TOP)
        if count == 0:
            return row
        state = advance_stream(state)
        # The bias of a 32-bit product over at most a few hundred actions is below 1e-7.
        left = np.int64(((mix(state) >> _HALF) * np.uint64(count)) >> _HALF)
        word, flags = np.int64(0), tail
        while word < words:
            flags = _flags(load_word(mask, 8 * word))
            within = np.int64((flags * _ONES) >> _TOP)
            if left < within:
                break
            left -= within
            word += 1
            flags = tail
        sums = flags * _ONES  # byte k: how many of the bytes 0 ... k are set
        action = np.int64(8 * word)
        for k in range(8):
            action += np.int64(np.int64((sums >> np.uint64(8 * k)) & np.uint64(255)) <= left)
        actions[row] = action
    return -1


def sample_actions(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a uniformly random legal action for each row.

    Args:
        masks: int8 or bool [B, A], non-zero where an action is legal.
        rng: source of randomness; one number is taken from it whatever B is.

    Returns:
        int64[B].

    Raises:
        ValueError: masks of another form, no generator, or a row without a legal action.
    """
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng is a numpy.random.Generator, not {type(rng).__name__}")
    if not isinstance(masks, np.ndarray):
        raise ValueError(f"masks are an array of int8 or bool [B, A], not {type(masks).__name__}")
    if masks.ndim != 2 or masks.dtype.char not in "?b":
        raise ValueError(f"masks are int8 or bool of shape [B, A], not {masks.dtype} {masks.shape}")
    if not (masks.dtype.char == "b" and masks.flags.carray):
        # A plain copy: other forms of array would have the kernel compiled anew.
        masks = np.array(masks, dtype=np.int8, order="C")
    actions = np.empty(len(masks), dtype=np.int64)
    row = _sample(masks, np.uint64(rng.random() * 2**53), actions)
    if row >= 0:
        raise ValueError(f"row {row} of the masks allows no action")
    return actions
