"""`clearhead VERB`: assemble the verbs, and turn errors into a message and an exit code.

Exit codes: 0 success, 1 an error was found or a requirement was not met, 2 invalid input, 3 a bug, 130 interrupted
(143 by SIGTERM).
"""

import io
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import zip_longest
from keyword import iskeyword
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from clearhead import __version__
from clearhead.cli.flags import with_flags
from clearhead.errors import ClearheadError, is_out_of_memory, not_installed, printable
from clearhead.files.standard_streams import discard_output, replace_closed_streams
from clearhead.retired import removed

_GROUPS = {
    "Exercises": ("solve", "check", "quiz", "experiment"),
    "Translation and other tasks": ("translate", "serve", "models", "classify", "generate"),
    "Training and evaluation": ("train", "evaluate", "score", "plot", "prune", "export", "import"),
    "Looking inside": ("explain", "heads"),
}
VERBS = tuple(verb for verbs in _GROUPS.values() for verb in verbs)
# The extra of a verb that says which of these packages is missing.
_EXTRAS = {
    **dict.fromkeys(("translate", "classify", "generate", "score", "explain", "heads"), "translate"),
    **dict.fromkeys(("train", "evaluate", "prune", "export", "import"), "train"),
    "serve": "serve",
}
_PACKAGES = {
    *("torch", "safetensors", "sentencepiece", "sacrebleu"),
    *("fastapi", "uvicorn", "starlette", "multipart", "prometheus_client", "lingua", "httptools"),
}
_MAX_LINE = 4000  # characters of a line of a message
_INTERRUPTED = 130
_TAGLINE = (
    "A Transformer toolkit that shows its calculations. It solves attention exercises, checks students' solutions, and "
    "trains and runs translation models."
)
_NO_MEMORY = (
    "there is not enough memory for this. Close other programs, or use a smaller model, smaller batches or "
    "shorter texts."
)


class _UntypedFlags:
    """Omits the type of flags from the help: with `--json <bool>`, a flag seems to need a value."""

    def get_params(self, ctx: Any) -> list[Any]:
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]  # a mixin for the two classes below
        for parameter in parameters:
            if getattr(parameter, "is_flag", False) and parameter.metavar is None:
                parameter.metavar = ""
        return parameters


class _Verb(_UntypedFlags, TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _refuse_removed_flags(self, args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            outcome = super().invoke(ctx)
            sys.stdout.flush()
            return outcome
        except ModuleNotFoundError as missing:
            extra = _EXTRAS.get(str(self.name))
            if extra is None or missing.name not in _PACKAGES:
                raise
            raise ClearheadError(not_installed(str(self.name), str(missing.name), extra)) from None
        except BrokenPipeError:  # the reader of our output has exited, as with `| head`
            discard_output()
            raise typer.Exit from None


class _Group(_UntypedFlags, TyperGroup):
    pass


def _refuse_removed_flags(verb: TyperCommand, arguments: Sequence[str]) -> None:
    """Raise ClearheadError for a flag, or a value of a flag, that clearhead had and has no longer."""
    flags = {flag for option in verb.params for flag in option.opts}
    for argument, next_argument in zip_longest(arguments, arguments[1:], fillvalue=""):
        if argument == "--":
            return
        flag, _, value = argument.partition("=")
        end = f" {value or next_argument}" if flag in flags else ""
        sentence = removed(f"{verb.name} {flag}{end}", f"{flag}{end}") if flag.startswith("--") else None
        if sentence is not None:
            raise ClearheadError(sentence)


def build_app(verbs: Sequence[str] = VERBS) -> typer.Typer:
    """Return the command with the given verbs; only their files are imported."""
    app = typer.Typer(
        name="clearhead",
        cls=_Group,
        help=_TAGLINE,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(options)
    for verb in verbs:
        group = next(group for group, names in _GROUPS.items() if verb in names)
        name = verb.replace("-", "_")  # of the file and its function
        name += "_" if iskeyword(name) else ""
        app.command(verb, cls=_Verb, rich_help_panel=group)(getattr(import_module(f"clearhead.cli.{name}"), name))
    return app


def __getattr__(name: str) -> Any:
    """Build the command with all verbs when `app` is first used."""
    if name == "app":
        return build_app()
    raise AttributeError(f"module 'clearhead.cli.main' has no attribute '{name}'")


def _version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"clearhead {__version__}")
        raise typer.Exit


def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the full traceback of an error.")] = False,
) -> None:
    """Declare the options of `clearhead` itself."""


def main() -> None:
    """Run the command line."""
    replace_closed_streams()
    _prepare_streams()
    with _termination() as signals:
        try:
            _run()
        except SystemExit as end:
            raise SystemExit(128 + signals[0] if signals and end.code == _INTERRUPTED else end.code) from None


def _run() -> None:
    # Also read directly from the arguments, to cover errors that are raised while options are parsed.
    is_debug = "--debug" in sys.argv[1:]
    name = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    app = build_app((name,) if name in VERBS else VERBS)
    try:
        _refuse_removed_verb(name)
        app()
    except ClearheadError as problem:
        if is_debug:
            raise
        lines = [_shown(line) for line in _message(problem, app, name).split("\n")]
        typer.echo("\n".join(["clearhead: " + lines[0], *lines[1:]]), err=True)
        raise SystemExit(2) from None
    except OSError as problem:
        if is_debug:
            raise
        discard_output()
        fact = "the output cannot be written" if problem.filename is None else f"{problem.filename} cannot be used"
        reason = _shown(f"{fact}: {problem.strerror or problem}.")
        typer.echo(f"clearhead: {_NO_MEMORY if is_out_of_memory(problem) else reason}", err=True)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        raise SystemExit(_INTERRUPTED) from None
    except Exception as fault:
        if is_debug:
            raise
        if is_out_of_memory(fault):
            typer.echo(f"clearhead: {_NO_MEMORY}", err=True)
            raise SystemExit(2) from None
        description = _shown(f"{type(fault).__name__}: {fault}")
        typer.echo(
            f"clearhead: this is a bug in clearhead, not a mistake of yours: {description}. "
            "Run it again as 'clearhead --debug …' and report what it prints.",
            err=True,
        )
        raise SystemExit(3) from None


def _refuse_removed_verb(name: str) -> None:
    sentence = None if name in VERBS else removed(name)
    if sentence is not None:
        raise ClearheadError(sentence)


@contextmanager
def _termination() -> Iterator[list[int]]:
    """Treat SIGTERM like Ctrl-C, so that the terminal is restored and a job can be resumed; yield the signals."""
    signals: list[int] = []
    process = os.getpid()

    def stop(number: int, frame: object) -> None:
        if os.getpid() != process:  # a forked child ends at once
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        signals.append(number)
        raise KeyboardInterrupt

    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield signals
        return
    signal.signal(signal.SIGTERM, stop)
    try:
        yield signals
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _shown(line: str) -> str:
    """Return a line of a message for the terminal: it can quote a file, which may contain escapes or be very long."""
    if len(line) > _MAX_LINE:
        line = f"{line[: _MAX_LINE // 2]} … {line[-_MAX_LINE // 2 :]}"
    return printable(line)


def _message(problem: ClearheadError, app: typer.Typer, name: str) -> str:
    """Return the message of an error, with the verb's flags for the parameters that it names."""
    group = typer.main.get_command(app)
    verb = group.commands.get(name) if isinstance(group, TyperGroup) else None
    return with_flags(str(problem), problem.options, verb) if isinstance(verb, TyperCommand) else str(problem)


def _prepare_streams() -> None:
    """Replace characters that a stream cannot encode; a pipe uses UTF-8 unless PYTHONIOENCODING is set."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            if not stream.isatty() and "PYTHONIOENCODING" not in os.environ:
                stream.reconfigure(encoding="utf-8")
            stream.reconfigure(errors="replace")


if __name__ == "__main__":
    main()
