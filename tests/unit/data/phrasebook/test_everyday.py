"""Prices, hours, weather, names, owners and sums: numbers are computed here, and agreement is checked by rule."""

import re

from clearhead.data.phrasebook.everyday import clock, either, naming, price, sum_of, weather, whose
from tests.unit.data.phrasebook.drawing import drawn

NUMBERS = {
    "two": "dos", "three": "tres", "four": "cuatro", "five": "cinco", "six": "seis", "seven": "siete", "eight": "ocho",
    "nine": "nueve", "ten": "diez", "eleven": "once", "twelve": "doce", "twenty": "veinte",
}  # fmt: skip
VALUES = dict(zip(list(NUMBERS)[:11], range(2, 13), strict=True))


def test_a_sum_is_right_in_both_languages() -> None:
    sums = {sentence.english: sentence.spanish for sentence in drawn(sum_of)}
    assert len(sums) > 30
    for english, spanish in sums.items():
        first, second, total = re.fullmatch(r"(\w+) plus (\w+) is (\w+)\.", english).groups()  # type: ignore[union-attr]
        assert VALUES[first.lower()] + VALUES[second] == VALUES[total]
        words = [NUMBERS[word] for word in (first.lower(), second, total)]
        assert spanish.lower() == f"{words[0]} más {words[1]} son {words[2]}."


def test_a_price_agrees_with_what_is_sold() -> None:
    for sentence in drawn(price):
        is_plural = " cuestan " in sentence.spanish
        assert is_plural != (" cuesta " in sentence.spanish)
        if sentence.english.endswith("?"):
            assert sentence.english.startswith("How much do " if is_plural else "How much does ")
        else:
            number = re.search(r" costs? (\w+) euros\.$", sentence.english)
            assert number is not None
            assert (" cost " in sentence.english) == is_plural
            assert sentence.spanish.endswith(f" {NUMBERS[number[1]]} euros.")


def test_one_o_clock_is_singular_and_every_other_hour_plural() -> None:
    sentences = [sentence for sentence in drawn(clock, 1500) if not sentence.english.endswith("?")]
    assert any("one" in sentence.english for sentence in sentences)
    for sentence in sentences:
        is_one = re.search(r"\bone\b", sentence.english) is not None
        assert (" la una" in sentence.spanish) == is_one
        if sentence.english.startswith(("It is", "It's")):
            assert sentence.spanish.startswith("Es la una" if is_one else "Son las ")
        assert (" to " in sentence.english) == (" menos " in sentence.spanish)
        assert ("half past" in sentence.english) == (" y media" in sentence.spanish)


def test_the_weather_is_negated_and_asked_about_in_both_languages() -> None:
    for sentence in drawn(weather):
        is_denied = bool(re.match(r"It (is not|isn't) ", sentence.english))
        assert sentence.spanish.startswith("No ") == is_denied
        assert sentence.english.endswith("?") == sentence.spanish.startswith("¿")
        assert ("very" in sentence.english) == ("much" in sentence.spanish)
        assert ("rain" in sentence.english) == ("lloviendo" in sentence.spanish)


def test_a_name_takes_llamarse() -> None:
    clitics = {"My": "me llamo", "Your": "te llamas", "His": "se llama", "Her": "se llama"}
    for sentence in drawn(naming):
        owner = re.match(r"(My|Your|His|Her) name ", sentence.english)
        assert (clitics[owner[1]] if owner else "se llama") in sentence.spanish.lower()
        assert (" is not " in sentence.english or " isn't " in sentence.english) == (
            " no " in f" {sentence.spanish.lower()}"
        )


def test_possessives_agree_in_number() -> None:
    for sentence in drawn(whose):
        is_plural = sentence.english.endswith(" are these?")
        assert is_plural or sentence.english.endswith(" is this?")
        assert sentence.spanish.startswith("¿De quién son est" if is_plural else "¿De quién es est")


def test_or_is_u_before_ocho_and_the_numbers_follow_each_other() -> None:
    choices = drawn(either)
    assert any(" or eight " in sentence.english for sentence in choices)
    for sentence in choices:
        low, high = re.search(r" (\w+) or (\w+) ", sentence.english).groups()  # type: ignore[union-attr]
        assert VALUES[low] + 1 == VALUES[high]
        assert f" {NUMBERS[low]} {'u' if high == 'eight' else 'o'} {NUMBERS[high]} " in sentence.spanish
