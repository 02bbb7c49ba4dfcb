"""The head that alignments are read from: chosen on text, saved with the model, and used for these weights only."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from clearhead.decoding.alignment import AlignmentRule, Head
from clearhead.decoding.head_choice import CHOICE, HeadChoice, rate_heads, read_choice, save_choice
from clearhead.decoding.translator import Translator
from clearhead.decoding.word_alignment import Links
from clearhead.errors import CheckpointError, DataError
from tests.small_run import TEXTS, make_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("run"))


@pytest.mark.parametrize("rule", [AlignmentRule(Head(1, 0), False), AlignmentRule(Head(0))])
def test_a_choice_is_saved_with_the_model_and_loaded_again(run: Path, rule: AlignmentRule) -> None:
    choice = HeadChoice(rule, "gold links", 12.5, "nrefs:1|sentences:3")
    assert save_choice(run, choice) == run / "best" / CHOICE
    assert read_choice(run) == read_choice(run / "best") == choice
    assert not list((run / "best").glob(".*"))


def test_a_choice_for_other_weights_is_not_used(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    assert read_choice(folder) is None
    save_choice(folder, HeadChoice(AlignmentRule(Head(1, 1)), "gold links", 12.5, ""))
    assert read_choice(folder) is not None
    make_run(tmp_path, seed=12)
    assert (folder / "best" / CHOICE).is_file()
    assert read_choice(folder) is None


def test_a_model_without_hashes_can_have_a_choice(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    (folder / "best" / "SHA256SUMS").unlink()
    choice = HeadChoice(AlignmentRule(Head(1, 1)), "gold links", 12.5, "")
    save_choice(folder, choice)
    assert read_choice(folder) == choice
    assert not (folder / "best" / "SHA256SUMS").exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"block": None}, {"block": -1}, {"block": True}, {"block": 2}, {"head": "1"}, {"head": 2}, {"head": 10**30},
        {"is_shifted": 1}, {"clearhead_alignment": 2}, {"error_rate": "x"}, {"error_rate": None},
    ],
    ids=str,
)  # fmt: skip
def test_a_file_without_a_valid_head_is_reported(run: Path, tmp_path: Path, changes: dict[str, object]) -> None:
    folder = shutil.copytree(run, tmp_path / "run")
    place = save_choice(folder, HeadChoice(AlignmentRule(Head(1, 1)), "gold links", 12.5, ""))
    place.write_text(json.dumps({**json.loads(place.read_text()), **changes}))
    with pytest.raises(
        CheckpointError, match=r"alignment\.json has changed since it was written.* choose a head again"
    ):
        read_choice(folder)
    (folder / "best" / "SHA256SUMS").unlink()
    with pytest.raises(CheckpointError, match=r"alignment\.json does not name a valid head\. Delete it, or choose"):
        read_choice(folder)


def test_heads_are_rated_by_links_between_words(run: Path) -> None:
    translator = Translator.load(run, engine="torch")
    texts = [*TEXTS[:3], ("", "")]
    links_by_rule: list[Sequence[Links]] = []

    def error(links: Sequence[Links]) -> float:
        links_by_rule.append(links)
        return float(len(links_by_rule) != 4)

    rated = rate_heads(translator, texts, error)
    assert len(links_by_rule) == len(rated) == 12
    assert rated[0].error == 0
    assert rated[0].rule == AlignmentRule(Head(0, 0), False), "the fourth: of each head the row that reads comes first"
    for links_by_line in links_by_rule:
        assert links_by_line[3] == ()
        for links, (source, target) in zip(links_by_line, texts, strict=True):
            assert all(one < len(source.split()) and other < len(target.split()) for one, other in links)
            assert len({other for _, other in links}) == len(target.split())


def test_the_tag_of_a_language_is_not_a_word(tmp_path: Path) -> None:
    translator = Translator.load(make_run(tmp_path, ("de", "hi")), engine="torch")
    links_by_rule: list[Sequence[Links]] = []
    rate_heads(
        translator,
        [(">>de<< a  dog", "ein Hund")],
        lambda links_by_line: float(links_by_rule.append(links_by_line) or 0),
    )
    assert {source for links_by_line in links_by_rule for source, _ in links_by_line[0]} <= {0, 1}


def test_a_line_that_the_model_cannot_read_is_named(run: Path) -> None:
    with pytest.raises(DataError, match="line 2 has more tokens than the model can read \\(37\\)"):
        rate_heads(Translator.load(run, engine="torch"), [TEXTS[0], ("a dog", "ein Hund " * 30)], lambda _: 0.0)
