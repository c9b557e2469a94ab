"""Starts the terminal game from what the command line asks for."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from klondike_env import ENV_IDS
from klondike_env.play.advisor import Advisor
from klondike_env.play.keeping import Keeper, default_file
from klondike_env.play.session import Session, random_deal

DEFAULT_ID = "Klondike-Draw3-v0"
DEFAULT_AGENT = "guide"


def play(
    start: Mapping[str, Any] | None,
    *,
    env_id: str | None,
    agent: str | None,
    is_watching: bool,
    resumes: bool,
    file: str | None,
) -> str:
    """Play a game in the terminal; returns what to tell at the end.

    Args:
        start: `deal`, `deck` or `position` with its value; None for a random deal.
        env_id: whose rules hold; None for the usual one.
        agent: that gives hints; None for the usual one, looked up when it is first asked.
        is_watching: let the agent play from the start.
        resumes: go on with the last game of the file.
        file: where games are kept; None for the usual place.

    Raises:
        ValueError: a mistake in what was asked for; says in one line what there is.
    """
    if resumes and (start is not None or env_id is not None):
        raise ValueError("a resumed game has its deal and id already: leave them out")
    if env_id is not None and env_id not in ENV_IDS:
        raise ValueError(f"no environment {env_id!r}: choose from {', '.join(ENV_IDS)}")
    try:
        from klondike_env.play.app import KlondikeApp
    except ModuleNotFoundError as error:
        raise ValueError(
            f"{error.name} is not installed: pip install 'klondike-env[play]'"
        ) from None
    keeper = Keeper(Path(file) if file else default_file())
    if resumes:
        session = keeper.resume()
    else:
        session = Session(env_id or DEFAULT_ID, start or {"deal": random_deal()})
    if agent is not None or is_watching:
        Advisor(agent or DEFAULT_AGENT, session.env.rules)  # a wrong name shows now
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ValueError("needs a terminal to play in")
    app = KlondikeApp(session, keeper, agent or DEFAULT_AGENT, is_watching)
    try:
        app.run()
    finally:
        is_kept = keeper.keep(app.session)
    if not is_kept:
        return "no move was made, nothing is kept"
    named = f" --file {file}" if file else ""
    return f"kept in {keeper.path}; klondike play --resume{named} goes on from there"
