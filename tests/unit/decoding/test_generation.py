"""Continuations of prompts: in order, the same for any batch and seed, within the positions of the model."""

from itertools import pairwise
from pathlib import Path

import pytest
import torch

from clearhead.decoding import generation
from clearhead.decoding.generation import TextGenerator, open_generator, token_choices
from clearhead.decoding.search.settings import SearchSettings
from clearhead.errors import ConfigError, DataError
from clearhead.text.config import TextConfig
from clearhead.text.train import train_vocabularies
from tests.small_halves import ARCHITECTURES, make_classifier_run, make_writer_run, small_model, small_vocabularies
from tests.small_run import make_run

PROMPTS = ["the red cat", "a dog", "where is", "good morning my friend", "the old house"]
SETTINGS = SearchSettings(max_length=5)
SAMPLING = SearchSettings(max_length=5, temperature=1.0, n_best=2, seed=7)


@pytest.fixture(scope="module", params=ARCHITECTURES)
def generator(request: pytest.FixtureRequest) -> TextGenerator:
    vocabularies = small_vocabularies()
    return TextGenerator(small_model(vocabularies, **ARCHITECTURES[request.param]), vocabularies)


@pytest.mark.parametrize("settings", [SETTINGS, SAMPLING], ids=["greedy", "sampling"])
def test_neither_the_batch_nor_the_window_changes_a_continuation(
    generator: TextGenerator, settings: SearchSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = list(generator.generate(PROMPTS, settings))
    assert [text.prompt for text in expected if text is not None] == PROMPTS
    monkeypatch.setattr(generation, "_MAX_ROWS", 1)
    others = list(generator.generate(PROMPTS, settings, window=2))
    for one, other in zip(expected, others, strict=True):
        assert one is not None
        assert other is not None
        assert [written.text for written in one.continuations] == [written.text for written in other.continuations]
        assert len(one.continuations) == settings.n_best


def test_the_seed_chooses_the_samples(generator: TextGenerator) -> None:
    texts = [
        [text.text_of(0) for text in generator.generate(PROMPTS, SAMPLING.model_copy(update={"seed": seed})) if text]
        for seed in (7, 7, 8)
    ]
    assert texts[0] == texts[1] != texts[2]


def test_the_text_is_the_prompt_and_what_follows(generator: TextGenerator) -> None:
    text = next(iter(generator.generate(["the red cat  "], SETTINGS)))
    assert text is not None
    tokens = text.continuations[0].hypothesis.tokens
    words = generator.vocabularies.target.decode([tokens])[0]
    assert text.text_of(0) == f"the red cat {words}".rstrip()
    assert text.continuations[0].text.strip() == words


@pytest.mark.parametrize("kind", ["word", "unigram", "char"])
@pytest.mark.parametrize("prompt", ["cat", "世", "the 世", "世 the", "a b世"])
def test_a_new_word_has_a_space_before_it_and_the_rest_of_a_word_has_none(kind: str, prompt: str) -> None:
    lines = [(line, line) for line in (*PROMPTS, "a cat and a catalogue of books")]
    vocabularies = train_vocabularies(lines, TextConfig.model_validate({"kind": kind, "vocabulary": 61}))
    writer = TextGenerator(small_model(vocabularies), vocabularies)
    tokeniser = vocabularies.target
    outcome = next(iter(writer.generate([prompt], SETTINGS)))
    assert outcome is not None
    assert outcome.prompt_ids == tuple(tokeniser.encode([prompt])[0])
    assert writer.continuation_text(tokeniser.encode(["the dog"])[0]) == " the dog"
    word = tokeniser.encode(["cat"])[0]
    if kind == "char":
        assert writer.continuation_text(word[1:]) == "cat"
        assert writer.continuation_text(word[:1]) == "", "a space at the end comes with the next letter"
    assert outcome.unknown_words == tuple(
        part for part in prompt.split() if tokeniser.unk in tokeniser.encode([part])[0]
    )


def test_the_text_is_reported_as_it_grows(generator: TextGenerator) -> None:
    parts: list[str] = []
    text = next(iter(generator.generate(["a dog"], SETTINGS, window=1, on_text=parts.append)))
    assert text is not None
    assert parts[0] == ""
    assert all(later.startswith(earlier) for earlier, later in pairwise(parts))
    assert text.continuations[0].text.startswith(parts[-1])
    assert len(parts) == len(text.continuations[0].hypothesis.tokens)


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ("", "line 2: the prompt is empty. Give some words that the model can continue, or skip such lines."),
        ("  ", "line 2: the prompt is empty."),
        ("cat " * 23, "line 2: the prompt has 23 tokens, but the model has positions for 23, and at least one"),
    ],
)
def test_a_prompt_that_cannot_be_continued_is_refused_or_skipped(
    generator: TextGenerator, prompt: str, message: str
) -> None:
    if prompt.strip() and generator.model.config.position_limit is None:
        assert len(list(generator.generate(["a dog", prompt], SETTINGS))) == 2  # a recurrent model has no limit
        return
    with pytest.raises(DataError) as refused:
        list(generator.generate(["a dog", prompt], SETTINGS))
    assert str(refused.value).startswith(message)
    skipping = TextGenerator(generator.model, generator.vocabularies, "skip")
    outcomes = list(skipping.generate(["a dog", prompt, "cat"], SETTINGS))
    assert [outcome is None for outcome in outcomes] == [False, True, False]


def test_a_continuation_ends_with_the_positions_of_the_model(generator: TextGenerator) -> None:
    eos = generator.model.config.eos
    settings = SearchSettings(max_length=50, min_length=40)
    text = next(iter(generator.generate(["cat " * 20], settings)))
    assert text is not None
    tokens = text.continuations[0].hypothesis.tokens
    assert len(tokens) == (3 if generator.model.config.position_limit else 50)
    assert eos not in tokens[:40]


def test_the_choices_are_those_of_the_search(generator: TextGenerator) -> None:
    text = next(iter(generator.generate(["the old house"], SAMPLING)))
    assert text is not None
    hypothesis = text.continuations[1].hypothesis
    choices = token_choices(generator, text, 1, number=3)
    assert [choice.log_prob for choice in choices] == pytest.approx(hypothesis.log_probs, abs=1e-5)
    assert [choice.piece for choice in choices] == generator.vocabularies.target.pieces(hypothesis.tokens)
    for choice in choices:
        values = [other.log_prob for other in choice.alternatives]
        assert len(values) == 3
        assert values == sorted(values, reverse=True)
        assert choice.piece not in [other.piece for other in choice.alternatives]
        assert (choice.rank == 1) == (choice.log_prob >= values[0])


def test_only_a_language_model_is_opened(tmp_path: Path) -> None:
    opened = open_generator(make_writer_run(tmp_path / "writer"))
    assert opened.model.dtype == torch.float32
    with pytest.raises(ConfigError, match="this model is a classifier .shape encoder., so it cannot continue a text. "):
        open_generator(make_classifier_run(tmp_path / "classifier"))
    with pytest.raises(ConfigError, match="this model translates .shape encoder-decoder., so it cannot continue a"):
        open_generator(make_run(tmp_path / "translator"))
