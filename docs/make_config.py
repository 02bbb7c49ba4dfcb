"""Write docs/guide/config.md: every setting of a training config, read from the models that validate it.

Run it after a change of a setting: python docs/make_config.py. A test compares the page.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clearhead.model.config import PRESETS
from clearhead.settings import FieldHelp, shown
from clearhead.training.config_checks import DECIDED
from clearhead.training.config_help import config_fields

PAGE = Path(__file__).parent / "guide" / "config.md"
HEAD = """\
# Every setting of a config

Written by `python docs/make_config.py` from the models that validate a config; `clearhead train --help-config` prints
the same. Give only what differs from the default. On the command line: `--set training.rate=3e-4`.

A config is YAML. Paths of files start from the folder that the command is run in. `null` is off, or left out. An
unknown name, a value out of range and settings that do not fit each other are told together, before any work is done.
What the sections are for is in [Train a translator](train.md#the-sections-of-a-config).
"""
SECTIONS = {
    "": ("The whole", "Beside these there are the sections below."),
    "model": ("model", "Differences from the preset; a default here is what holds where the preset says nothing."),
    "data": ("data", "What holds for all corpora."),
    "data.train.0": (
        "data.train",
        "A list: each entry is one corpus. On the command line the first is `data.train.0`.",
    ),
    "data.valid": ("data.valid", "One corpus, with the same settings as an entry of `data.train`."),
    "text": ("text", "How text becomes ids."),
    "training": ("training", "How the weights are learned. One of `steps` and `epochs` is needed."),
    "validation": ("validation", "When and by what training is judged."),
}


def page() -> str:
    """Return the page."""
    fields = list(config_fields())
    placed = {section: [field for field in fields if _section(field.path) == section] for section in SECTIONS}
    assert sum(map(len, placed.values())) == len(fields), "a setting has no section on the page"
    parts = [HEAD]
    for section, (title, sentence) in SECTIONS.items():
        parts += [f"## {title}\n", f"{sentence}\n"]
        if section == "model":
            parts += list(_presets())
        if section != "data.valid":
            parts += [*_table(placed[section], section), ""]
    return "\n".join(parts).rstrip() + "\n"


def _section(path: str) -> str:
    """Return the longest section that a setting stands in; a section itself stands in the one around it."""
    inside = [section for section in SECTIONS if section and path.startswith(f"{section}.")]
    return max(inside, key=len, default="")


def _presets() -> Iterator[str]:
    yield "| preset | differences from the defaults |\n|---|---|"
    for name, changes in PRESETS.items():
        yield f"| `{name}` | {', '.join(f'`{key}: {value}`' for key, value in changes.items())} |"
    yield f"\n{', '.join(f'`{name}`' for name in DECIDED)} follow from the task, the tokeniser and the data.\n"


def _table(fields: list[FieldHelp], section: str) -> Iterator[str]:
    yield "| setting | default | takes | meaning |\n|---|---|---|---|"
    for field in fields:
        name = field.path.removeprefix(f"{section}.")
        default = "needed" if field.is_needed else f"`{_default(field.default)}`"
        yield f"| `{name}` | {default} | {_safe(field.kind)} | {_safe(field.description)} |"


def _default(value: Any) -> str:
    if isinstance(value, str):
        return value
    return str(list(value)) if isinstance(value, tuple) else shown(value)


def _safe(text: str) -> str:
    for letter in "|_*[<":
        text = text.replace(letter, {"<": "&lt;"}.get(letter, f"\\{letter}"))
    return text.replace(">>", "&gt;&gt;")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
