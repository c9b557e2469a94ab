"""The two ways a run ends early. Both are shown as one line on stderr, without a traceback."""

from __future__ import annotations


class UserError(Exception):
    """A mistake in what was asked for: the message names it and says what is allowed (exit 2)."""


class AgentError(Exception):
    """An agent raised or chose an action it may not play: the run can't go on (exit 1)."""
