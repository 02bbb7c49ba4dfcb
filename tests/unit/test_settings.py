"""Every mistake in settings is a sentence with its path, what was given, what is allowed and what was meant."""

from typing import Annotated, Any, Literal, Self

import pytest
from pydantic import Field, model_validator

from clearhead.errors import ConfigError, Mistake, ProblemError
from clearhead.settings import MisfitError, Settings, examine, fields_of, read_settings, shown


class Wheel(Settings):
    size: int = Field(7, ge=2, le=31, description="across, in inches")
    tyre: Literal["thick", "thin"] | None = Field(None, description="what is around it")


class Bicycle(Settings):
    name: str = Field("mule", pattern="^[a-z]+$", description="what it is called")
    weight: float | None = Field(None, gt=0, lt=97, description="in kilograms")
    has_bell: bool = Field(False, description="whether it rings")
    gears: tuple[Annotated[float, Field(ge=1)], float] = Field((3, 5), description="in front and behind")
    wheels: tuple[Wheel, ...] = Field(min_length=1, description="what it rolls on")
    spare: Wheel | None = Field(None, description="one more")
    extras: dict[str, Any] = Field(default_factory=dict, description="whatever else")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        facts = []
        if self.weight is not None and self.weight < len(self.wheels):
            sentence = f"weight = {self.weight:g} is too little for {len(self.wheels)} wheels"
            facts.append(Mistake(("weight", "wheels"), sentence))
        if self.name == "unicycle" and len(self.wheels) != 1:
            facts.append(Mistake(("name", "wheels"), "a unicycle has one of wheels"))
        if facts:
            raise MisfitError(facts)
        return self


WHEEL: dict[str, Any] = {"size": 3}
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"wight": 3}, "shed.wight is not a setting. Did you mean 'weight'?"),
    (
        {"zzz": 3},
        "shed.zzz is not a setting. Settings of shed: name, weight, has_bell, gears, wheels, spare, extras.",
    ),
    ({"tyre": "thin"}, "shed.tyre is not a setting. Did you mean 'shed.wheels.0.tyre'?"),
    ({"wheels": [{"sise": 3}]}, "shed.wheels.0.sise is not a setting. Did you mean 'size'?"),
    (
        {"wheels": [WHEEL, {"size": 1}]},
        "shed.wheels.1.size = 1 is not a whole number from 2 to 31 (size: across, in inches).",
    ),
    (
        {"spare": {"tyre": "tin"}},
        "shed.spare.tyre = 'tin' is not a choice. Did you mean 'thin'? Choices: thick, thin.",
    ),
    ({"spare": {"tyre": 5}}, "shed.spare.tyre = 5 is not a choice. Choices: thick, thin."),
    ({"spare": 5}, "shed.spare = 5 is not a group of settings. Its settings: size, tyre."),
    (
        {"wheels": {"size": 3}},
        "shed.wheels = {'size': 3} is not a list. Write '- ' before each entry. Its settings: size, tyre.",
    ),
    ({"wheels": ["big"]}, "shed.wheels.0 = 'big' is not a group of settings. Its settings: size, tyre."),
    ({"wheels": []}, "shed.wheels is empty: what it rolls on."),
    (
        {"weight": "heavy"},
        "shed.weight = 'heavy' is not a number above 0 and below 97, or null (weight: in kilograms).",
    ),
    ({"weight": True}, "shed.weight = true is not a number above 0 and below 97, or null (weight: in kilograms)."),
    (
        {"weight": float("nan")},
        "shed.weight = nan is not a number above 0 and below 97, or null (weight: in kilograms).",
    ),
    ({"has_bell": None}, "shed.has_bell = null is not true or false (has_bell: whether it rings)."),
    ({"has_bell": "perhaps"}, "shed.has_bell = 'perhaps' is not true or false (has_bell: whether it rings)."),
    (
        {"gears": [3]},
        "shed.gears = [3] is not a list of 2 numbers of at least 1 (gears: in front and behind).",
    ),
    (
        {"gears": [0, "x"]},
        "shed.gears = [0, 'x'] is not a list of 2 numbers of at least 1 (gears: in front and behind).",
    ),
    ({"name": "A B"}, "shed.name = 'A B' is not text that matches ^[a-z]+$ (name: what it is called)."),
    ({"extras": 5}, "shed.extras = 5 is not a group of settings (extras: whatever else)."),
    ({"weight": 1, "wheels": [WHEEL, WHEEL]}, "shed: weight = 1 is too little for 2 wheels."),
    (
        {"\x1b[2Jname": 3},
        "shed.\\x1b[2Jname is not a setting. Did you mean 'name'?",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "sentence"), MISTAKES, ids=[str(changes) for changes, _ in MISTAKES])
def test_a_mistake_is_one_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as error:
        read_settings(Bicycle, {"wheels": [WHEEL], **changes}, "shed")
    assert error.value.mistakes == (sentence,)


def test_a_missing_setting_is_reported_with_its_description() -> None:
    with pytest.raises(ConfigError, match=r"^wheels is missing: what it rolls on\.$"):
        read_settings(Bicycle, {})


def test_all_mistakes_are_reported_together_including_those_between_settings() -> None:
    with pytest.raises(ConfigError) as error:
        read_settings(
            Bicycle, {"name": "unicycle", "weight": 1, "has_bell": 7, "wheels": [WHEEL, {"tyre": "thin", "siz": 2}]}
        )
    assert str(error.value).split("\n") == [
        "has_bell = 7 is not true or false (has_bell: whether it rings).",
        "wheels.1.siz is not a setting. Did you mean 'size'?",
        "weight = 1 is too little for 2 wheels.",
        "a unicycle has one of wheels.",
    ]


def test_only_a_setting_that_is_wrong_by_itself_is_blamed() -> None:
    reading = examine(Bicycle, {"name": "unicycle", "weight": -1, "wheels": [WHEEL, WHEEL]})
    assert [mistake.path for mistake in reading.mistakes] == ["weight", ""]
    assert reading.blamed == {"weight"}
    assert reading.value is None


def test_a_mistake_concerns_settings_not_words_of_its_sentence() -> None:
    reading = examine(Bicycle, {"name": "unicycle", "one": 3, "wheels": [WHEEL, WHEEL]}, "shed")
    assert [mistake.paths for mistake in reading.mistakes] == [("shed.one",), ("shed", "shed.name", "shed.wheels")]


def test_a_mistake_concerns_its_settings_and_the_groups_above_them() -> None:
    mistake = Mistake(("data.valid", "data.train.0"), "data.valid is the same text as data.train.0.")
    assert mistake.path == "data.valid"
    concerned = [path for path in ("data", "data.train", "data.train.0", "data.valid") if mistake.concerns(path)]
    assert concerned == ["data", "data.train", "data.train.0", "data.valid"]
    assert not any(mistake.concerns(path) for path in ("text", "dat", "data.train.0.tsv", "data.train.1", "valid"))


def test_valid_settings_are_returned_with_substitutes_for_required_ones() -> None:
    reading = examine(Bicycle, {"name": "tandem", "wheels": 3}, stand_ins={"wheels": [WHEEL]})
    assert reading.value == Bicycle(name="tandem", wheels=(Wheel(size=3),))
    assert len(reading.mistakes) == 1


def test_text_that_looks_like_a_number_is_taken_for_what_the_setting_is() -> None:
    bicycle = read_settings(Bicycle, {"weight": "1e1", "has_bell": "yes", "wheels": [{"size": "5"}]})
    assert (bicycle.weight, bicycle.has_bell, bicycle.wheels[0].size) == (10.0, True, 5)


def test_a_group_with_nothing_in_it_is_an_empty_group() -> None:
    assert read_settings(Bicycle, {"wheels": [WHEEL], "extras": None}).extras == {}
    assert read_settings(Bicycle, {"wheels": [WHEEL], "spare": None}).spare is None


def test_settings_do_not_change() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Wheel().size = 3  # type: ignore[misc]


def test_every_field_is_described() -> None:
    fields = {field.path: field for field in fields_of(Bicycle, "shed")}
    assert list(fields) == [
        *("shed.name", "shed.weight", "shed.has_bell", "shed.gears"),
        *("shed.wheels", "shed.wheels.0.size", "shed.wheels.0.tyre"),
        *("shed.spare", "shed.spare.size", "shed.spare.tyre", "shed.extras"),
    ]
    assert fields["shed.wheels"].is_needed
    assert fields["shed.wheels.0.size"].default == 7
    assert fields["shed.spare.tyre"].choices == ("thick", "thin")
    assert fields["shed.spare.tyre"].kind == "one of thick, thin, or null"


def test_a_long_value_is_cut_and_control_characters_are_visible() -> None:
    assert shown("x" * 100) == f"'{'x' * 58}…"
    assert shown("\x07") == r"'\x07'"
    assert (shown(None), shown(True), shown(3)) == ("null", "true", "3")


@pytest.mark.parametrize("kind", [ConfigError, ProblemError])
def test_an_error_of_many_mistakes_has_one_sentence_a_line(kind: type[ConfigError]) -> None:
    error = kind(["one.", "two."]).located("a.yaml")
    assert isinstance(error, kind)
    assert str(error) == "a.yaml: one.\na.yaml: two."
    assert str(kind([str(number) for number in range(23)])).endswith("\n19\n… and 3 more mistakes.")


def test_a_name_that_yaml_reads_as_a_number_is_an_unknown_setting() -> None:
    with pytest.raises(ConfigError) as caught:
        read_settings(Bicycle, {1: 2, None: 3, "wheels": [{"size": 3, 7: 1}]})  # type: ignore[dict-item]
    assert caught.value.mistakes == (
        "wheels.0.7 is not a setting. Settings of wheels.0: size, tyre.",
        "1 is not a setting. Settings: name, weight, has_bell, gears, wheels, spare, extras.",
        "None is not a setting. Settings: name, weight, has_bell, gears, wheels, spare, extras.",
    )


def test_only_the_first_of_very_many_mistakes_get_a_sentence() -> None:
    with pytest.raises(ConfigError) as caught:
        read_settings(Bicycle, {"wheels": [{"size": 1}] * 3000})
    assert len(caught.value.mistakes) == 1000
