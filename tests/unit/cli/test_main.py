"""The entry point: closed streams, signals and readers that exit end a command with the right code, in one sentence."""

import io
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from clearhead.cli import main as entry
from clearhead.cli.main import main
from clearhead.errors import ClearheadError


def exit_code(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int | str | None:
    monkeypatch.setattr(sys, "argv", ["clearhead", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code


@pytest.mark.parametrize(
    "arguments",
    [
        ("solve", "leak"),
        ("solve", "leak", "--json"),
        ("solve", "--list"),
        ("solve", "--fields", "positions"),
        ("check", "--list"),
        ("check", "seq2seq-multiplicative"),
        ("experiment",),
        ("train", "--help-config"),
        ("--version",),
        ("--help",),
    ],
    ids=" ".join,
)
def test_a_result_is_never_lost_when_standard_output_is_closed(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    errors = io.StringIO()
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", errors)
    assert exit_code(monkeypatch, *arguments) == 2
    sentence = "clearhead: standard output is closed, so the result would be lost. Write it to a file"
    assert errors.getvalue().startswith(sentence)
    assert errors.getvalue().count("\n") == 1


def test_the_work_is_done_when_standard_error_is_closed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert exit_code(monkeypatch, "solve", "leak") == 0
    assert "masked" in capsys.readouterr().out
    monkeypatch.setattr(sys, "stderr", None)
    assert exit_code(monkeypatch, "solve", "nothing") == 2


@pytest.mark.parametrize("verb", ["solve", "check"])
def test_a_closed_standard_input_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert exit_code(monkeypatch, verb, "-") == 2
    assert "is closed. Give a file" in capsys.readouterr().err


def test_a_reader_that_exits_ends_the_command_quietly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        assert exit_code(monkeypatch, "solve", "leak") == 0
    assert capsys.readouterr().err == ""


def test_sigterm_ends_a_command_like_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    is_restored = []

    def run() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            threading.Event().wait(60)
        except KeyboardInterrupt:
            is_restored.append(True)
            raise SystemExit(130) from None

    monkeypatch.setattr(entry, "_run", run)
    before = signal.getsignal(signal.SIGTERM)
    assert exit_code(monkeypatch) == 143
    assert is_restored == [True]
    assert signal.getsignal(signal.SIGTERM) == before


def test_sigterm_ends_a_forked_child_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> None:
        child = os.fork()
        if not child:
            os.kill(os.getpid(), signal.SIGTERM)
            os._exit(5)
        _, status = os.waitpid(child, 0)
        raise SystemExit(os.waitstatus_to_exitcode(status))

    monkeypatch.setattr(entry, "_run", run)
    assert exit_code(monkeypatch) == -signal.SIGTERM


@pytest.mark.parametrize(("kind", "code"), [(ClearheadError, 2), (RuntimeError, 3)])
def test_a_message_is_shortened_and_cannot_control_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: type[Exception], code: int
) -> None:
    def run() -> None:
        raise kind("\x1b[31m" + "long " * 10**6 + "what to do.")

    monkeypatch.setattr(entry, "build_app", lambda verbs: run)
    monkeypatch.setattr(entry, "_message", lambda problem, app, name: str(problem))
    assert exit_code(monkeypatch) == code
    message = capsys.readouterr().err
    assert "\x1b" not in message
    assert "what to do." in message
    assert len(message) < 5000


@pytest.mark.parametrize("arguments", [("solve", "input.yaml"), ("check", "input.yaml")])
def test_output_is_not_appended_to_the_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("input.yaml").write_text("problem: exam-self-attention\nwritten: {Q: [[1, 2]]}\n")
    before = Path("input.yaml").read_bytes()
    with Path("input.yaml").open("a") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        assert exit_code(monkeypatch, *arguments) == 2
    assert "standard output is the same file as input.yaml, which is read." in capsys.readouterr().err
    assert Path("input.yaml").read_bytes() == before


def test_a_file_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run() -> None:
        raise PermissionError(13, "Permission denied", "model/tokeniser")

    monkeypatch.setattr(entry, "build_app", lambda verbs: run)
    assert exit_code(monkeypatch) == 2
    assert capsys.readouterr().err == "clearhead: model/tokeniser cannot be used: Permission denied.\n"
