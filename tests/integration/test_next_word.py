"""benchmarks/next_word.py and kneser_ney.py: probabilities sum to 1, are those worked by hand, and no text is lost."""

import argparse
import math
import sys
from pathlib import Path
from types import ModuleType

import pytest

from clearhead.formats.shapes import num_parameters
from clearhead.model.config import preset
from clearhead.training.config import RunConfig

ROOT = Path(__file__).parents[2]


def benchmark(name: str) -> ModuleType:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        return __import__(name)
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


TEXTS = [[0, 1, 2, 1, 0], [0, 1, 1, 3], [2, 1, 0], [4]]


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_the_probabilities_of_all_tokens_sum_to_one(order: int) -> None:
    model = benchmark("kneser_ney").KneserNey(TEXTS, order, 7)
    for history in [(-1,), (-1, 0), (0, 1), (1, 2, 1), (6, 6), ()]:
        assert sum(model.probability(history, token) for token in range(7)) == pytest.approx(1)


def test_a_bigram_model_is_the_one_worked_by_hand() -> None:
    """Texts a b and a c of the tokens a, b, c: (start, a) occurs twice, (a, b) and (a, c) once.

    The bigrams have n₁ = 2, n₂ = 1, so D = 2/4. Each token follows one other: n₁ = 3, n₂ = 0, so D = 1 and the unigrams
    are all 1/3. p(b | a) = (1 - 0.5)/2 + 0.5 · 2/2 · 1/3 = 5/12; p(a | start) = 1.5/2 + 0.5 · 1/2 · 1/3 = 5/6.
    """
    model = benchmark("kneser_ney").KneserNey([[0, 1], [0, 2]], 2, 3)
    assert model.probability((0,), 1) == pytest.approx(5 / 12)
    assert model.log_probs([0, 1]) == pytest.approx([math.log(5 / 6), math.log(5 / 12)])


def test_blocks_hold_every_line_and_end_at_line_ends() -> None:
    module = benchmark("next_word")
    text = "First Citizen:\nSpeak,  speak.\n\nAll:\nNo more\n"
    blocks = module.blocks_of(text, 30)
    assert "".join(blocks) == "First Citizen:⏎Speak, speak.⏎⏎All:⏎No more⏎"
    assert all(block.endswith("⏎") and len(block) <= 30 for block in blocks)
    assert len(blocks) == 2


def test_bits_and_perplexity_count_the_end_only_of_sentences() -> None:
    module = benchmark("next_word")
    rows = [("abc", [-1.0, -2.0, -3.0, -50.0])]
    blocks = module.total_score(rows, "shakespeare")
    assert blocks.bits == pytest.approx(6 / math.log(2) / 3)
    sentences = module.total_score(rows, "europarl")
    assert (sentences.num_tokens, sentences.num_characters) == (4, 4)
    assert sentences.perplexity == pytest.approx(math.exp(56 / 4))


@pytest.mark.parametrize(("task", "vocabulary", "millions"), [("shakespeare", 80, 10.7), ("europarl", 8000, 23.0)])
def test_the_models_have_the_sizes_that_their_configs_state(task: str, vocabulary: int, millions: float) -> None:
    module = benchmark("next_word")
    options = argparse.Namespace(device="cpu", small=False, steps=None)
    for name in ("transformer", "lstm"):
        config = module.config_of(task, name, Path("work"), options)
        sizes = {**config["model"], "shape": "decoder", "source_vocabulary": vocabulary}
        model = preset(config.get("preset", RunConfig.model_fields["preset"].default), **sizes)
        assert num_parameters(model) / 1e6 == pytest.approx(millions, rel=0.02), name
