"""Uniformly random legal actions for a whole batch, compiled."""

from __future__ import annotations

import numpy as np

from klondike_env.compiled import entry_point, inlined
from klondike_env.deals import advance_stream, mix

_HALF = np.uint64(32)
_BLOCK = 64  # actions counted at once, in sums that fit a byte and so run many to an instruction


@inlined
def _count(mask, first, last):  # type: ignore[no-untyped-def]
    count = np.uint8(0)
    for action in range(first, last):
        count = np.uint8(count + np.uint8(mask[np.uint64(action)] != 0))
    return np.int64(count)


@entry_point
def _sample(masks, key, actions):  # type: ignore[no-untyped-def]
    """Choose in each row; returns the first row that has no legal action, or -1."""
    size = np.int64(masks.shape[1])
    state = key
    for row in range(masks.shape[0]):
        mask = masks[row]
        count = np.int64(0)
        for first in range(0, size, _BLOCK):
            count += _count(mask, first, min(first + _BLOCK, size))
        if count == 0:
            return row
        state = advance_stream(state)
        # The bias of a 32-bit product over at most a few hundred actions is below 1e-7.
        left = np.int64(((mix(state) >> _HALF) * np.uint64(count)) >> _HALF)
        first = np.int64(0)
        while True:
            within = _count(mask, first, min(first + _BLOCK, size))
            if left < within:
                break
            left -= within
            first += _BLOCK
        while True:
            if mask[np.uint64(first)] != 0:
                if left == 0:
                    break
                left -= 1
            first += 1
        actions[row] = first
    return -1


def sample_actions(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a uniformly random legal action for each row.

    Args:
        masks: int8 or bool [B, A], non-zero where an action is legal.
        rng: source of randomness; one 64-bit number is taken from it whatever B is.

    Returns:
        int64[B].

    Raises:
        ValueError: masks of another shape, or a row without a legal action.
    """
    masks = np.asarray(masks)
    if masks.ndim != 2:
        raise ValueError(f"masks have shape [B, A], not {masks.shape}")
    if masks.dtype == np.bool_:
        masks = masks.view(np.int8)
    actions = np.empty(len(masks), dtype=np.int64)
    row = _sample(masks, rng.integers(2**64, dtype=np.uint64), actions)
    if row >= 0:
        raise ValueError(f"row {row} of the masks allows no action")
    return actions
