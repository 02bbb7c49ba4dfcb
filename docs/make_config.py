"""The page guide/config.md: all settings of a training config, read from the classes that validate them."""

from collections.abc import Iterator
from typing import Any

from clearhead.model.architecture import ALL_PRESETS
from clearhead.settings import FieldHelp, shown
from clearhead.training.config_checks import DECIDED
from clearhead.training.config_help import config_fields

HEAD = """\
# Configuration reference

This page lists all settings of a training config. `clearhead train --help-config` prints the same list.

A config is a YAML file with the settings that differ from their defaults. To change a setting for one run, use
`--set training.rate=3e-4` on the command line. File paths are relative to the current folder. `null` means off or not
set. If a config has errors (unknown names, values out of range, settings that contradict each other), clearhead lists
all of them and stops before the training starts. [Train a translator](train.md#the-sections-of-a-config) shows
examples.
"""
SECTIONS = {
    "": ("Top level", "Each section of a config, such as `training`, has its own table below."),
    "model": (
        "model",
        "These settings override the preset. A default in the second table applies only if the preset does not set a "
        "value: with the default preset `tiny`, `d_model` is 128, not 512. In a new translation model, the default of "
        "`dropout` is 0.1 to 0.3: more if little text is read often.",
    ),
    "data": ("data", "Settings for all corpora."),
    "data.train.0": (
        "data.train",
        "A list of corpora. On the command line, the first one is `data.train.0`.",
    ),
    "data.valid": ("data.valid", "One corpus, with the same settings as an entry of `data.train`."),
    "data.test": ("data.test", "One corpus, with the same settings as an entry of `data.train`."),
    "text": ("text", "How text is converted to token ids."),
    "training": ("training", "How the model is trained. Either `steps` or `epochs` is required."),
    "validation": ("validation", "How often and by which metric the model is validated."),
}
# Types as error messages describe them, and as the page does.
SHORT = {
    "true or false, or null": "true, false or null",
    "a list of groups of settings": "list of sections",
    "a group of settings": "section",
    "a list of": "list of",
    "a whole number": "integer",
    "a number": "number",
    " of at least ": " ≥ ",
    " and at most ": " and ≤ ",
    " above ": " > ",
    " below ": " < ",
    "one of ": "",
    ", or null": " or null",
}
FOOT = """\
This page is generated from the classes that validate a config.
"""


def page() -> str:
    """Return the page."""
    fields = list(config_fields())
    placed = {section: [field for field in fields if _section(field.path) == section] for section in SECTIONS}
    assert sum(map(len, placed.values())) == len(fields), "a setting has no section on the page"
    parts = [HEAD]
    placed[""] += [_section_help(section) for section in ("text", "training", "validation")]
    for section, (title, sentence) in SECTIONS.items():
        parts += [f"## {title}\n", f"{sentence}\n"]
        if section == "model":
            parts += list(_presets())
        if section not in ("data.valid", "data.test"):
            parts += [*_table(placed[section], section), ""]
    return "\n".join([*parts, FOOT])


def _section_help(section: str) -> FieldHelp:
    """Return the row of a section that is not a setting itself because all its settings have defaults."""
    sentence = SECTIONS[section][1].partition(". ")[0].removesuffix(".")
    return FieldHelp(
        section, "a group of settings", (), {}, is_needed=False, description=sentence[0].lower() + sentence[1:]
    )


def _section(path: str) -> str:
    """Return the innermost section that contains a setting; a section is in the one around it."""
    inside = [section for section in SECTIONS if section and path.startswith(f"{section}.")]
    return max(inside, key=len, default="")


def _presets() -> Iterator[str]:
    yield "| preset | architecture | settings |\n|---|---|---|"
    for architecture, presets in ALL_PRESETS.items():
        for name, changes in presets.items():
            settings = ", ".join(f"`{key}: {value}`" for key, value in changes.items())
            yield f"| `{name}` | {architecture} | {settings} |"
    decided = ", ".join(f"`{name}`" for name in DECIDED)
    yield f"\n{decided} cannot be set: they follow from the task, the tokeniser and the data.\n"


def _table(fields: list[FieldHelp], section: str) -> Iterator[str]:
    yield "| setting | default | type | description |\n|---|---|---|---|"
    for field in fields:
        name = field.path.removeprefix(f"{section}.")
        default = "required" if field.is_needed else f"`{_default(field.default)}`"
        yield f"| `{name}` | {default} | {_safe(_short(field.kind))} | {_safe(field.description)} |"


def _default(value: Any) -> str:
    if isinstance(value, str):
        return value
    return str(list(value)) if isinstance(value, tuple) else shown(value)


def _short(kind: str) -> str:
    """Return a type in few words; error messages use the long form."""
    for long, short in SHORT.items():
        kind = kind.replace(long, short)
    return kind


def _safe(text: str) -> str:
    for letter in "|_*[<":
        text = text.replace(letter, {"<": "&lt;"}.get(letter, f"\\{letter}"))
    return text.replace(">>", "&gt;&gt;")
