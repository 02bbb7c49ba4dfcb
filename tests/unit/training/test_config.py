"""The settings of a run: contradictions, missing files, and the configs in configs/."""

import re
from pathlib import Path
from typing import Any

import pytest

from clearhead.model.config import ModelConfig
from clearhead.text.config import TextConfig
from clearhead.training.config import RunConfig, check_run_config, load_run_config
from clearhead.training.config_checks import DECIDED, model_settings
from clearhead.training.config_help import config_fields, config_help_data, help_config
from tests.unit.training.configs import LEAST, mistakes_of, written

ROOT = Path(__file__).parents[3]
CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))
COPY = {"built_in": "copy"}


def config_of(**groups: Any) -> dict[str, Any]:
    return {**LEAST, **groups}


MISFITS: list[tuple[dict[str, Any], list[str]]] = [
    (
        config_of(data={"train": [COPY], "valid": COPY}, pinned=["Good morning."]),
        [
            "pinned was removed from clearhead. See the curves with 'clearhead plot', and translate with each checkpoint.",
        ],
    ),
    (
        config_of(training={}),
        ["training.steps or training.epochs is missing: set one of them to say how long to train."],
    ),
    (
        config_of(training={"steps": 7, "epochs": 3}),
        ["training.steps = 7 and training.epochs = 3 both say how long to train. Remove one of them."],
    ),
    (
        config_of(training={"steps": 7, "final_rate": 0.1}),
        [
            "training.final_rate = 0.1 is only for the schedules cosine and linear, but training.schedule = 'inverse_sqrt'. Remove training.final_rate."
        ],
    ),
    (
        config_of(validation={"patience": 3, "metric": "bleu"}),
        [
            "validation.patience = 3 needs a validation set. Set data.valid.",
            "validation.metric = 'bleu' needs a validation set. Set data.valid.",
        ],
    ),
    (
        config_of(data={"train": [COPY], "valid": COPY}, validation={"metric": "accuracy"}),
        ["validation.metric = 'accuracy' is not available for task = 'translate'. Choices: loss, bleu, chrf, exact."],
    ),
    (
        config_of(text={"kind": "word", "sampling": 0.1}),
        [
            "text.sampling = 0.1 needs subwords, but text.kind = 'word' can split a word in only one way. Use unigram or bpe, or remove text.sampling."
        ],
    ),
    (
        config_of(text={"is_joint": False}),
        [
            "text.is_joint = false creates two vocabularies, but model.tied = 'three' shares one matrix. Set model.tied: two, or remove text.is_joint."
        ],
    ),
    (
        config_of(model={"max_length": 101}),
        [
            "data.max_tokens = 128 is larger than model.max_length = 101, the number of positions that the model has. Lower one or raise the other."
        ],
    ),
    (
        config_of(preset="bse"),
        ["preset = 'bse' is not a preset. Did you mean 'base'? Presets: tiny, small, base, big, deep-shallow."],
    ),
    (
        config_of(model={"num_heads": 3, "source_vocabulary": 7}),
        [
            "model.source_vocabulary comes from the tokeniser (text.vocabulary). Remove it.",
            "model: num_heads = 3 does not divide d_model = 128. Use 1, 2, 4, 8, 16, 32, 64 heads.",
        ],
    ),
    (config_of(model={"shape": "encoder"}), ["model.shape follows from the task. Remove it."]),
    (
        config_of(task="language-model", model={"encoder_blocks": 3}),
        [
            "model.encoder_blocks is a setting of the encoder, but task = 'language-model' has none. Remove model.encoder_blocks."
        ],
    ),
    (
        config_of(task="classify", model={"d_decoder": 64, "decoder_norm": "rms"}),
        [
            "model.d_decoder is a setting of the decoder, but task = 'classify' has none. Remove model.d_decoder.",
            "model.decoder_norm is a setting of the decoder, but task = 'classify' has none. Remove model.decoder_norm.",
            "data.train.0.built_in = 'copy' has no labels for task = 'classify'. Give files.",
        ],
    ),
    (
        config_of(data={"train": [{}, {"split": "test"}]}),
        [
            "data.train.0 names no data. Give source and target, or tsv, or jsonl, or built_in.",
            "data.train.1 names no data. Give source and target, or tsv, or jsonl, or built_in.",
            "data.train.1.split is only for data.train.1.built_in. Remove data.train.1.split.",
        ],
    ),
    (
        config_of(data={"train": [COPY], "valid": COPY | {"split": "train"}}),
        [
            "data.valid is the same text as data.train.0, so its scores would be meaningless. Validate on sentences that are not used for training."
        ],
    ),
    (
        config_of(data={"train": [{"built_in": "set-phrases", "split": "test"}], "valid": {"built_in": "set-phrases"}}),
        [
            "data.train.0.built_in = 'set-phrases' has no split 'test': all its phrases are for training. Use a split of the phrasebook instead: built_in: phrasebook.",
            "data.valid.built_in = 'set-phrases' has no split 'valid': all its phrases are for training. Use a split of the phrasebook instead: built_in: phrasebook.",
        ],
    ),
    (
        config_of(data={"train": [COPY | {"language": "hi"}, COPY], "valid": COPY | {"language": "hu"}}),
        [
            "data.train.1.language is missing, but other corpora have one (hi).",
            "data.valid.language = 'hu' is not in the training data. Languages: hi.",
        ],
    ),
    (
        config_of(task="language-model", data={"train": [COPY | {"language": "hi"}]}),
        [
            "data.train.0.language = 'hi' is the language to translate into, but task = 'language-model' does not translate. Remove data.train.0.language."
        ],
    ),
]


@pytest.mark.parametrize(("data", "sentences"), MISFITS, ids=[sentences[0][:40] for _, sentences in MISFITS])
def test_settings_that_contradict_each_other_are_reported(
    tmp_path: Path, data: dict[str, Any], sentences: list[str]
) -> None:
    assert mistakes_of(written(tmp_path, data)) == [f"my.yaml: {sentence}" for sentence in sentences]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            "training.rate=1e308",
            "1e+308 is not a number above 0 and at most 1000, or null (rate: peak learning rate; default: ",
        ),
        ("training.accumulate=1000000000", "1000000000 is not a whole number from 1 to 4096 (accumulate: "),
        ("training.warm_up=1" + 400 * "0", "is not a whole number from 0 to 1000000000, or null (warm_up: "),
        ("training.steps=1" + 30 * "0", "is not a whole number from 1 to 1000000000, or null (steps: "),
        ("training.epochs=1e308", "1e+308 is not a number above 0 and at most 1000000, or null (epochs: "),
        ("training.epsilon=1e308", "1e+308 is not a number above 0 and at most 1 (epsilon: "),
        ("training.log_every=1" + 30 * "0", "is not a whole number from 1 to 1000000 (log_every: "),
        ("training.clip=.inf", "training.clip = inf is not a number above 0, or null (clip: "),
        ("training.label_smoothing=.nan", "training.label_smoothing = nan is not a number of at least 0 and below 1"),
        ("validation.max_ratio=1e308", "1e+308 is not a number above 0 and at most 1000 (max_ratio: "),
        ("text.coverage=0.5", "text.coverage = 0.5 is not a number from 0.98 to 1 (coverage: "),
        ("model.d_ff=1" + 30 * "0", "is not a whole number from 1 to 1048576 (d_ff: "),
    ],
)
def test_extreme_numbers_are_refused_before_the_training_starts(tmp_path: Path, change: str, message: str) -> None:
    path = written(tmp_path, {"data": {"train": [COPY], "valid": COPY}, "training": {}})
    changes = [change] if "epochs" in change or "steps" in change else [change, "training.steps=7"]
    (mistake,) = mistakes_of(path, *changes)
    assert message in mistake


def test_forms_of_a_corpus_do_not_mix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b", "c"):
        written(tmp_path, "x\n", name)
    corpora = [{"source": "a", "tsv": "b"}, {"source": "a"}, {"target": "b", "jsonl": "c"}]
    mistakes = mistakes_of(written(tmp_path, config_of(data={"train": corpora})))
    assert mistakes == [
        "my.yaml: data.train.0 has source and tsv, which are different corpora. Write a separate entry for each.",
        "my.yaml: data.train.0.target is missing: the file of translations, line by line.",
        "my.yaml: data.train.1.target is missing: the file of translations, line by line.",
        "my.yaml: data.train.2.target needs data.train.2.source. Give both files.",
    ]


def test_missing_files_are_reported_with_the_closest_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    written(tmp_path / "data", "x\n", "train.en")
    corpus = {"source": "data/trian.en", "target": "data"}
    data = config_of(
        data={"train": [corpus], "valid": {"tsv": "dat/valid.tsv"}},
        training={"steps": 7, "init_from": "runs/a"},
        text={"tokeniser": "nothing\0"},
    )
    assert mistakes_of(written(tmp_path, data)) == [
        "my.yaml: data.train.0.source = 'data/trian.en' does not exist. Did you mean 'data/train.en'?",
        "my.yaml: data.train.0.target = 'data' is a folder. Give a file in it.",
        "my.yaml: data.valid.tsv = 'dat/valid.tsv' does not exist. There is no folder 'dat'. Did you mean 'data'?",
        "my.yaml: text.tokeniser = 'nothing\\x00' does not exist.",
        "my.yaml: training.init_from = 'runs/a' does not exist. There is no folder 'runs'.",
    ]
    assert load_run_config(tmp_path / "my.yaml", check_files=False).data.train[0].source == "data/trian.en"


def test_the_rest_is_checked_when_the_data_is_missing(tmp_path: Path) -> None:
    mistakes = mistakes_of(written(tmp_path, {"preset": "tny", "model": {"d_ff": 0}, "text": {"sampling": 2}}))
    assert [sentence.split()[1] for sentence in mistakes] == [
        *("data", "text.sampling", "preset", "model.d_ff", "training.steps"),
    ]


def test_a_setting_with_a_misspelled_name_is_not_also_reported_as_missing(tmp_path: Path) -> None:
    mistakes = mistakes_of(written(tmp_path, {"data": {"train": [{"buit_in": "copy"}]}, "training": {"stesp": 7}}))
    assert mistakes == [
        "my.yaml: data.train.0.buit_in is not a setting. Did you mean 'built_in'?",
        "my.yaml: training.stesp is not a setting. Did you mean 'steps'?",
    ]


def test_a_wrong_group_hides_no_message_that_contains_its_name_as_a_word(tmp_path: Path) -> None:
    data = {"text": 5, "data": {"train": [{"weight": 2}]}, "training": {"steps": 7}}
    assert mistakes_of(written(tmp_path, data)) == [
        "my.yaml: text = 5 is not a group of settings. Its settings: " + ", ".join(TextConfig.model_fields) + ".",
        "my.yaml: data.train.0 names no data. Give source and target, or tsv, or jsonl, or built_in.",
    ]


def test_what_follows_from_a_wrong_setting_is_not_blamed_too(tmp_path: Path) -> None:
    data = config_of(training={"steps": 7, "schedule": "cosin", "final_rate": 0.5})
    (mistake,) = mistakes_of(written(tmp_path, data))
    assert mistake.startswith("my.yaml: training.schedule = 'cosin' is not a choice. Did you mean 'cosine'?")


def test_an_unknown_preset_has_no_sizes_to_fit(tmp_path: Path) -> None:
    mistakes = mistakes_of(written(tmp_path, config_of(preset="tny", model={"num_heads": 3})))
    assert len(mistakes) == 1


def test_the_run_folder_is_named_after_the_file(tmp_path: Path) -> None:
    assert load_run_config(written(tmp_path, LEAST, "copy.yaml")).run == "runs/copy"
    assert load_run_config(written(tmp_path, LEAST | {"run": 2024})).run == "2024"


@pytest.mark.parametrize(
    ("task", "metric"), [("translate", "bleu"), ("classify", "accuracy"), ("language-model", "loss")]
)
def test_every_task_has_its_own_default_metric(task: str, metric: str) -> None:
    assert RunConfig.model_validate(LEAST | {"task": task}).metric == metric
    assert RunConfig.model_validate(LEAST | {"task": task, "validation": {"metric": "chrf"}}).metric == "chrf"


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_shipped_config_is_right(path: Path) -> None:
    config = load_run_config(path, check_files=False)
    assert ModelConfig.model_validate(model_settings(config))
    assert config.data.valid is not None


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_line_of_a_shipped_config_has_its_reason(path: Path) -> None:
    for line in path.read_text(encoding="utf-8").splitlines():
        is_name = line.endswith(":") or re.search(r"(source|target|tsv|jsonl): \S+$", line)
        assert is_name or " # " in line or line.startswith("# "), line


def test_the_demo_reads_what_must_be_learnt_by_heart_many_times_an_epoch() -> None:
    config = load_run_config(ROOT / "configs" / "phrasebook.yaml", check_files=False)
    weights = {corpus.built_in: corpus.weight for corpus in config.data.train}
    assert weights["set-phrases"] >= 10 * weights["phrasebook"] == 10


def test_there_is_a_config_for_every_task() -> None:
    assert {load_run_config(path, check_files=False).task for path in CONFIGS} == {
        *("translate", "classify", "language-model")
    }
    assert len(CONFIGS) >= 6


def test_the_help_lists_every_setting() -> None:
    page = help_config()
    paths = [field.path for field in config_fields()]
    assert len(paths) == len(set(paths)) > 90
    for field in config_fields():
        assert field.description, field.path
        assert f"\n{field.path} (required)" in page or f"\n{field.path} = " in page
    model = {path.removeprefix("model.") for path in paths if path.startswith("model.")}
    assert model | set(DECIDED) == set(ModelConfig.model_fields)


def test_the_help_shows_default_choices_and_meaning() -> None:
    page = help_config()
    assert (
        "training.rate = null   [a number above 0 and at most 1000, or null]\n    peak learning rate; default: " in page
    )
    assert "training.schedule = inverse_sqrt   [one of inverse_sqrt, cosine, linear, constant]\n" in page
    assert "\ndata.train (required)   [a list of groups of settings]\n" in page
    assert "preset = tiny   [one of tiny, small, base, big, deep-shallow]\n" in page
    assert "model.positions = sinusoidal   [one of sinusoidal, learned, rotary, none]\n" in page
    assert "File paths are relative to the current folder." in page
    assert max(map(len, page.splitlines())) <= 120


def test_the_help_offers_only_norms_that_a_decoder_accepts() -> None:
    choices = {field.path: field.choices for field in config_fields()}
    assert choices["model.encoder_norm"] == ("layer", "rms", "all")
    assert choices["model.decoder_norm"] == ("layer", "rms")
    for norm in choices["model.decoder_norm"]:
        assert not check_run_config(config_of(model={"decoder_norm": norm}))[1]


def test_the_help_is_also_plain_data() -> None:
    fields = {field["path"]: field for field in config_help_data()}
    assert fields["training.average"] == {
        "path": "training.average",
        "type": "one of none, ema, last",
        "choices": ["none", "ema", "last"],
        "default": "none",
        "is_needed": False,
        "description": "validate and save averaged weights: an exponential moving average, or the last checkpoints",
    }
