"""Add a verb's flags to a message of the library, which names the parameters that can be changed and no flags."""

from collections.abc import Mapping, Sequence

from typer.core import TyperCommand


def with_flags(message: str, options: Sequence[str] | Mapping[str, str], command: TyperCommand) -> str:
    """Return the message with the flags of `options` before its last full stop; a name the verb lacks is left out.

    A sequence names alternatives, `(--run, --resume)`; a mapping is typed as a whole, `(--resume --run runs/my)`.
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
    """Return the first long flag of every option of a verb, by the name of its parameter."""
    flags = {}
    for parameter in command.params:
        long_flags = [flag for flag in parameter.opts if flag.startswith("--")]
        if parameter.name and long_flags:
            flags[parameter.name] = long_flags[0]
    return flags
