"""What results depend on beside their configuration: versions of libraries and the code itself."""

from __future__ import annotations

import functools
import hashlib
import inspect
import platform
from importlib import metadata
from pathlib import Path

import klondike_env
from klondike_env.records import library_versions


def game_versions() -> dict[str, str]:
    """Versions that stored games are kept apart by."""
    return library_versions()


def all_versions() -> dict[str, str]:
    """Versions to state beside results: `game_versions`, the statistics and the machine."""
    return game_versions() | {
        "scipy": metadata.version("scipy"),
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "machine": platform.machine(),
    }


def code_digest(agent_class: type) -> str:
    """Digest of the library's files and of the folder the agent lives in, weights included.

    So games of an edited agent never mix with those of the old one. An agent in a single module
    outside a package counts with that file alone; libraries count by version, not here.
    """
    folders = [Path(inspect.getfile(klondike_env)).parent]
    agent_file = Path(inspect.getfile(agent_class))
    if "." in agent_class.__module__:
        folders.append(agent_file.parent)
        return digest(*folders)
    return digest(*folders, agent_file)


@functools.cache
def digest(*places: Path) -> str:
    """Digest of files and of all files in folders."""
    digest = hashlib.sha256()
    for place in places:
        files = [place] if place.is_file() else sorted(place.rglob("*"))
        for file in files:
            hidden = any(part.startswith((".", "__pycache__")) for part in file.parts)
            if file.is_file() and not hidden:
                digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]
