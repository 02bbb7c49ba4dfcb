"""Add command-line flags to a library error, which names parameters but no flags."""

from collections.abc import Mapping, Sequence

from typer.core import TyperCommand


def with_flags(message: str, options: Sequence[str] | Mapping[str, str], command: TyperCommand) -> str:
    """Return the message with the flags of `options` before its last full stop; unknown names are omitted.

    A sequence lists alternatives, `(--run, --resume)`; a mapping, flags to use together, `(--resume --run runs/my)`.
    """
    flags = _flags_of(command)
    if isinstance(options, Mapping):
        text = " ".join(f"{flags[name]} {value}".rstrip() for name, value in options.items() if name in flags)
    else:
        text = ", ".join(flags[name] for name in options if name in flags)
    if not text:
        return message
    return f"{message[:-1]} ({text})." if message.endswith(".") else f"{message} ({text})"


def _flags_of(command: TyperCommand) -> dict[str, str]:
    """Return the first long flag of every option of a verb, by parameter name."""
    flags = {}
    for parameter in command.params:
        long_flags = [flag for flag in parameter.opts if flag.startswith("--")]
        if parameter.name and long_flags:
            flags[parameter.name] = long_flags[0]
    return flags
