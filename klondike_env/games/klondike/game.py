"""Klondike's description for the environments."""

from __future__ import annotations

from klondike_env.games.base import Game, Kernels
from klondike_env.games.klondike import board, kernels, layout, moves, position, rules

GAME = Game(
    name="Klondike",
    module=__name__,
    rules_type=rules.KlondikeRules,
    presets=rules.PRESETS,
    state_dtype=layout.STATE,
    action_sets=layout.ACTION_SETS,
    observation_fields=layout.observation_fields,
    encode_rules=layout.encode_rules,
    kernels=Kernels(
        start=kernels.start,
        refresh=kernels.refresh,
        find_illegal=kernels.find_illegal,
        step=kernels.step,
        observe=kernels.observe,
        write_masks=kernels.write_masks,
    ),
    parse_position=position.parse,
    format_position=position.format,
    explain_illegal=moves.explain_illegal,
    parse_move=moves.parse_move,
    move_text=moves.counted_text,
    board=board.board,
    board_text=board.board_text,
)
