"""The test of the documentation can fail: wrong outputs, exit codes, options, Python and directives are each reported."""

from pathlib import Path

import pytest

from tests.docs_page import PageError, block_faults, commands, matches, parse
from tests.docs_runner import plain_words, run_in_bash, run_page, without_comment


def failures_of(text: str, folder: Path) -> list[str]:
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    return run_page(page, folder)


def console(*lines: str, directive: str = "") -> str:
    return "\n".join(["# Page", "", *([directive] if directive else []), "```console", *lines, "```", ""])


def test_a_page_that_is_right_has_no_failure(tmp_path: Path) -> None:
    text = console(
        "$ clearhead solve lets-go-encoder --detail results   # the notes' last line",
        "...",
        "$ printf 'a\\nb\\n' > words.txt",
        "$ cat words.txt |",
        "> tail -1",
        "b",
        "$ clearhead --version",
        "clearhead ...",
    )
    assert failures_of(text, tmp_path) == []


def test_a_wrong_output_is_shown_as_a_diff_with_page_line_and_command(tmp_path: Path) -> None:
    (failure,) = failures_of(console("$ printf 'one\\ntwo\\n'", "one", "three"), tmp_path)
    assert failure == (
        "page.md, line 4: $ printf 'one\\ntwo\\n'\n--- expected\n+++ actual\n@@ -1,2 +1,2 @@\n one\n-three\n+two\n"
    )


def test_a_wrong_exit_code_is_reported(tmp_path: Path) -> None:
    (failure,) = failures_of(console("$ clearhead solve no-such-exercise"), tmp_path)
    assert failure.startswith("page.md, line 4: $ clearhead solve no-such-exercise\nexit code 2, not 0:\nclearhead: ")
    (failure,) = failures_of(console("$ clearhead --version", directive="<!-- test: exit 1 -->"), tmp_path)
    assert "exit code 0, not 1" in failure


def test_an_expected_exit_code_passes_and_its_message_is_compared(tmp_path: Path) -> None:
    block = ["$ clearhead solve no-such-exercise", "clearhead: no-such-exercise: ..."]
    assert failures_of(console(*block, directive="<!-- test: exit 2 -->"), tmp_path) == []


def test_every_command_can_have_its_own_exit_code(tmp_path: Path) -> None:
    text = console("$ true", "$ bash -c 'exit 3'", directive="<!-- test: exit 0 3 -->")
    assert failures_of(text, tmp_path) == []
    text = console("$ true", "$ true", "$ true", directive="<!-- test: exit 0 3 -->")
    assert failures_of(text, tmp_path) == ["page.md, line 5: 2 exit codes for 3 commands"]


def test_an_unknown_option_is_reported(tmp_path: Path) -> None:
    (failure,) = failures_of(console("$ clearhead solve lets-go --detial products"), tmp_path)
    assert "exit code 2, not 0" in failure
    assert "--detial" in failure


def test_a_command_that_cannot_run_is_reported_before_a_pipe_too(tmp_path: Path) -> None:
    (failure,) = failures_of(console("$ clearhead solve no-such-exercise | head -1"), tmp_path)
    assert "exit code 2, not 0" in failure
    assert run_in_bash("yes | head -2", tmp_path) == (0, ["y", "y"])


def test_python_shares_a_namespace_and_its_output_is_compared(tmp_path: Path) -> None:
    first, second = "```python\nnumber = 3\n```\n", "```python\nprint(number + 1)\nprint('x')\n```\n"
    assert failures_of(f"{first}\nText.\n\n{second}\n```text\n4\n...\n```\n", tmp_path) == []
    (failure,) = failures_of(f"{first}{second}\n```text\n5\nx\n```\n", tmp_path)
    assert failure.startswith("page.md, line 10: the Python block above\n--- expected")
    assert "-5\n+4\n" in failure


def test_a_text_block_below_other_text_is_not_an_output(tmp_path: Path) -> None:
    assert failures_of("```python\nprint(4)\n```\n\nA tree:\n\n```text\n5\n```\n", tmp_path) == []


def test_a_python_error_is_reported_with_its_line(tmp_path: Path) -> None:
    (failure,) = failures_of("# Page\n\n```python\nnumber = 3\nprint(nubmer)\n```\n", tmp_path)
    assert failure.startswith("page.md, line 5: print(nubmer)\nNameError: name 'nubmer' is not defined")
    (failure,) = failures_of("```python\nnumber = = 3\n```\n", tmp_path)
    assert failure.startswith("page.md, line 2: number = = 3\nSyntaxError")


def test_a_file_of_the_page_exists_for_later_commands(tmp_path: Path) -> None:
    text = "<!-- file: data/my.txt -->\n```text\nझील\n```\n" + console("$ cat data/my.txt", "झील")
    assert failures_of(text, tmp_path) == []
    (failure,) = failures_of("<!-- file: ../my.txt -->\n```text\nx\n```\n", tmp_path)
    assert "not in the folder of the page" in failure


def test_a_skipped_block_and_an_install_are_not_run(tmp_path: Path) -> None:
    assert failures_of(console("$ false", directive="<!-- test: skip it always fails -->"), tmp_path) == []
    assert failures_of(console("$ pip install clearhead", "anything"), tmp_path) == []


def test_added_arguments_go_before_a_comment(tmp_path: Path) -> None:
    text = console("$ clearhead solve lets-go # a comment", "usage...", directive="<!-- test: add --help -->")
    (failure,) = failures_of(text, tmp_path)
    assert "Usage" in failure


@pytest.mark.parametrize("first", ["$ clearhead solve lets-go", "clearhead solve lets-go"])
def test_commands_in_a_plain_block_are_refused(first: str) -> None:
    (fault,) = block_faults(parse(f"```\n{first}\n```\n"))
    assert fault == f"line 2: '{first}' is a command in a block that no test runs. Use console."
    assert block_faults(parse("```\nclearhead: an error message\n```\n")) == []
    assert block_faults(parse("```bash\nls\n```\n")) != []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!-- test: exti 1 -->\n```console\n$ ls\n```", "line 1: 'test: exti 1' is not a directive."),
        ("<!-- test: skip -->\n```console\n$ ls\n```", "line 1: 'test: skip' is not a directive."),
        ("<!-- test: exit 1 -->\nText", "line 1: the directive is not followed by a block"),
        ("<!-- file: x -->", "line 1: the directive is not followed by a block"),
        ("Text\n```console\n$ ls", "line 2: the block has no end"),
    ],
)
def test_a_page_that_breaks_the_convention_is_refused(text: str, message: str) -> None:
    with pytest.raises(PageError) as refused:
        parse(text)
    assert str(refused.value).startswith(message)


def test_a_console_block_without_a_command_is_refused(tmp_path: Path) -> None:
    (failure,) = failures_of(console("clearhead solve lets-go"), tmp_path)
    assert failure == "page.md, line 4: a console block starts with a command, on a line that starts with '$ '"


def test_blocks_inside_lists_lose_their_indent() -> None:
    (block,) = parse("- An item:\n\n  ```console\n  $ ls\n    two\n  ```\n")
    assert block.lines == ("$ ls", "  two")
    assert commands(block)[0].output == ("  two",)


@pytest.mark.parametrize(
    ("expected", "actual", "is_match"),
    [
        (["a", "...", "d"], ["a", "b", "c", "d"], True),
        (["a", "...", "d"], ["a", "d"], True),
        (["a", "...", "d"], ["a", "b", "d", "e"], False),
        (["a ... c"], ["a b c"], True),
        (["a ... c"], ["a", "c"], False),
        (["a  ", ""], ["", "a"], True),
        (["a", "", "b"], ["a", "b"], False),
        (["1.5"], ["105"], False),
        (["..."], [], True),
    ],
)
def test_dots_match_any_text_and_nothing_else_does(expected: list[str], actual: list[str], is_match: bool) -> None:
    assert matches(expected, actual) == is_match


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("clearhead translate 'Where is it?' \"It's $5\"", None),
        ("clearhead translate 'Where is it?' \"It's here\"", ["clearhead", "translate", "Where is it?", "It's here"]),
        ("clearhead a \\\n--b c", ["clearhead", "a", "--b", "c"]),
        ("clearhead a | head", None),
        ("clearhead a > b", None),
        ("ls *.txt", None),
        ("A=1 clearhead a", None),
    ],
)
def test_only_plain_commands_are_run_without_a_shell(command: str, words: list[str] | None) -> None:
    assert plain_words(command) == words


@pytest.mark.parametrize(
    ("command", "rest"),
    [("a b  # it's c", "a b"), ("a '# b' # c", "a '# b'"), ("a#b", "a#b"), ("# c", "")],
)
def test_comments_are_removed(command: str, rest: str) -> None:
    assert without_comment(command) == rest
