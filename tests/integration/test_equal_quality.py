"""Decoding at equal quality: the configs fit the measurement, tokens are counted the same way, and the targets are reported correctly."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from clearhead.errors import CheckpointError
from clearhead.evaluation.scores import Score
from clearhead.formats.marian import to_marian_tensors
from clearhead.model import ModelConfig, Transformer
from clearhead.text.tokeniser import Vocabularies
from clearhead.training.config import RunConfig, load_run_config
from clearhead.training.config_checks import model_settings
from tests.small_run import make_run

ROOT = Path(__file__).parents[2]


def benchmark() -> ModuleType:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import decode_at_equal_quality

        return decode_at_equal_quality
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


def config_of(name: str) -> RunConfig:
    return load_run_config(ROOT / "configs" / f"multi30k-{name}.yaml", check_files=False)


def model_config(name: str, **changes: object) -> ModelConfig:
    settings = {**model_settings(config_of(name)), "source_vocabulary": 17, **changes}
    return ModelConfig.model_validate(settings)


def test_both_configs_have_the_sizes_that_are_compared() -> None:
    deep, even = model_config("12-1-distilled"), model_config("6-6")
    assert (deep.encoder_blocks, deep.decoder_blocks) == (12, 1)
    assert (even.encoder_blocks, even.decoder_blocks) == (6, 6)
    for config in (deep, even):
        assert (config.d_model, config.num_heads, config.d_ff) == (256, 4, 1024)
    sizes, shapes = benchmark().SIZES, benchmark().SHAPES
    for config, shape in ((deep, shapes["deep"]), (even, shapes["even"])):
        expected = {**sizes, **shape}
        expected.pop("has_output_bias")
        assert {name: getattr(config, name) for name in expected} == expected


def test_transformers_supports_the_even_model_because_of_two_settings() -> None:
    small = {
        "d_model": 8,
        "d_ff": 5,
        "encoder_blocks": 1,
        "decoder_blocks": 1,
    }  # the size is not the reason for the error
    assert to_marian_tensors(Transformer(model_config("6-6", **small))).config["model_type"] == "marian"
    for setting, reason in (
        ({"norm_place": "pre"}, "it is pre-norm"),
        ({"sinusoids": "pairs"}, "sines and cosines alternate"),
    ):
        with pytest.raises(CheckpointError, match=reason):
            to_marian_tensors(Transformer(model_config("6-6", **small, **setting)))


def test_the_distilled_config_reads_what_its_teacher_reads_and_what_it_writes() -> None:
    teacher, taught = config_of("6-6"), config_of("12-1-distilled")
    assert taught.data.valid == teacher.data.valid
    assert taught.data.train[:1] == teacher.data.train
    assert [corpus.source for corpus in taught.data.train] == [teacher.data.train[0].source] * 2
    assert taught.data.train[1].target != teacher.data.train[0].target
    assert taught.text.tokeniser == teacher.run, "the pieces of its teacher"
    assert taught.text.lower_case == teacher.text.lower_case


def test_ends_and_padding_are_not_counted(tmp_path: Path) -> None:
    vocabularies = Vocabularies.load(make_run(tmp_path))
    target = vocabularies.target
    (ids,) = target.encode(["wo ist das"])
    one, other = [*ids, target.eos], [target.bos, *ids, target.eos, target.pad, target.pad]
    output = benchmark().clean([one, other], vocabularies)
    assert output.rows == [ids, ids]
    assert output.num_tokens == 2 * len(ids)
    assert output.texts == ["wo ist das"] * 2


def timed(seconds: float, name: str, num_tokens: int = 100) -> object:
    module = benchmark()
    system = module.System(name, "int8", 7, lambda lines, settings: None)
    return module.Timed(system, 512, module.Output([[5] * num_tokens], ["x"]), seconds)


def test_targets_are_reported_as_reached_or_missed() -> None:
    all_timed = [timed(1.0, "deep, CTranslate2"), timed(2.5, "even, CTranslate2"), timed(3.0, "even, Transformers")]
    scores = [Score("BLEU", value, "signature") for value in (39.5, 39.7, 39.9)]
    assert benchmark().verdicts(all_timed, scores) == [
        "- missed: BLEU at most 0.3 below the even model (it is 0.40 below).",
        "- reached: 2 × even, CTranslate2 in tokens a second (it is 2.50 ×).",
        "- missed: 4 × even, Transformers in tokens a second (it is 3.00 ×).",
    ]
    assert "BLEU is not reported" in benchmark().verdicts(all_timed, None)[0]


def test_speed_is_computed_from_the_tokens_that_a_system_writes() -> None:
    quick, slow = timed(2.0, "deep, CTranslate2", 60), timed(2.0, "even, CTranslate2", 80)
    assert (quick.tokens_a_second, slow.tokens_a_second) == (30.0, 40.0)  # type: ignore[attr-defined]
    assert quick.sentences_a_second == slow.sentences_a_second == 0.5  # type: ignore[attr-defined]


@pytest.mark.slow
def test_random_models_are_compared_end_to_end(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ctranslate2", reason="CTranslate2 is optional")
    pytest.importorskip("transformers", reason="Transformers is optional")
    few = ["--sentences", "6", "--rounds", "1", "--length", "4", "--tuned-on", "2", "--batch-tokens", "64"]
    assert benchmark().main(["--random", "--threads", "1", "--beam", "2", *few]) == 0
    rows = [
        line.split("|") for line in capsys.readouterr().out.splitlines() if "CTranslate2 |" in line or "rs |" in line
    ]
    counted = {row[1].strip(): row[5].strip() for row in rows if "system" not in row[1]}
    assert counted == {"deep, CTranslate2": "24", "even, CTranslate2": "24", "even, Transformers": "24"}


def test_giving_both_models_and_random_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["a", "b", "c", "d", "--random"]):
        with pytest.raises(SystemExit):
            benchmark().main(arguments)
        assert "give DEEP EVEN SOURCE REFERENCE, or --random" in capsys.readouterr().err
