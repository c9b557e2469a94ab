"""One frozen dataclass is a command's options, its YAML file and its defaults at once.

A field's ``metadata["help"]`` is the option's help. A list field takes one or more values.
The command line wins over the file wherever it stands, and a list there replaces the file's.
"""

from __future__ import annotations

import dataclasses
from argparse import ArgumentError
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import yaml
from jsonargparse import ArgumentParser

from benchmarks.errors import UserError

Config = TypeVar("Config")


def option(default: Any, text: str) -> Any:
    """A dataclass field with its default (a list is copied for each instance) and help text."""
    metadata = {"help": text}
    if isinstance(default, list):
        return dataclasses.field(default_factory=lambda: list(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def parse(config_class: type[Config], argv: Sequence[str], *, prog: str) -> Config:
    """The configuration that ``argv`` asks for, with ``--config FILE`` filling what it leaves out.

    Raises:
        UserError: for an unknown option or key, a value of the wrong type, an unreadable file.
    """
    parser = _parser(config_class, prog)
    path = _parse_args(parser, argv).pop("config")
    if path is not None:
        parser.set_defaults(_read_file(parser, config_class, Path(path)))
    values = _parse_args(parser, argv)
    del values["config"]
    return config_class(**values)


def prepare_file(name: str, path: Path) -> None:
    """Make the folder of an output file now: a mistake in its name must not show after hours.

    Raises:
        UserError: the path can't be written to; ``name`` is the option that gave it.
    """
    if path.is_dir():
        raise UserError(f"{name}: {path} is a folder")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{name}: can't make the folder {path.parent}: {error.strerror}") from None


def _parser(config_class: type, prog: str) -> ArgumentParser:
    parser = ArgumentParser(
        prog=prog, description=config_class.__doc__, exit_on_error=False, allow_abbrev=False
    )
    parser.add_argument("--config", metavar="FILE", help="YAML file with these options as keys")
    hints = get_type_hints(config_class)
    for field in dataclasses.fields(config_class):
        many = hints[field.name] == list[str]
        factory = field.default_factory
        parser.add_argument(
            f"--{field.name}",
            type=str if many else hints[field.name],
            default=field.default if factory is dataclasses.MISSING else factory(),
            help=field.metadata["help"],
            nargs="+" if many else None,
        )
    return parser


def _parse_args(parser: ArgumentParser, argv: Sequence[str]) -> dict[str, Any]:
    try:
        return dict(vars(parser.parse_args(list(argv))))
    except ArgumentError as error:
        raise UserError(_one_line(error)) from None


def _read_file(parser: ArgumentParser, config_class: type, path: Path) -> dict[str, Any]:
    """The file's keys and values, checked against the fields."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UserError(f"can't read the configuration {path}: {reason}") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path} is not YAML: {_one_line(error)}") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} must hold keys and values, such as 'games: 1000'")
    known = {field.name: field for field in dataclasses.fields(config_class)}
    for key, value in content.items():
        if key not in known:
            raise UserError(f"unknown key {key!r} in {path}; known keys: {', '.join(known)}")
        if value is None and known[key].default is not None:
            raise UserError(f"{key} has no value in {path}")
    hints = get_type_hints(config_class)
    # A lone value where a list is meant is as clear in a file as it is on the command line.
    values = {
        key: [value] if hints[key] == list[str] and not isinstance(value, list) else value
        for key, value in content.items()
    }
    try:
        checked = parser.parse_object({**values, "config": None})
    except ArgumentError as error:
        raise UserError(f"{path}: {_one_line(error)}") from None
    return {key: checked[key] for key in values}


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
