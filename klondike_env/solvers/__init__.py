"""Search with all cards known, one folder a game."""
