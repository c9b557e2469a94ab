"""Klondike's environments: `KlondikeEnv` and `KlondikeVectorEnv`."""

from __future__ import annotations

from klondike_env.envs.solitaire import SolitaireEnv
from klondike_env.envs.vector import SolitaireVectorEnv
from klondike_env.games.klondike.game import GAME


class KlondikeEnv(SolitaireEnv):
    """Klondike solitaire, with hidden cards hidden and every rule an option.

    ## Description
    One player, one 52-card deck: seven piles of which only the top cards show, a stock, a waste and
    four foundations. Put all cards on the foundations. Each registered id is a named rule set
    (`klondike_env.ENV_IDS`); any field of `KlondikeRules` can be changed by a keyword.

    ## Action Space
    `Discrete(87)` for the action set `turn`:

        0        draw                turn cards from stock to waste
        1        redeal              turn the waste over to make a new stock
        2        W>F                 waste to foundation
        3-9      W>T1 ... W>T7       waste to pile
        10-16    T1>F ... T7>F       pile to foundation
        17-58    T1>T2 ... T7>T6     pile to pile
        59-86    C>T1 ... S>T7       foundation to pile

    `Discrete(269)` for `actions="reach"`, under rules with unlimited passes and no redeal penalty,
    where going through the stock costs nothing: the stock counts as seen, draws and redeals are
    implied, and any talon card (waste bottom to top, then stock in draw order) that they can bring
    to the top of the waste is played in one action:

        0-191    #1>F ... #24>T7     8 k + d: k-th talon card to foundation (d 0) or pile d
        192-198  T1>F ... T7>F       pile to foundation
        199-240  T1>T2 ... T7>T6     pile to pile
        241-268  C>T1 ... S>T7       foundation to pile

    How many cards a pile-to-pile move takes follows from the ranks. `info["action_mask"]` (int8)
    and `action_masks()` (bool) say which actions are legal; `action_space.sample(mask)` draws one.
    They are all ones once the game has ended, and where a game starts with nothing to play at all:
    its first step, whatever the action, changes nothing and ends it as stuck. An illegal action
    raises `IllegalMoveError`, or under `illegal="ignore"` is a step that changes nothing.

    ## Observation Space
    A `Dict` of `Box`es, what a player with a perfect memory knows; cards never seen read 53:

        tableau       (7, 19)  int8   piles bottom to top: 0 nothing, 1-52 card + 1, 53 face down
        foundations   (4,)     int8   cards up in each suit
        waste         (24,)    int8   bottom to top: 0 nothing, 1-52 card + 1
        stock         (24,)    int8   in draw order: 0 nothing, 1-52 card + 1, 53 face down
        redeals_left  (1,)     int16  -1 unlimited
        face_down     (7,)     int8   face-down cards of each pile

    `face_down` is there only when all cards are known (thoughtful ids), where every card of the
    tableau reads 1-52. `observation="flat"` gives the same numbers in this order as one `Box` of
    int16.

    ## Starting State
    The next deal of a stream that `reset(seed=...)` starts, or what `reset(options=...)` names:
    `deal` (a deal number), `deck` (52 card numbers in deal order, `deck[0:7]` the first row and
    `deck[28]` the first card drawn) or `position` (see `games.klondike.position`).

    ## Rewards
    By the keyword `reward`:

        win       1 on the step that wins, else 0
        score     change of the game's score
        cards     change of the number of foundation cards
        progress  potential-based: change of (foundation cards - face-down cards), over 73

    ## Episode End
    Terminated when won, and when stuck: no card can move, now or at any stock position that draws
    and redeals alone still reach. Carrying a whole pile into a space is legal but counts for
    nothing there. Truncated after 2,000 steps (`max_episode_steps`). A game that is won or stuck on
    the very step of the limit is both: `terminated` and `truncated` are set, and `outcome` and
    reward are those of its end.

    ## Information
    `action_mask`; `deal`, the deal number (-1 for a deck or position), not for agents; `score`;
    `foundation_cards`; `outcome`: `won`, `stuck` or empty.

    ## Arguments
    `rules` (a `KlondikeRules` or the id of one) and any of its fields; `reward`; `actions`;
    `observation`; `illegal`; `render_mode` (None, `ansi`: text, `rgb_array`: pictures, `human`: a
    window). All show what the player sees; the last two need the extra `render`.

    ## Version History
    v0: first version.
    """

    game = GAME
    default_rules = "Klondike-Draw3-v0"


class KlondikeVectorEnv(SolitaireVectorEnv):
    """Many Klondike games, stepped in one compiled call; see `KlondikeEnv` for spaces and rewards.

    The infos hold one array per key of the single environment's info, `action_mask` int8[N,
    actions] among them. Under the autoreset mode `SAME_STEP` they also hold `final_obs` and
    `final_info`; under `DISABLED` rows that have ended wait, ignoring their actions, for
    `reset(options={"reset_mask": ...})`. A row that the step limit has ended shows all ones as its
    mask, like every ended row; the single environment, whose limit is a wrapper, cannot know it.
    `render()` gives a tuple with one frame a row; the window of mode `human` shows the first nine.
    """

    game = GAME
    default_rules = "Klondike-Draw3-v0"
