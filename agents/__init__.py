"""Players of Klondike, by name. See `agents.base` for what a player is."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from klondike_env.games.klondike.rules import KlondikeRules

AGENTS = {
    "random": "agents.random_agent:Random",
    "greedy": "agents.greedy:Greedy",
    "yan": "agents.yan:Yan",
    "guide": "agents.guide:Guide",
    "plan": "agents.plan:Plan",
    "ppo": "agents.ppo:Ppo",
    "planner": "agents.planner:Planner",
    "ppo-plan": "agents.ppo_plan:PpoPlan",
    "search": "agents.search:Search",
    "search-fast": "agents.search:Fast",
    "hop": "agents.search:Hop",
    "uct": "agents.uct:Uct",
    "solver": "agents.solver:Solver",
}
"""Where the class of each named agent is."""

__all__ = ["AGENTS", "make_agent"]


def make_agent(name: str, rules: KlondikeRules | None = None) -> Any:
    """Make an agent by its name or by ``package.module:Class``.

    A class whose constructor takes `rules`, or needs an argument, is given the rules.

    Args:
        name: of the agent.
        rules: that it is to play under, those of ``Klondike-Draw3-v0`` by default.

    Raises:
        ValueError: no such agent, or one that cannot play these rules; says what there is.
    """
    path = AGENTS.get(name, name)
    module_name, separator, class_name = path.partition(":")
    if not (separator and module_name and class_name):
        raise ValueError(
            f"no agent {name!r}: choose from {', '.join(AGENTS)}, or name a package.module:Class"
        )
    try:
        module = importlib.import_module(module_name)
    except (ImportError, ValueError) as error:
        raise ValueError(f"agent {name!r} cannot be imported: {error}") from error
    agent_class: Any = getattr(module, class_name, None)
    if not isinstance(agent_class, type):
        classes = sorted(
            key
            for key, value in vars(module).items()
            if inspect.isclass(value) and value.__module__ == module.__name__
        )
        there = ", ".join(classes) if classes else "no classes"
        raise ValueError(f"agent {name!r}: {module_name} has no class {class_name!r}, but {there}")
    rules = KlondikeRules() if rules is None else rules
    if getattr(agent_class, "needs_all_cards", False) and not rules.cards_known:
        raise ValueError(f"agent {name!r} needs all cards known: let it play a thoughtful id")
    parameters = _parameters(agent_class)
    if "rules" in parameters:
        return agent_class(rules=rules)
    needs_some = any(parameter.default is parameter.empty for parameter in parameters.values())
    return agent_class(rules) if needs_some else agent_class()


def _parameters(agent_class: type[Any]) -> dict[str, inspect.Parameter]:
    """Parameters of a constructor that can be given one by one."""
    try:
        parameters = inspect.signature(agent_class).parameters
    except (TypeError, ValueError):
        return {}
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {name: p for name, p in parameters.items() if p.kind not in several}
