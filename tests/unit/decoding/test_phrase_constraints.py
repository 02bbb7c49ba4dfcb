"""Phrases of a translation and glossaries: in ids, line by line, and rejected if they cannot be tokenised."""

import re
from pathlib import Path
from typing import Any

import pytest

from clearhead.decoding.phrase_constraints import ConstraintEncoder, PhraseConstraints, read_glossary
from clearhead.decoding.pipeline import SourceLine, TranslationOptions
from clearhead.decoding.search.constraints import NO_CONSTRAINTS, Constraints
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.errors import ConfigError, DataError

SHORT = SearchSettings(max_length=13)


def test_a_longer_term_hides_the_shorter_one_in_it(translator: Translator) -> None:
    target = translator.vocabularies.target
    encoder = ConstraintEncoder(PhraseConstraints(glossary={"dog": "Hund", "small dog": "Vogel"}), target)
    vogel, hund = (tuple(target.encode([word])[0]) for word in ("Vogel", "Hund"))
    assert encoder.constraints("a small  dog").required == (vogel,)
    assert encoder.constraints("small dog, dog").required == (vogel, hund)
    assert encoder.constraints("a hotdog").required == ()


def test_a_phrase_that_cannot_be_tokenised_is_rejected(translator: Translator) -> None:
    with pytest.raises(DataError, match="required phrase: the vocabulary of this model cannot spell '世界'") as no:
        translator.pipeline(SHORT, TranslationOptions(PhraseConstraints(required=("世界",))))
    assert no.value.options == ("required",)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"dog Hund\n", r"g\.tsv:1: 'dog Hund' is not a glossary entry"),
        (b"# remark\n\ndog\tHund\ndog\tVogel\n", r"g\.tsv:4: 'dog' has two translations, 'Hund' and 'Vogel'"),
        (b"dog\t\xff\n", r"g\.tsv is not UTF-8 \(at byte 5\)"),
    ],
)
def test_a_wrong_line_of_a_glossary_is_named(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "g.tsv").write_bytes(content)
    with pytest.raises(DataError, match=sentence):
        read_glossary(tmp_path / "g.tsv")


def test_comments_in_a_glossary_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "g.tsv").write_bytes("\ufeff# remark\n\ndog\t Hund \r\nred cat\trote Katze\ndog\tHund\n".encode())
    assert read_glossary(tmp_path / "g.tsv") == {"dog": "Hund", "red cat": "rote Katze"}


def test_only_the_first_part_of_a_line_gets_the_prefix_and_what_every_line_requires(translator: Translator) -> None:
    target = translator.vocabularies.target
    phrases = PhraseConstraints("die", forbidden=("Buch",), required=("Haus",), glossary={"dog": "Hund"})
    encoder = ConstraintEncoder(phrases, target)
    die, buch, haus, hund = (tuple(ids) for ids in target.encode(["die", "Buch", "Haus", "Hund"]))
    assert encoder.constraints("a dog") == Constraints(die, (buch,), (haus, hund))
    assert encoder.constraints("a dog", is_first=False) == Constraints((), (buch,), (hund,))
    assert ConstraintEncoder(PhraseConstraints(), target).constraints("a dog") is NO_CONSTRAINTS


@pytest.mark.parametrize(
    ("phrases", "uses"),
    [
        (PhraseConstraints(), ()),
        (PhraseConstraints(prefix="a"), ("prefix",)),
        (PhraseConstraints(glossary={"a": "b"}), ("required",)),
        (PhraseConstraints("a", ("b",), ("c",)), ("prefix", "forbidden", "required")),
    ],
)
def test_phrases_name_the_features_that_an_engine_needs(phrases: PhraseConstraints, uses: tuple[str, ...]) -> None:
    assert phrases.uses == uses


def test_a_forbidden_phrase_in_other_tokens_is_noted(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    target = translator.vocabularies.target
    encoder = ConstraintEncoder(PhraseConstraints(forbidden=("Hund",)), target)
    ids = {piece: number for number, piece in enumerate(target.pieces(range(target.size)))}
    assert encoder.constraints("a dog").forbidden == ((ids["▁H"], ids["und"]),)
    tokens = (ids["▁ein"], ids["▁H"], ids["u"], ids["nd"], target.eos)
    assert encoder.has_forbidden(target.decode([tokens])[0])
    assert not encoder.has_forbidden(target.decode([(*tokens[:-1], ids["e"])])[0]), "Hunde is another word"
    hypothesis = Hypothesis(tokens, (), -1.0, has_ended=True, total=-5.0)
    monkeypatch.setattr(translator.engine, "translate", lambda requests, search: [[hypothesis] for _ in requests])
    pipeline = translator.pipeline(SHORT, TranslationOptions(PhraseConstraints(forbidden=("Hund",))))
    hound, empty = pipeline.translate([SourceLine(1, "a dog"), SourceLine(2, "")])
    assert (hound.text, empty.notes) == ("ein Hund", ())
    assert hound.notes == ("A forbidden phrase could not be avoided.",)
    assert [remark.sentence for remark in pipeline.remarks] == [
        "A forbidden phrase could not be avoided in 1 of 1 sentences."
    ]


@pytest.mark.parametrize(
    ("phrases", "sentence"),
    [
        ({"required": ("Hund",)}, "'Hund' must be in translations, but is forbidden. Remove one of them."),
        (
            {"required": ("der  Hund bellt",)},
            "'der  Hund bellt' must be in translations, but contains 'Hund', which is forbidden. Remove one of them.",
        ),
        ({"prefix": "Hund und"}, "'Hund und' must be in translations, but contains 'Hund', which is forbidden."),
        ({"glossary": {"dog": "Hund"}}, "'Hund' must be in translations, but is forbidden."),
    ],
)
def test_a_phrase_is_not_required_and_forbidden_at_once(phrases: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as error:
        PhraseConstraints(forbidden=("Katze", "Hund"), **phrases)
    assert str(error.value).startswith(sentence)
    assert error.value.options == ("forbidden", *phrases)


def test_a_required_phrase_can_contain_part_of_a_forbidden_one() -> None:
    PhraseConstraints("Hundert", forbidden=("Hund bellt", "hund", ""), required=("Hunde", "Hund"))


def test_a_required_phrase_is_a_word_and_not_the_start_of_one(translator: Translator) -> None:
    target = translator.vocabularies.target
    pieces = target.pieces(range(target.size))
    constraints = ConstraintEncoder(PhraseConstraints(required=("Hund",)), target).constraints("a dog")
    assert {"und", "nd"} <= {pieces[token] for token in constraints.continuing}
    assert not [token for token in constraints.continuing if target.starts_word(token)]
    (translation,) = translator.translate(["a dog"], SHORT, TranslationOptions(PhraseConstraints(required=("Hund",))))
    assert "Hund" in re.findall(r"\w+", translation.text)
