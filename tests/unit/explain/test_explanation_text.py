"""A search drawn for a terminal: every column, every outcome and every reason, compared with text written by hand."""

import copy
from typing import Any

from clearhead.explain.explanation_text import search_text


def option(parent: int, token: int, log_prob: float, total: float, **more: Any) -> dict[str, Any]:
    return {"parent": parent, "token": token, "log_prob": log_prob, "total": total, "slot": None, "why": "", **more}


# Two steps with a beam of 2: first "▁der" and "▁die" are kept, then only "▁die ▁Katze"; "▁der </s>" ends.
SEARCH: dict[str, Any] = {
    "source_pieces": ["▁the", "▁cat", "</s>"],
    "pieces": {"2": "</s>", "5": "▁der", "7": "▁die", "11": "▁Katze", "0": "<pad>"},
    "steps": [
        {
            "number": 1,
            "options": [
                option(0, 5, -0.5, -0.5, fate="kept", slot=0),
                option(0, 7, -1.0, -1.0, fate="kept", slot=1),
                option(0, 11, -12.25, -12.25, fate="dropped", why="2 better candidates were kept"),
                option(0, 0, -0.25, -0.25, fate="hidden", why="hidden by the rule padding"),
            ],
            "lost": [],
        },
        {
            "number": 2,
            "options": [
                option(0, 2, -0.25, -0.75, fate="ended"),
                option(1, 11, -0.5, -1.5, fate="kept", slot=0),
            ],
            "lost": [{"slot": 0, "why": "all its continuations scored below -1.5000"}],
        },
    ],
    "stopped": "after 2 tokens: the hypothesis has ended",
    "best": [{"tokens": [5, 2], "score": -0.375}],
}
DRAWN = """\
source: ▁the ▁cat </s>
step 1
             total log P  token log P  hypothesis
  kept as 1      -0.5000      -0.5000  ▁der
  kept as 2      -1.0000      -1.0000  ▁die
  dropped       -12.2500     -12.2500  ▁Katze   (2 better candidates were kept)
  hidden         -0.2500      -0.2500  <pad>   (hidden by the rule padding)
step 2
             total log P  token log P  hypothesis
  ended          -0.7500      -0.2500  ▁der </s>
  kept as 1      -1.5000      -0.5000  ▁die ▁Katze
  hypothesis 1 was dropped: all its continuations scored below -1.5000
stopped after 2 tokens: the hypothesis has ended
1. score -0.3750  ▁der </s>
"""


def test_a_search_worked_by_hand_is_drawn_step_by_step() -> None:
    assert search_text(SEARCH) == DRAWN


def test_earlier_tokens_are_those_of_the_continued_hypothesis() -> None:
    three = copy.deepcopy(SEARCH)
    three["steps"].append({"number": 3, "options": [option(0, 2, -0.5, -2.0, fate="ended")], "lost": []})
    assert "\n  ended      -2.0000      -0.5000  ▁die ▁Katze </s>\n" in search_text(three)


def test_pieces_cannot_send_commands_to_the_terminal() -> None:
    hostile = copy.deepcopy(SEARCH)
    hostile["pieces"]["5"] = "\x1b[31m"
    hostile["source_pieces"] = ["\x1b]0;title\x07"]
    drawn = search_text(hostile)
    assert "\x1b" not in drawn
    assert "\x07" not in drawn
    assert drawn.count("\n") == DRAWN.count("\n")
