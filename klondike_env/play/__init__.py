"""The terminal game behind ``klondike play``; needs the extra `play` (Textual).

`session` is a game with undo, without a screen; `advisor` asks an agent; `table` and `picture` say
what lies where and how it looks in a terminal; `board`, `dialogs` and `app` are the screen.
"""
