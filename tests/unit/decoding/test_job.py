"""A job used from Python, as a notebook would: lines to a stream or a file, interrupted and resumed, with hooks."""

import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from clearhead.decoding.annotation import Annotator
from clearhead.decoding.job import JobHooks, JobOutput, TranslationJob
from clearhead.decoding.phrase_constraints import PhraseConstraints
from clearhead.decoding.pipeline import Remark, TranslationOptions, windows
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import Translation
from clearhead.decoding.translator import Translator
from clearhead.decoding.windowed_job import JobInterrupted
from clearhead.errors import ClearheadError, DataError, RunError
from clearhead.files.line_input import LineSource
from tests.small_run import make_run

LINES = ["the red cat", "", "a dog", "where is the old house?", "a bird"]
TEXT = "".join(f"{line}\n" for line in LINES)
SOURCE = LineSource(text=TEXT)
SHORT = SearchSettings(max_length=7)
N_BEST = SearchSettings(beam=3, n_best=2, max_length=7)


def output_of(job: TranslationJob, window: int = 2) -> str:
    """Return what a job writes to a stream."""
    stream = io.BytesIO()
    job.to_stream(windows(job.source.records(), window), stream)
    return stream.getvalue().decode()


def interrupt_at(num_lines: int) -> Callable[[int], None]:
    """Return a progress hook that raises KeyboardInterrupt after `num_lines` lines are translated, before they are written."""

    def progress(num_translated: int) -> None:
        if num_translated >= num_lines:
            raise KeyboardInterrupt

    return progress


@pytest.fixture(scope="module")
def texts(translator: Translator) -> list[str]:
    """The translations of LINES."""
    return [translation.text for translation in translator.translate(LINES, SHORT)]


# To a stream


@pytest.mark.parametrize("window", [1, 2, 5, 1024])
def test_a_stream_gets_a_line_for_each_line(translator: Translator, texts: list[str], window: int) -> None:
    job = TranslationJob(translator, SOURCE, SHORT)
    assert output_of(job, window) == "".join(f"{text}\n" for text in texts)
    assert job.num_lines == len(LINES)


def test_without_an_output_the_lines_go_to_standard_output(
    translator: Translator, texts: list[str], capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    TranslationJob(translator, SOURCE, SHORT).run()
    assert capsysbinary.readouterr().out.decode() == "".join(f"{text}\n" for text in texts)


def test_a_stream_has_every_window_as_soon_as_it_is_done(translator: Translator, texts: list[str]) -> None:
    stream, sizes = io.BytesIO(), []
    hooks = JobHooks(progress=lambda num_lines: sizes.append((num_lines, stream.getvalue().count(b"\n"))))
    TranslationJob(translator, SOURCE, SHORT, hooks=hooks).to_stream(windows(SOURCE.records(), 2), stream)
    assert sizes == [(2, 0), (4, 2), (5, 4)], "translated, and written before"


def test_a_device_is_written_as_a_stream(translator: Translator) -> None:
    TranslationJob(translator, SOURCE, SHORT).run(Path("/dev/null"))
    assert Path("/dev/null").is_char_device()
    with pytest.raises(RunError, match=r"^/dev/null is not a file, so it cannot be resumed\.$"):
        TranslationJob(translator, SOURCE, SHORT).run(Path("/dev/null"), resume=True)


def test_an_open_descriptor_gets_lines_after_what_it_has(
    translator: Translator, texts: list[str], tmp_path: Path
) -> None:
    with (tmp_path / "out.txt").open("w") as file:
        print("before", file=file, flush=True)
        TranslationJob(translator, SOURCE, SHORT).run(Path(f"/dev/fd/{file.fileno()}"))
        print("after", file=file)
    assert (tmp_path / "out.txt").read_text().splitlines() == ["before", *texts, "after"]


# To a file


@pytest.mark.parametrize("window", [1, 2, 1024])
def test_a_file_gets_its_name_when_it_is_complete(
    translator: Translator, texts: list[str], tmp_path: Path, window: int
) -> None:
    TranslationJob(translator, SOURCE, SHORT).run(tmp_path / "out.txt", window=window)
    assert (tmp_path / "out.txt").read_text() == "".join(f"{text}\n" for text in texts)
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]


def test_ctrl_c_keeps_the_finished_lines_and_a_later_job_resumes(
    translator: Translator, texts: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "out.txt"
    with pytest.raises(JobInterrupted) as interrupted:
        TranslationJob(translator, SOURCE, SHORT, hooks=JobHooks(progress=interrupt_at(4))).run(path, window=2)
    assert interrupted.value.num_done == 2
    assert isinstance(interrupted.value, KeyboardInterrupt)
    assert not isinstance(interrupted.value, Exception), "nobody takes it for an error"
    assert not path.exists()
    assert (tmp_path / "out.txt.part").read_text() == f"{texts[0]}\n{texts[1]}\n"
    with pytest.raises(RunError, match=r"out\.txt\.part exists already: a translation that was not finished") as no:
        TranslationJob(translator, SOURCE, SHORT).run(path, window=2)
    assert no.value.options == ("resume",)
    job = TranslationJob(translator, SOURCE, SHORT)
    job.run(path, window=2, resume=True)
    assert job.num_lines == 3, "the first two are not translated again"
    assert path.read_text() == "".join(f"{text}\n" for text in texts)
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]


def test_ctrl_c_before_the_first_window_leaves_nothing_behind(translator: Translator, tmp_path: Path) -> None:
    hooks = JobHooks(progress=interrupt_at(1))
    with pytest.raises(JobInterrupted) as interrupted:
        TranslationJob(translator, SOURCE, SHORT, hooks=hooks).run(tmp_path / "out.txt", window=2)
    assert interrupted.value.num_done == 0
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def half_done(translator: Translator, tmp_path: Path) -> Path:
    """A file with two finished lines."""
    hooks = JobHooks(progress=interrupt_at(3))
    with pytest.raises(JobInterrupted):
        TranslationJob(translator, SOURCE, SHORT, hooks=hooks).run(tmp_path / "out.txt", window=2)
    return tmp_path / "out.txt"


@pytest.mark.parametrize(
    ("changes", "window", "name"),
    [
        ({"search": SearchSettings(max_length=11)}, 2, "search.max_length"),
        ({"options": TranslationOptions(PhraseConstraints(prefix="die"))}, 2, "phrases.prefix"),
        ({"options": TranslationOptions(is_paragraphs=False)}, 2, "paragraphs"),
        ({"options": TranslationOptions(max_source=11)}, 2, "max_source"),
        ({"options": TranslationOptions(long="refuse")}, 2, "long"),
        ({"output": JobOutput(scores=True)}, 2, "output.scores"),
        ({"source": LineSource(form="tsv", column="1", text=TEXT)}, 2, "form"),
        ({}, 3, "window"),
    ],
    ids=["search", "phrases", "paragraphs", "max_source", "long", "output", "form", "window"],
)
def test_a_file_is_not_resumed_with_other_settings(
    translator: Translator, half_done: Path, changes: dict[str, Any], window: int, name: str
) -> None:
    arguments: dict[str, Any] = {"source": SOURCE, "search": SHORT, **changes}
    with pytest.raises(RunError, match=rf"was made with other settings: .*\b{name} was .* and is now "):
        TranslationJob(translator, **arguments).run(half_done, window=window, resume=True)


def test_a_file_is_not_resumed_with_another_input(translator: Translator, half_done: Path) -> None:
    other = LineSource(text=TEXT.replace("red", "blue"))
    with pytest.raises(RunError, match="the first 2 lines of the input are not those that"):
        TranslationJob(translator, other, SHORT).run(half_done, window=2, resume=True)
    shorter = LineSource(text="the red cat\n")
    with pytest.raises(
        RunError, match=r"the input has 1 lines, but 2 lines were already translated\. Give the same input\."
    ):
        TranslationJob(translator, shorter, SHORT).run(half_done, window=2, resume=True)


def test_a_line_that_cannot_be_read_keeps_the_lines_before_it(
    translator: Translator, texts: list[str], tmp_path: Path
) -> None:
    endless = LineSource(text="the red cat\n\n" + "a" * 200_001)
    with pytest.raises(
        DataError, match=r"The first 2 lines are translated and saved\. Correct the input, then resume\."
    ) as no:
        TranslationJob(translator, endless, SHORT).run(tmp_path / "out.txt", window=2)
    assert "line 3 has 200,001 characters" in str(no.value)
    assert no.value.options == ("resume",)
    assert (tmp_path / "out.txt.part").read_text() == f"{texts[0]}\n\n"
    with pytest.raises(DataError, match=r"line 3 has 200,001 characters, .* Check that this is a text file"):
        TranslationJob(translator, endless, SHORT).run(tmp_path / "first.txt")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.txt.part", "out.txt.part.json"]


# Files that are finished, and files that are read


def test_a_finished_file_is_only_complete_for_the_same_job(translator: Translator, tmp_path: Path) -> None:
    path, remarks = tmp_path / "out.txt", list[Remark]()
    job = TranslationJob(translator, SOURCE, SHORT, hooks=JobHooks(remark=remarks.append))
    job.run(path)
    output = path.read_bytes()
    job.run(path, resume=True)
    assert remarks == [Remark(f"{path} is already complete.")]
    assert job.num_lines == len(LINES), "nothing is translated again"
    for source, search, difference in (
        (LineSource(text=TEXT + "a fish\n"), SHORT, "made from another input: it has 6 lines, and had 5"),
        (LineSource(text=TEXT.replace("red", "blue")), SHORT, "made from another input: its 5 lines are not the same"),
        (SOURCE, SearchSettings(max_length=7, beam=3), "made with other settings: search.beam was 1 and is now 3"),
    ):
        with pytest.raises(RunError, match=rf"is complete, but it was {difference}"):
            TranslationJob(translator, source, search).run(path, resume=True)
    assert path.read_bytes() == output
    TranslationJob(translator, SOURCE, SearchSettings(max_length=1)).run(path)
    assert path.read_bytes() != output, "without resuming, it is replaced"


@pytest.fixture(scope="module")
def other_translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """A model with the same vocabulary and config as the translator, and other weights."""
    return Translator.load(make_run(tmp_path_factory.mktemp("run"), seed=13), engine="torch")


def test_neither_a_finished_nor_an_unfinished_file_is_resumed_with_another_model(
    translator: Translator, other_translator: Translator, half_done: Path
) -> None:
    for is_finished in (False, True):
        with pytest.raises(RunError, match=r'made with other settings: model was "\w+" and is now "\w+"\.'):
            TranslationJob(other_translator, SOURCE, SHORT).run(half_done, window=2, resume=True)
        if not is_finished:
            TranslationJob(translator, SOURCE, SHORT).run(half_done, window=2, resume=True)


def test_a_job_never_overwrites_its_input_or_its_model(other_translator: Translator, tmp_path: Path) -> None:
    translator = other_translator
    (tmp_path / "in.txt").write_text(TEXT)
    (tmp_path / "out.txt.part").hardlink_to(tmp_path / "in.txt")
    assert {path.name for path in translator.files} >= {"config.json", "model.safetensors"}
    assert any(path.parent.name == "tokeniser" for path in translator.files)
    contents = {path: path.read_bytes() for path in [*translator.files, tmp_path / "in.txt"]}
    job = TranslationJob(translator, LineSource(str(tmp_path / "in.txt")), SHORT)
    for path in [*contents, tmp_path / "out.txt"]:
        with pytest.raises(RunError, match="which is read|is read, and the output would overwrite it"):
            job.run(path, resume=True)
    assert {path: path.read_bytes() for path in contents} == contents
    with (tmp_path / "in.txt").open("a") as stdout, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", stdout)
        with pytest.raises(RunError, match="standard output is the same file as"):
            job.run()


# Lines that are skipped

FAULTY = b"the red cat\n\xff\na dog\n" + b"a" * 200_001 + b"\na bird\n"


@pytest.mark.parametrize("window", [1, 2, 1024])
def test_skipped_lines_are_empty_and_reported(
    translator: Translator, texts: list[str], tmp_path: Path, window: int
) -> None:
    (tmp_path / "in.txt").write_bytes(FAULTY)
    remarks: list[Remark] = []
    source = LineSource(str(tmp_path / "in.txt"), on_fault="skip")
    job = TranslationJob(translator, source, SHORT, hooks=JobHooks(remark=remarks.append))
    assert output_of(job, window) == f"{texts[0]}\n\n{texts[2]}\n\n{texts[4]}\n"
    sentence = f"{tmp_path / 'in.txt'}: 2 lines were skipped: lines 2 (invalid UTF-8), 4 (cannot be translated)."
    assert remarks == [Remark(sentence)]
    as_json = TranslationJob(translator, source, SHORT, output=JobOutput(as_json=True))
    records = [json.loads(line) for line in output_of(as_json, window).splitlines()]
    assert [record["line"] for record in records] == [1, 2, 3, 4, 5]
    assert records[1] == {"line": 2, "error": "not UTF-8: byte 0xff at byte 1. Convert the file to UTF-8."}
    assert "200,001 characters" in records[3]["error"]


def test_a_resumed_job_reports_all_skipped_lines(translator: Translator, texts: list[str], tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(FAULTY)
    source, remarks = LineSource(str(tmp_path / "in.txt")), list[Remark]()
    with pytest.raises(DataError, match=r"in\.txt:2: not UTF-8.* The first 1 lines are translated and saved\."):
        TranslationJob(translator, source, SHORT).run(tmp_path / "out.txt", window=1)
    skipping = replace(source, on_fault="skip")
    hooks = JobHooks(progress=interrupt_at(4))
    with pytest.raises(JobInterrupted):
        TranslationJob(translator, skipping, SHORT, hooks=hooks).run(tmp_path / "out.txt", window=1, resume=True)
    hooks = JobHooks(remark=remarks.append)
    TranslationJob(translator, skipping, SHORT, hooks=hooks).run(tmp_path / "out.txt", window=1, resume=True)
    assert (tmp_path / "out.txt").read_text() == f"{texts[0]}\n\n{texts[2]}\n\n{texts[4]}\n"
    assert "2 lines were skipped: lines 2 (invalid UTF-8), 4 (cannot be translated)." in remarks[0].sentence


def test_skipped_objects_have_an_error(translator: Translator, texts: list[str]) -> None:
    objects = LineSource(form="jsonl", text='{"source": "a dog"}\n{"sauce": 1}\n', on_fault="skip")
    first, second = output_of(TranslationJob(translator, objects, SHORT)).splitlines()
    assert json.loads(first) == {"source": "a dog", "translation": texts[2]}
    assert json.loads(second) == {
        "line": 2,
        "error": "no key 'source', but 'sauce' is similar: rename it, or give that name. Keys: sauce.",
    }


# Hooks


@dataclass
class Notebook:
    """An explainer that numbers what it explains."""

    numbers: list[int] = field(default_factory=list)
    num_finished: int = 0

    def explain(self, translation: Translation) -> Translation:
        self.numbers.append(translation.number)
        part = replace(translation.parts[0], texts=(f"{translation.parts[0].texts[0]}!",))
        return replace(translation, parts=(part,))

    def text_lines(self, translation: Translation) -> list[str]:
        return [f"line {translation.number}", "was explained"]

    def finish(self) -> None:
        self.num_finished += 1


def test_an_explainer_sees_every_line_and_finishes_once(
    translator: Translator, texts: list[str], tmp_path: Path
) -> None:
    notebook = Notebook()
    job = TranslationJob(translator, SOURCE, SHORT, hooks=JobHooks(explainer=notebook))
    expected = "".join(f"{text}!\nline {number}\nwas explained\n" for number, text in enumerate(texts, 1))
    assert output_of(job) == expected
    assert (notebook.numbers, notebook.num_finished) == ([1, 2, 3, 4, 5], 1)
    TranslationJob(translator, SOURCE, SHORT, hooks=JobHooks(explainer=notebook)).run(tmp_path / "out.txt")
    assert notebook.num_finished == 2


def test_an_explainer_does_not_finish_what_was_interrupted(translator: Translator, tmp_path: Path) -> None:
    notebook = Notebook()
    hooks = JobHooks(explainer=notebook, progress=interrupt_at(3))
    with pytest.raises(JobInterrupted):
        TranslationJob(translator, SOURCE, SHORT, hooks=hooks).run(tmp_path / "out.txt", window=2)
    assert notebook.num_finished == 0


def test_a_remark_is_reported_once(tagged_translator: Translator) -> None:
    remarks: list[Remark] = []
    output_of(TranslationJob(tagged_translator, SOURCE, SHORT, hooks=JobHooks(remark=remarks.append)))
    sentence = "This model translates into several languages (de, bn). Choose one of them."
    assert [remark for remark in remarks if not remark.is_advice] == [Remark(sentence, ("language",))]


def test_an_annotator_adds_alignments(translator: Translator, texts: list[str]) -> None:
    hooks, one = JobHooks(annotator=Annotator(translator, SHORT)), LineSource(text="the red cat\n")
    aligned = output_of(TranslationJob(translator, one, SHORT, output=JobOutput(align=True), hooks=hooks))
    text, links = aligned[:-1].split("\t")
    assert text == texts[0]
    assert all(link.count("-") == 1 for link in links.split())
    assert links
    drawn = output_of(TranslationJob(translator, one, SHORT, output=JobOutput(draw=True), hooks=hooks))
    assert drawn.startswith(f"{texts[0]}\n")
    assert "●" in drawn


# Formats of input and output


def test_scores_are_columns_and_n_best_are_lines(translator: Translator) -> None:
    rows = output_of(TranslationJob(translator, SOURCE, SHORT, output=JobOutput(scores=True))).splitlines()
    assert [len(row.split("\t")) for row in rows] == [3] * 5
    lines = output_of(TranslationJob(translator, SOURCE, N_BEST)).splitlines()
    assert [line.split("\t")[0] for line in lines] == ["1", "1", "2", "3", "3", "4", "4", "5", "5"]


def test_a_table_gets_a_column_and_keeps_its_other_columns(translator: Translator, texts: list[str]) -> None:
    table = LineSource(form="tsv", text="id\tsource\n7\tthe red cat\n\n9\ta dog\n")
    assert output_of(TranslationJob(translator, table, SHORT)) == (
        f"id\tsource\ttranslation\n7\tthe red cat\t{texts[0]}\n\t\n9\ta dog\t{texts[2]}\n"
    )
    scored = output_of(TranslationJob(translator, table, SHORT, output=JobOutput(scores=True))).splitlines()
    assert scored[0] == "id\tsource\ttranslation\tscore\tlog_probs"
    records = output_of(TranslationJob(translator, table, SHORT, output=JobOutput(as_json=True))).splitlines()
    assert [json.loads(record)["source"] for record in records] == ["the red cat", "", "a dog"], "no header"


def test_several_lines_for_a_row_of_a_table_are_refused(translator: Translator) -> None:
    table = LineSource(form="tsv", text="source\na dog\n")
    with pytest.raises(ClearheadError, match=r"several lines for each row of a TSV file\. Write JSON\.") as no:
        TranslationJob(translator, table, N_BEST)
    assert no.value.options == ("as_json",)
    TranslationJob(translator, table, N_BEST, output=JobOutput(as_json=True))


def test_objects_get_a_key_and_keep_their_other_keys(translator: Translator, texts: list[str]) -> None:
    objects = LineSource(form="jsonl", text='{"source": "a dog", "id": 7}\n\n{"id": 9, "source": "the red cat"}\n')
    first, blank, last = output_of(TranslationJob(translator, objects, SHORT)).split("\n")[:-1]
    assert json.loads(first) == {"source": "a dog", "id": 7, "translation": texts[2]}
    assert blank == ""
    assert json.loads(last) == {"id": 9, "source": "the red cat", "translation": texts[0]}
    best = output_of(TranslationJob(translator, objects, N_BEST)).splitlines()[0]
    assert list(json.loads(best)) == ["source", "id", "translation", "score", "log_prob", "n_best"]


def test_the_other_values_of_an_object_are_copied_byte_for_byte(translator: Translator, texts: list[str]) -> None:
    rest = r'"id":12345678901234567890.10, "big": 1e400, "letter": "\u00e9", "slash": "\/", "id": 2'
    objects = LineSource(form="jsonl", text=f'{{ "source": "a dog",{rest} }} \n')
    assert output_of(TranslationJob(translator, objects, SHORT)) == (
        f'{{ "source": "a dog",{rest}, "translation": {json.dumps(texts[2], ensure_ascii=False)}}}\n'
    )


def test_an_existing_key_is_not_overwritten(translator: Translator) -> None:
    objects = LineSource("in.jsonl", "jsonl", text='{"source": "a"}\n{"source": "a dog", "translation": "mine"}\n')
    with pytest.raises(
        DataError, match=r"^in\.jsonl:2: the object already has a key 'translation'\. Write separate"
    ) as no:
        output_of(TranslationJob(translator, objects, SHORT))
    assert no.value.options == ("as_json",)
    records = output_of(TranslationJob(translator, objects, SHORT, output=JobOutput(as_json=True))).splitlines()
    assert [json.loads(record)["line"] for record in records] == [1, 2]


def test_a_json_record_has_the_piece_of_every_token(translator: Translator, texts: list[str]) -> None:
    output = JobOutput(scores=True, as_json=True)
    records = [
        json.loads(line) for line in output_of(TranslationJob(translator, SOURCE, SHORT, output=output)).splitlines()
    ]
    assert [record["translation"] for record in records] == texts
    target = translator.vocabularies.target
    for record, translation in zip(records, translator.translate(LINES, SHORT), strict=True):
        tokens = [token for hypothesis in translation.hypotheses for token in hypothesis.tokens]
        assert [token["piece"] for token in record["tokens"]] == target.pieces(tokens)
        assert sum(token["log_prob"] for token in record["tokens"]) == pytest.approx(record["log_prob"])


def test_the_recorded_settings_include_everything_that_determines_the_output(translator: Translator) -> None:
    settings = TranslationJob(translator, SOURCE, SHORT).settings
    assert settings["model"] == translator.fingerprint
    assert settings["vocabulary"] == translator.vocabularies.digest
    assert settings["alignment"] is None
    assert json.loads(json.dumps(settings)) is not None, "a journal can hold them"
    annotator = Annotator(translator, SHORT)
    with_head = TranslationJob(translator, SOURCE, SHORT, hooks=JobHooks(annotator=annotator)).settings
    assert with_head["alignment"] == {"head": {"block": 0, "head": None}, "is_shifted": True}
