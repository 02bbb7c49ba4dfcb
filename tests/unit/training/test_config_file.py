"""Config files as people write them: how they are read, and which errors are reported."""

from pathlib import Path

import pytest

from clearhead.training.config import load_run_config
from clearhead.training.config_file import parse_yaml
from tests.unit.training.configs import LEAST, mistakes_of, written

BASE = "data: {train: [{built_in: copy}]}\ntraining: {steps: 7}\n"

UNREADABLE: list[tuple[str | bytes, list[str]]] = [
    ("", ["my.yaml: contains no settings. Add some: the help of the config describes them all."]),
    ("# later\n", ["my.yaml: contains no settings. Add some: the help of the config describes them all."]),
    ("- 3\n- 5\n", ["my.yaml: contains [3, 5] instead of settings. Write keys and values, such as 'preset: tiny'."]),
    ("tiny", ["my.yaml: contains 'tiny' instead of settings. Write keys and values, such as 'preset: tiny'."]),
    (b"\x7fELF\0\0", ["my.yaml: this is not a text file. Give a config in YAML, such as those in configs/."]),
    (b"preset: tiny\nrun: caf\xe9\n", ["my.yaml: line 2 is not UTF-8 text. Save the file as UTF-8."]),
    (
        "training:\n\trate: 1\n",
        ["my.yaml: line 2, column 1: a tab is used where YAML requires spaces. Indent with spaces."],
    ),
    ("a: [1\nb: 2\n", ["my.yaml: line 2, column 2: this is not YAML: expected ',' or ']', but got ':'."]),
    (BASE + "---\na: 1\n", ["my.yaml: line 3, column 1: a second YAML document starts here. Keep only one."]),
    (
        "training:\n  rate: 1\n  steps: 2\n  rate: 3\ntraining: {}\n",
        [
            "my.yaml: line 4: 'rate' occurs twice (first on line 2). Remove one of them.",
            "my.yaml: line 5: 'training' occurs twice (first on line 1). Remove one of them.",
        ],
    ),
    ("a: &a [*a]\n", ["my.yaml: settings are nested more than 20 deep."]),
    ("a: " + "[" * 5000, ["my.yaml: settings are nested more than 20 deep."]),
    ("a: " + "9" * 5000, ["my.yaml: a value does not fit its YAML tag (!!…), or has thousands of digits."]),
    (
        "run: !!python/object/apply:os.system ['true']\n",
        [
            "my.yaml: line 1, column 6: could not determine a constructor for the tag 'tag:yaml.org,2002:python/object/apply:os.system'. Write plain values, without tags."
        ],
    ),
]


@pytest.mark.parametrize(("content", "mistakes"), UNREADABLE, ids=[str(content)[:20] for content, _ in UNREADABLE])
def test_an_unreadable_file_is_reported_with_its_line(
    tmp_path: Path, content: str | bytes, mistakes: list[str]
) -> None:
    assert mistakes_of(written(tmp_path, content)) == mistakes


def test_aliases_that_unfold_without_end_are_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]" for n in range(1, 12)]
    assert mistakes_of(written(tmp_path, "\n".join(lines))) == [
        "my.yaml: its aliases expand to more than 20,000 values."
    ]


def test_a_file_that_is_no_config_by_its_size_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "# x\n" * 2**19)
    assert mistakes_of(path) == [
        "my.yaml: this is larger than 1 MiB, so it is not a config. Did you mean another file?"
    ]


def test_a_missing_file_is_reported_with_the_closest_name_in_its_folder(tmp_path: Path) -> None:
    written(tmp_path, LEAST, "phrasebook.yaml")
    assert mistakes_of(tmp_path / "phrasbook.yaml") == [
        "phrasbook.yaml: there is no such file. Did you mean 'phrasebook.yaml'?"
    ]
    assert mistakes_of(tmp_path / "nowhere" / "a.yaml") == [
        f"a.yaml: there is no such file. Its folder, {tmp_path / 'nowhere'}, does not exist either."
    ]


def test_a_folder_or_an_invalid_name_is_reported(tmp_path: Path) -> None:
    assert mistakes_of(tmp_path)[0].endswith(
        ": this is a folder. Give a config file, or resume the run in that folder."
    )
    assert mistakes_of(tmp_path / ("x" * 400))[0].endswith(": this cannot be read: File name too long.")


def test_numbers_words_and_null_are_read_as_people_mean_them() -> None:
    text = (
        b"a: 1e-3\nb: 1E5\nc: no\nd: null\ne: ~\nf: 12:30\ng: 007\nh: true\ni: 2024-01-01\nj: .inf\nk: -.5\nl: 1_000\n"
    )
    assert parse_yaml(text) == {
        **{"a": 0.001, "b": 100000.0, "c": "no", "d": None, "e": None, "f": "12:30", "g": "007", "h": True},
        **{"i": "2024-01-01", "j": float("inf"), "k": -0.5, "l": "1_000"},
    }


def test_norwegian_is_a_language_and_no_means_false(tmp_path: Path) -> None:
    text = "data: {train: [{built_in: copy, language: no}]}\ntext: {is_joint: no}\nmodel: {tied: two}\ntraining: {steps: 7}"
    config = load_run_config(written(tmp_path, text))
    assert config.data.train[0].language == "no"
    assert config.text.is_joint is False


def test_keys_can_be_shared_by_merging(tmp_path: Path) -> None:
    text = "data: {train: [&a {built_in: copy, weight: 3}, {<<: *a, weight: 5}]}\ntraining: {steps: 7}"
    corpora = load_run_config(written(tmp_path, text)).data.train
    assert [(corpus.built_in, corpus.weight) for corpus in corpora] == [("copy", 3), ("copy", 5)]


def test_a_change_is_read_as_yaml(tmp_path: Path) -> None:
    changes = ["training.rate=3e-4", "training.betas=[0.5, 0.75]", "training.clip=null", "data.train.0.weight=3"]
    config = load_run_config(written(tmp_path, LEAST), [*changes, "model.d_model=64", "run=a=b", "text.lower_case=yes"])
    assert (config.training.rate, config.training.betas, config.training.clip) == (3e-4, (0.5, 0.75), None)
    assert (config.data.train[0].weight, config.model, config.run) == (3, {"d_model": 64}, "a=b")
    assert config.text.lower_case is True


def test_the_last_change_of_a_setting_counts_and_a_change_beats_the_file(tmp_path: Path) -> None:
    config = load_run_config(written(tmp_path, LEAST), ["training.steps=11", "training.steps=13"])
    assert config.training.steps == 13


WRONG_CHANGES = [
    ("training.rte=1", "change training.rte=1: training.rte is not a setting. Did you mean 'rate'?"),
    ("trainig.rate=1", "change trainig.rate=1: trainig is not a setting. Did you mean 'training'?"),
    ("rate=1", "change rate=1: rate is not a setting. Did you mean 'training.rate'?"),
    (
        "training.rate=fast",
        "change training.rate=fast: training.rate = 'fast' is not a number above 0 and at most 1000, or null "
        "(rate: peak learning rate; default: by width and batch size (translate), 0.001 (other tasks), 0.0001 with "
        "`init_from`).",
    ),
    ("model.d_modl=3", "change model.d_modl=3: model.d_modl is not a setting. Did you mean 'd_model'?"),
    (
        "training.rate",
        "change training.rate: this is not a change of a setting. Write path=value, such as training.rate=3e-4.",
    ),
    ("=3", "change =3: this is not a change of a setting. Write path=value, such as training.rate=3e-4."),
    (
        "training..rate=3",
        "change training..rate=3: this is not a change of a setting. Write path=value, such as training.rate=3e-4.",
    ),
    (
        "data.train.1.weight=3",
        "change data.train.1.weight=3: data.train is a list: give the number of an entry, 0, such as data.train.0.weight=2.",
    ),
    ("training.steps.x=3", "change training.steps.x=3: training.steps = 7 is not a group of settings."),
    (
        "training.betas=[0.9",
        "change training.betas=[0.9: line 1, column 5: this is not YAML: expected ',' or ']', but got '<stream end>'.",
    ),
]


@pytest.mark.parametrize(("change", "mistake"), WRONG_CHANGES, ids=[change for change, _ in WRONG_CHANGES])
def test_a_wrong_change_is_reported_with_the_closest_name(tmp_path: Path, change: str, mistake: str) -> None:
    assert mistakes_of(written(tmp_path, LEAST), change) == [mistake]


def test_the_environment_overrides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, LEAST)
    before = load_run_config(path)
    for name in ("TRAINING_RATE", "training.rate", "RATE", "CLEARHEAD_TRAINING_RATE", "CLEARHEAD_TRAINING__RATE"):
        monkeypatch.setenv(name, "5")
    assert load_run_config(path) == before
