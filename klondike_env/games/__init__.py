"""The games. One folder each, with the same file names; `base` says what a game supplies."""
