"""Lines in and out: one for one, in order, whatever the windows; nothing dropped, nothing cut off."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from clearhead.decoding.engines.engine import ModelInfo, Request, batches_by_length, length_limit
from clearhead.decoding.output import OutputColumns, to_lines, to_record
from clearhead.decoding.phrase_constraints import ConstraintEncoder, PhraseConstraints, read_glossary
from clearhead.decoding.pipeline import Remark, Segment, SourceLine, TranslationOptions, windows
from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import Translation
from clearhead.decoding.translator import Translator
from clearhead.errors import CheckpointError, ConfigError, DataError
from clearhead.formats.model_folder import find_model
from tests.small_run import make_run

LINES = ["the red cat", "", "a dog", "   ", "where is the old house?", "a dog", "\u00a0", "😀 مرحبا घर 世", "x\u2028y"]
SHORT = SearchSettings(max_length=13)


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return Translator.load(make_run(tmp_path_factory.mktemp("run")), engine="torch")


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return Translator.load(make_run(tmp_path_factory.mktemp("run"), ("de", "bn")), engine="torch")


def texts(
    translator: Translator,
    lines: list[str],
    options: TranslationOptions = TranslationOptions(),
    search: SearchSettings = SHORT,
    size: int = 1024,
) -> list[str]:
    return [translation.text for translation in translator.stream(lines, search, options, size)]


@pytest.mark.parametrize("size", [1, 2, 5, 1024])
def test_windows_of_any_size_give_the_same_lines(translator: Translator, size: int) -> None:
    lines = texts(translator, LINES, size=size)
    assert lines == texts(translator, LINES)
    assert [number for number, text in enumerate(lines) if not text] == [1, 3, 6]
    assert len(set(lines)) > 3


def test_lines_are_what_the_translator_makes_of_them_alone(translator: Translator) -> None:
    assert texts(translator, LINES) == [translator.translate([line], SHORT)[0].text for line in LINES]


def test_windows_hold_fewer_lines_where_they_are_long() -> None:
    lines = [SourceLine(number, "a" * 200_000) for number in range(7)]
    assert [len(window) for window in windows(lines, 5)] == [3, 3, 1]
    assert [len(window) for window in windows([SourceLine(1, "a")] * 11, 5)] == [5, 5, 1]


def test_equal_lines_are_translated_once(translator: Translator) -> None:
    num_requests: list[int] = []

    class Counting:
        name = described = "counting"
        info = translator.engine.info

        def lacks(self, needs: object) -> None:
            return None

        def translate(self, requests: Sequence[Request], settings: SearchSettings) -> list[list[Hypothesis]]:
            num_requests.append(len(requests))
            return translator.engine.translate(requests, settings)

    counting = Translator(translator.vocabularies, Counting())
    assert len(set(texts(counting, ["a dog"] * 10_000, size=3000))) == 1
    assert num_requests == [1, 1, 1, 1]
    drawn = SearchSettings(temperature=1.0, max_length=7)
    assert len(set(texts(counting, ["a dog"] * 19, search=drawn))) > 1


def test_a_long_line_is_split_or_refused_and_never_cut(translator: Translator) -> None:
    text = "the red cat sees a small book. " * 11
    split = translator.translate([text], SHORT)[0]
    assert len(split.parts) > 1
    assert "".join(part.source + part.space for part in split.parts) == text.strip()
    assert all(len(part.ids) <= 36 for part in split.parts)
    assert split.text == " ".join(part.texts[0] for part in split.parts)
    with pytest.raises(
        DataError, match=r"line 2 has \d+ tokens, and the model reads 36 at once.*or have it split"
    ) as no:
        texts(translator, ["a", text], TranslationOptions(long="refuse"))
    assert no.value.options == {"long": "split"}
    with pytest.raises(DataError, match=r"line 1 has 300,000 characters, and at most 200,000 are read"):
        texts(translator, ["a" * 300_000])


def test_paragraphs_are_split_into_sentences_and_joined(translator: Translator) -> None:
    joined = translator.translate(["the cat.  A dog?"], SHORT, TranslationOptions(is_paragraphs=True))[0]
    alone = texts(translator, ["the cat.", "A dog?"])
    assert joined.text == "  ".join(alone)
    assert to_record(joined, OutputColumns())["parts"] == [
        {"source": "the cat.", "translation": alone[0]},
        {"source": "A dog?", "translation": alone[1]},
    ]


def test_a_line_of_a_number_draws_the_same_in_any_window(translator: Translator) -> None:
    drawn = SearchSettings(temperature=1.0, max_length=7, seed=5)
    assert texts(translator, LINES, search=drawn, size=2) == texts(translator, LINES, search=drawn)


def test_the_language_is_that_of_the_line_or_of_the_options(tagged: Translator) -> None:
    german, bengali = (texts(tagged, LINES, TranslationOptions(language=name)) for name in ("de", "bn"))
    assert german != bengali
    mixed = texts(tagged, [f">>bn<<{line}" for line in LINES], TranslationOptions(language="de"))
    assert mixed == bengali
    with pytest.raises(DataError, match=r">>dee<< is not a language of this vocabulary\. Did you mean 'de'\?"):
        tagged.pipeline(SHORT, TranslationOptions(language="dee"))
    with pytest.raises(DataError, match=r"line 2: >>xx<< is not a language"):
        texts(tagged, ["a", ">>xx<< b"])
    silent = tagged.pipeline(SHORT)
    silent.translate([SourceLine(1, "a"), SourceLine(2, "b")])
    sentence = "This model writes several languages (de, bn), and none was asked for. Name one."
    assert silent.remarks == [Remark(sentence, ("to",))]


def test_a_translation_begins_holds_and_avoids_what_is_asked(translator: Translator) -> None:
    beam = SearchSettings(beam=5, max_length=19)

    def constrained(lines: list[str], constraints: PhraseConstraints) -> list[str]:
        return texts(translator, lines, TranslationOptions(constraints), beam)

    plain = texts(translator, ["a dog"], search=beam)[0]
    assert constrained(["a dog"], PhraseConstraints(prefix="die rote"))[0].startswith("die rote")
    held = constrained(["a dog", "the cat"], PhraseConstraints(required=("alte Haus",)))
    assert all("alte Haus" in text for text in held)
    word = max(plain.split(), key=len)
    assert word not in constrained(["a dog"], PhraseConstraints(forbidden=(word,)))[0].split()
    by_glossary = constrained(["a Dog.", "the dogs"], PhraseConstraints(glossary={"dog": "Vogel"}))
    assert "Vogel" in by_glossary[0]
    assert "Vogel" not in by_glossary[1]


def test_each_segment_has_its_own_constraints(translator: Translator) -> None:
    info, search = translator.engine.info, SearchSettings(beam=2)
    segments = [Segment((20, 21, 22), Constraints(prefix=(number + 9,))) for number in range(4)]
    requests = [segment.request(search, info) for segment in segments]
    outcomes = translator.engine.translate(requests, search)
    assert [hypotheses[0].tokens[0] for hypotheses in outcomes] == [9, 10, 11, 12]


def test_a_longer_term_hides_the_shorter_one_in_it(translator: Translator) -> None:
    target = translator.vocabularies.target
    encoder = ConstraintEncoder(PhraseConstraints(glossary={"dog": "Hund", "small dog": "Vogel"}), target)
    vogel, hund = (tuple(target.encode([word])[0]) for word in ("Vogel", "Hund"))
    assert encoder.constraints("a small  dog").required == (vogel,)
    assert encoder.constraints("small dog, dog").required == (vogel, hund)
    assert encoder.constraints("a hotdog").required == ()


def test_a_phrase_that_cannot_be_spelled_is_refused(translator: Translator) -> None:
    with pytest.raises(DataError, match="required phrase: the vocabulary of this model cannot spell '世界'") as no:
        translator.pipeline(SHORT, TranslationOptions(PhraseConstraints(required=("世界",))))
    assert no.value.options == ("require",)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"dog Hund\n", r"g\.tsv:1: 'dog Hund' is not a term, a tab and its translation"),
        (b"# remark\n\ndog\tHund\ndog\tVogel\n", r"g\.tsv:4: 'dog' has two translations, 'Hund' and 'Vogel'"),
        (b"dog\t\xff\n", r"g\.tsv is not UTF-8 \(at byte 5\)"),
    ],
)
def test_a_wrong_glossary_is_told_with_its_line(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "g.tsv").write_bytes(content)
    with pytest.raises(DataError, match=sentence):
        read_glossary(tmp_path / "g.tsv")


def test_scores_and_n_best_are_columns(translator: Translator) -> None:
    first, empty = translator.translate(["a dog", ""], SearchSettings(beam=3, n_best=2, max_length=7))
    lines = to_lines(first, OutputColumns(n_best=True))
    assert [line.split("\t")[0] for line in lines] == ["1", "1"]
    scores = [float(line.split("\t")[1]) for line in lines]
    assert scores == sorted(scores, reverse=True)
    assert to_lines(empty, OutputColumns(n_best=True)) == ["2\t0.0000\t"]
    text, score, own = to_lines(first, OutputColumns(scores=True))[0].split("\t")
    assert (text, float(score)) == (first.text, pytest.approx(first.score_of(0), abs=1e-4))
    assert sum(map(float, own.split())) == pytest.approx(first.log_prob_of(0), abs=1e-3)
    assert to_lines(Translation(3, "", ()), OutputColumns(scores=True, alignment=True)) == ["\t0.0000\t\t"]


def test_what_would_break_a_line_is_a_space(translator: Translator) -> None:
    result = translator.translate(["a dog"], SHORT)[0]
    part = result.parts[0]
    changed = Translation(1, "a dog", (type(part)("a dog", "", part.ids, texts=("a\nb\tc\rd",)),))
    assert to_lines(changed, OutputColumns()) == ["a b c d"]


def test_limits_and_batches_are_counted_as_before() -> None:
    info = ModelInfo(pad=0, eos=2, max_length=23)
    assert length_limit(3, SearchSettings(), info) == 14
    assert length_limit(3, SearchSettings(), info, num_required=5) == 19
    assert length_limit(11, SearchSettings(), info) == 23
    settings = SearchSettings(max_ratio=1.5, max_extra=3)
    assert [length_limit(length, settings, info) for length in (2, 11, 17)] == [6, 19, 23]
    assert [length_limit(length, SearchSettings(max_length=7), info) for length in (2, 11, 17)] == [7, 7, 7]
    requests = [Request((5,) * size, 9) for size in (3, 7, 5, 2)]
    assert batches_by_length(requests, 14) == [[1, 2], [0, 3]]
    assert batches_by_length(requests, 1) == [[1], [2], [0], [3]]
    assert batches_by_length(requests, 100, 3) == [[1, 2, 0], [3]]
    assert batches_by_length(requests, 14, 1) == [[1], [2], [0], [3]]
    lengths = (3, 11, 2, 5, 5, 13, 1)
    batches = batches_by_length([Request((7,) * length, 9) for length in lengths], 13)
    assert [[lengths[index] for index in batch] for batch in batches] == [[13], [11], [5, 5], [3, 2, 1]]


def test_what_is_missing_in_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"nowhere does not exist\..*Give a run folder"):
        find_model(tmp_path / "nowhere")
    with pytest.raises(CheckpointError, match="holds no model"):
        find_model(tmp_path)
    run = make_run(tmp_path / "run")
    assert find_model(run).folder == find_model(run / "best").folder == run / "best"
    assert find_model(run / "best").vocabularies == run
    weights = (run / "best" / "model.safetensors").read_bytes()
    (run / "best" / "model.safetensors").write_bytes(weights[:1000])
    with pytest.raises(CheckpointError, match=r"model\.safetensors is damaged .*copy it again"):
        Translator.load(run, engine="torch")
    (run / "best" / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"model\.safetensors"):
        Translator.load(run, engine="torch")
    (run / "tokeniser" / "joint.spm").unlink()
    with pytest.raises(CheckpointError, match=r"joint\.spm cannot be read"):
        Translator.load(run, engine="torch")
    (run / "best" / "config.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"config\.json is not JSON"):
        Translator.load(run, engine="torch")
    (run / "best" / "config.json").unlink()
    (run / "best" / "model.safetensors").write_bytes(weights)
    with pytest.raises(CheckpointError, match=r"best has no config\.json"):
        Translator.load(run, engine="torch")


def test_a_precision_of_another_engine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="int8 is a precision of the engine ctranslate2"):
        Translator.load(make_run(tmp_path), engine="torch", precision="int8")
