"""Uniformly random legal actions for a whole batch, compiled."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from klondike_env.checks import whole_from
from klondike_env.compiled import entry_point, inlined, load_word, specialised
from klondike_env.deals import GAMMA, advance_stream, mix
from klondike_env.threads import share_rows

_INT8, _INT64 = np.dtype(np.int8), np.dtype(np.int64)
_HALF = np.uint64(32)
_LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
_ONES = np.uint64(0x0101010101010101)
_TOP = np.uint64(56)


@inlined
def _flags(word):  # type: ignore[no-untyped-def]
    """Each of the eight bytes of a word -> 1 if it is not 0."""
    return ((((word & _LOW_BITS) + _LOW_BITS) | word) >> np.uint64(7)) & _ONES


@entry_point
def _sample(masks, draw, first_row, last_row, actions):  # type: ignore[no-untyped-def]
    """Choose in each of the rows; returns the first one that has no legal action, or -1."""
    size = np.int64(masks.shape[1])  # 8 or more
    words = size >> 3
    state = np.uint64(draw * 2.0**53) + np.uint64(first_row) * GAMMA
    for row in range(first_row, last_row):
        mask = masks[row]
        tail = np.uint64(0)  # the flags of the last `size` % 8 actions
        if size & 7:
            tail = _flags(load_word(mask, size - 8) >> np.uint64(8 * (-size & 7)))
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


def _plain(masks: Any) -> np.ndarray:
    """Masks in the only form that the kernel takes."""
    if not isinstance(masks, np.ndarray):
        raise ValueError(f"masks are an array of int8 or bool [B, A], not {type(masks).__name__}")
    if masks.ndim != 2 or masks.dtype.char not in "?b":
        raise ValueError(f"masks are int8 or bool of shape [B, A], not {masks.dtype} {masks.shape}")
    masks = np.array(masks, dtype=_INT8, order="C")
    missing = 8 - masks.shape[1]  # of the eight that the kernel reads at a time
    return np.pad(masks, ((0, 0), (0, missing))) if missing > 0 else masks


@functools.cache
def _sampler() -> Any:
    """`_sample` for the only form of arguments that it gets."""
    masks, actions = np.ones((1, 8), dtype=_INT8), np.empty(1, dtype=_INT64)
    return specialised(_sample, masks, 0.0, 0, 1, actions)


def sample_actions(masks: np.ndarray, rng: np.random.Generator, num_threads: int = 1) -> np.ndarray:
    """Draw a uniformly random legal action for each row.

    Args:
        masks: int8 or bool [B, A], non-zero where an action is legal.
        rng: source of randomness; one number is taken from it whatever B is.
        num_threads: threads that share the rows, which changes no draw; pays from some thousand
            rows on.

    Returns:
        int64[B].

    Raises:
        ValueError: masks of another form, no generator, no number of threads, or a row without a
            legal action.
    """
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng is a numpy.random.Generator, not {type(rng).__name__}")
    is_plain = type(masks) is np.ndarray and masks.dtype is _INT8 and masks.flags.carray
    if not (is_plain and masks.ndim == 2 and masks.shape[1] >= 8):
        masks = _plain(masks)
    rows, draw, sample = len(masks), rng.random(), _sampler()
    actions = np.empty(rows, _INT64)
    if num_threads == 1:
        no_action = sample(masks, draw, 0, rows, actions)
    else:
        no_action = share_rows(
            lambda first, last: sample(masks, draw, first, last, actions),
            rows,
            whole_from("num_threads", num_threads, 1),
        )
    if no_action >= 0:
        raise ValueError(f"row {no_action} of the masks allows no action")
    return actions
