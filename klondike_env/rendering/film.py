"""Pictures and animations of replayed games, as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from klondike_env.rendering.picture import MARK, Painter
from klondike_env.rendering.pillow import Image

if TYPE_CHECKING:
    from klondike_env.records import Replay

COLOURS = 64


def save_picture(replay: Replay, path: Path, move: int | None = None, width: int = 960) -> None:
    """Save a picture of the board after a move, as its player saw it.

    Args:
        replay: the game.
        path: of the file; its name's end says the format, such as `.png`.
        move: after how many moves, by default all.
        width: of the picture in pixels.

    Raises:
        ValueError: a move that the game does not have, or an unknown format.
    """
    moves = len(replay.moves)
    move = moves if move is None else move
    if not 0 <= move <= moves:
        raise ValueError(f"a move from 0 to {moves} needed, not {move}")
    Image.fromarray(_frames(replay, width, [move])[0]).save(path, optimize=True)


def save_animation(replay: Replay, path: Path, fps: float = 4, width: int = 480) -> None:
    """Save a game as a GIF, a frame for each move, which starts again by itself.

    Args:
        replay: the game.
        path: of the file, which ends with `.gif`.
        fps: moves a second.
        width: of the pictures in pixels.

    Raises:
        ValueError: another end of the file's name.
    """
    if path.suffix.lower() != ".gif":
        raise ValueError(f"an animation is a .gif file, not {path.name}")
    frames = _frames(replay, width, range(len(replay.states)))
    # One palette for all, from a frame of the middle: else colours flicker, and files grow.
    marks = np.empty_like(frames[0])
    marks[:] = MARK  # which would else be too rare to get a colour of its own
    samples = np.vstack([marks, frames[0], frames[len(frames) // 2], frames[-1]])
    palette = Image.fromarray(samples).quantize(COLOURS, dither=Image.Dither.NONE)
    images = [
        Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.NONE)
        for frame in frames
    ]
    pause = round(1000 / fps)
    durations = [*[pause] * (len(images) - 1), 12 * pause]
    images[0].save(
        path,
        save_all=True,
        append_images=images[1:],
        duration=durations,
        loop=0,
        optimize=True,
        disposal=1,  # each frame holds only what differs from the one before
    )


def _frames(replay: Replay, width: int, moves: Any) -> list[np.ndarray]:
    boards = {
        i: replay.game.board(replay.states[i], False)
        for move in moves
        for i in (move - 1, move)
        if i >= 0
    }
    painter = Painter(next(iter(boards.values())), width)
    return [painter.paint(boards[move], boards.get(move - 1)) for move in moves]
