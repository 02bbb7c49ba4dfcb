"""What ranks exchange, and the world of one process, for which nothing is exchanged."""

from typing import Any

import torch

from clearhead.training.distributed.world import ALONE, World
from tests.ranks import RankServer


def exchange(world: World) -> dict[str, Any]:
    """Call every method once."""
    total = torch.arange(3.0) + world.rank
    world.sum_up(total)
    copied = torch.full((2,), float(world.rank + 5))
    world.copy_from_first([copied])
    words = ["zero", "one", "two", "three", "four"]
    if world.is_first:
        world.announce("done")
    else:
        world.wait_for("done")
    world.wait_for_all()
    return {
        "any_of": world.any_of([world.rank == 1, False, True]),
        "share": world.share({"text": f"für {world.rank}", "number": 0.1}),
        "gather": world.gather(["r" * world.rank, None]),
        "sum": total.tolist(),
        "copied": copied.tolist(),
        "words": world.interleave(world.gather(list(world.share_of(words)))),
        "own": list(world.share_of(words)),
    }


def test_ranks_exchange_values(ranks: RankServer) -> None:
    results = ranks.run(3, exchange)
    for rank, result in enumerate(results):
        assert result == {
            "any_of": [True, False, True],
            "share": {"text": "für 0", "number": 0.1},
            "gather": [["", None], ["r", None], ["rr", None]],
            "sum": [3.0, 6.0, 9.0],
            "copied": [5.0, 5.0],
            "words": ["zero", "one", "two", "three", "four"],
            "own": [["zero", "three"], ["one", "four"], ["two"]][rank],
        }


def test_one_process_has_nothing_to_exchange() -> None:
    result = exchange(ALONE)
    assert result["any_of"] == [False, False, True]
    assert result["gather"] == [["", None]]
    assert result["words"] == result["own"] == ["zero", "one", "two", "three", "four"]
    assert result["sum"] == [0.0, 1.0, 2.0]
    assert ALONE.is_first
    assert ALONE.is_alone
    assert ALONE.place(torch.device("cpu")) == torch.device("cpu")
