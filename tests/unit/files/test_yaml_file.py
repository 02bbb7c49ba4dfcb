"""YAML within bounds: values as people mean them, and every fault with its kind and its place."""

from typing import Any

import pytest

from clearhead.files.reading import utf8_text
from clearhead.files.yaml_file import FaultKind, RepeatedKey, YamlFileError, YamlLimits, load_yaml

SMALL, FAST = YamlLimits(max_depth=5, max_nodes=31), YamlLimits(max_depth=5, max_nodes=31, is_fast=True)
both = pytest.mark.parametrize("limits", [SMALL, FAST], ids=["small", "fast"])


def fault_of(text: str, limits: YamlLimits, raw_key: str = "") -> YamlFileError:
    with pytest.raises(YamlFileError) as error:
        load_yaml(text, limits, raw_key)
    return error.value


@both
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("+3", 3),
        ("2.", 2.0),
        ("-.5", -0.5),
        (".inf", float("inf")),
        ("-.inf", float("-inf")),
        ("true", True),
        ("~", None),
        ("no", "no"),
        ("on", "on"),
        ("007", "007"),
        ("12:30", "12:30"),
        ("0x1f", "0x1f"),
        ("1_000", "1_000"),
        ("2024-01-01", "2024-01-01"),
        ("[&a {b: 2, c: 3}, {<<: *a, c: 5}]", [{"b": 2, "c": 3}, {"b": 2, "c": 5}]),
    ],
)
def test_only_what_looks_like_a_number_or_true_or_null_is_one(text: str, value: Any, limits: YamlLimits) -> None:
    assert load_yaml(text, limits) == value


@both
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "empty"),
        ("# only words\n", "empty"),
        ("a: &a [*a]", "depth"),
        ("[[[[[[1]]]]]]", "depth"),
        ("[" * 9000, "depth"),
        ("- " * 9000, "depth"),
        ("[&a [1, 1, 1, 1, 1, 1], &b [*a, *a], [*b, *b]]", "aliases"),
        ("a: [1", "syntax"),
        ("a: 1\n---\nb: 2\n", "syntax"),
        ("a: \0", "syntax"),
        ("!!python/object/apply:os.system ['true']", "tag"),
        ("? [1, 2]\n: 3\n", "tag"),
        ("!!int abc", "value"),
        ("9" * 5000, "value"),
    ],
)
def test_a_fault_has_its_kind(text: str, kind: FaultKind, limits: YamlLimits) -> None:
    assert fault_of(text, limits).kind == kind


@both
def test_a_fault_has_its_place(limits: YamlLimits) -> None:
    fault = fault_of("a: 1\nb: !!python/none x\n", limits)
    assert (fault.line, fault.column) == (2, 4)
    assert "could not determine a constructor" in fault.problem
    assert fault_of("a: [1\nb: 2\n", limits).line == 2


@both
def test_all_repeated_keys_are_reported_with_both_of_their_lines(limits: YamlLimits) -> None:
    fault = fault_of("a: 1\nb: {c: 1,\n c: 2}\na: 3\na: 5\n", limits)
    assert fault.kind == "repeated"
    assert fault.repeated == (RepeatedKey("a", 4, 1), RepeatedKey("a", 5, 1), RepeatedKey("c", 3, 2))


@both
def test_keys_that_were_repeated_before_another_fault_are_reported_with_it(limits: YamlLimits) -> None:
    fault = fault_of("a: 1\na: 2\nb: [[[[[[1]]]]]]\n", limits)
    assert (fault.kind, fault.repeated) == ("depth", (RepeatedKey("a", 2, 1),))


@both
def test_under_the_raw_key_every_scalar_keeps_its_text(limits: YamlLimits) -> None:
    text = "a: 0.50\nb: [0.50, ~, {1: 1.0}]\n"
    assert load_yaml(text, limits, "b") == {"a": 0.5, "b": ["0.50", None, {"1": "1.0"}]}
    assert load_yaml(text, limits, "c") == {"a": 0.5, "b": [0.5, None, {1: 1.0}]}
    fault = fault_of("a: 1\nb:\n  ? [1]\n  : 2\n", limits, "b")
    assert (fault.kind, fault.line) == ("key", 3)


def test_text_is_utf8_with_or_without_a_byte_order_mark() -> None:
    assert utf8_text(b"\xef\xbb\xbfa: \xc3\xbc") == utf8_text("a: ü".encode()) == "a: ü"
    with pytest.raises(ValueError, match=r"^line 2 is not UTF-8 text\. Save the file as UTF-8\.$"):
        utf8_text(b"a: 1\nb: \xff\n")
