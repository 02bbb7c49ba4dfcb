"""The model card of an export: what it is, how to use it with the program it is for, and its certificate."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clearhead.errors import ConfigError, printable
from clearhead.export.certificate import Certificate, certificate_markdown
from clearhead.export.targets import TITLES, ExportFormat
from clearhead.files.reading import read_file, utf8_text
from clearhead.formats.built_in import DESCRIPTION, ModelDescription, read_description
from clearhead.formats.model_folder import ModelFolder, load_statistics, load_vocabularies
from clearhead.text.special import language_tag
from clearhead.text.tokeniser import FOLDER

CARD, LICENCE = "README.md", "LICENSE"
_MAX_LICENCE = 200  # characters of the name of a licence
# the names that model hubs know; any other is `other` with its own name
_HUB_LICENCES = (
    *("apache-2.0", "mit", "bsd-3-clause", "gpl-3.0", "lgpl-3.0", "mpl-2.0", "cc0-1.0", "unlicense"),
    *("cc-by-2.0", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-4.0"),
)
_CTRANSLATE2 = """```python
import ctranslate2
import sentencepiece

source = sentencepiece.SentencePieceProcessor("{source}")
target = sentencepiece.SentencePieceProcessor("{target}")
translator = ctranslate2.Translator(".")
pieces = {tag}source.encode("{example}", out_type=str) + ["{eos}"]
translation = translator.translate_batch([pieces], beam_size=1)[0].hypotheses[0]
print(target.decode(translation))
```"""
_ONNX = """```python
import json

import numpy
import onnxruntime
import sentencepiece

config = json.load(open("export.json", encoding="utf-8"))["model"]
encoder = onnxruntime.InferenceSession("encoder.onnx")
step = onnxruntime.InferenceSession("step.onnx")
pieces = sentencepiece.SentencePieceProcessor("{source}")

ids = {tag_id}pieces.encode("{example}") + [config["eos"]]
memory = encoder.run(None, {{"source": numpy.array([ids])}})
inputs = dict(zip([output.name for output in encoder.get_outputs()], memory))
past = [value for value in step.get_inputs() if value.name.startswith("past")]
for value in past:  # (sentences, hypotheses, heads, tokens so far, width of a head)
    inputs[value.name] = numpy.zeros((1, 1, value.shape[2], 0, value.shape[4]), dtype="float32")
token, translation = config[config["start"]], []
while len(translation) < 100:
    if any(value.name == "length" for value in step.get_inputs()):
        inputs["length"] = numpy.array(len(translation))
    logits, *new = step.run(None, {{**inputs, "tokens": numpy.array([[token]])}})
    inputs |= {{value.name: array for value, array in zip(past, new)}}
    token = int(logits[0, 0].argmax())
    if token == config["eos"]:
        break
    translation.append(token)
print(pieces.decode(translation))
```"""
_MARIAN = """```python
from transformers import MarianMTModel, MarianTokenizer

tokenizer = MarianTokenizer.from_pretrained(".")
model = MarianMTModel.from_pretrained(".")
batch = tokenizer(["{tag_text}{example}"], return_tensors="pt")
print(tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True)[0])
```"""
_CLEARHEAD = """```python
from clearhead import Translator

print(Translator.load(".").translate(["{tag_text}{example}"])[0].text)
```"""
_SNIPPETS: dict[ExportFormat, str] = {
    "ctranslate2": _CTRANSLATE2, "onnx": _ONNX, "marian": _MARIAN, "hub-folder": _CLEARHEAD,
}  # fmt: skip


def write_card(
    model: ModelFolder, folder: Path, certificate: Certificate, example: str, terms: "LicenceTerms | None"
) -> None:
    """Write README.md, and LICENSE if the licence is known."""
    if terms is not None:
        (folder / LICENCE).write_text(terms.text, encoding="utf-8")
    (folder / CARD).write_text(_card(model, certificate, example, terms), encoding="utf-8")


@dataclass(frozen=True)
class LicenceTerms:
    """The licence of the weights: its name, and the text of the file LICENSE."""

    name: str
    text: str


def _description(model: ModelFolder) -> ModelDescription | None:
    path = model.folder / DESCRIPTION
    return read_description(path) if path.is_file() else None


def licence_terms(model: ModelFolder, target: ExportFormat, licence: str | None) -> LicenceTerms | None:
    """Return the licence of the weights, or raise ConfigError if it is needed and not known.

    `licence` is a name, or the name of a file with its text; by default, it is that of a built-in model.
    """
    description = _description(model)
    if licence is not None and len(licence) > _MAX_LICENCE:
        raise ConfigError(
            f"the name of the licence has {len(licence)} characters. Give a short name, or a file.",
            options=("licence",),
        )
    if licence is not None and Path(licence).is_file():
        text = utf8_text(read_file(Path(licence)))
        return LicenceTerms(next((line.strip() for line in text.splitlines() if line.strip()), "other"), text)
    name = licence or (description.licence if description is not None else None)
    if name is None or not name.strip():
        if target == "hub-folder":
            raise ConfigError(
                "the licence of the weights is not known, and a hub needs it. State it, such as CC-BY-4.0, or give a "
                "file with its text; the licences of the training text decide what is allowed.",
                options=("licence",),
            )
        return None
    attribution = description.attribution if description is not None else ""
    return LicenceTerms(name, f"The weights in this folder are licensed under {name}.\n{attribution}".strip() + "\n")


def _card(model: ModelFolder, certificate: Certificate, example: str, terms: LicenceTerms | None) -> str:
    target = certificate.target
    title = model.vocabularies.resolve().name
    parts = [_front_matter(model, terms)] if target == "hub-folder" else []
    parts += [
        f"# {title}: {TITLES[target]}, {certificate.precision}" if target != "hub-folder" else f"# {title}",
        f"Exported by clearhead {certificate.clearhead_version} from the model {certificate.model}.",
    ]
    if terms is not None:
        parts.append(f"Licence of the weights: {printable(terms.name)}.")
    parts += ["## How to use it"]
    if target == "onnx" and load_vocabularies(model).source.ids is not None:
        parts.append("The pieces of a text are those of `source.spm`, and their ids are in `vocab.json`.")
    else:
        parts += ["Run this in the folder:", _snippet(model, target, example)]
    if target in ("ctranslate2", "hub-folder"):
        parts.append("With clearhead, `clearhead translate -m FOLDER` opens the folder.")
    parts.append(re.sub(r"^# ", "## ", certificate_markdown(certificate), count=1).rstrip())
    own = _own_card(model)
    if own:
        parts += ["## The model", own]
    return "\n\n".join(parts) + "\n"


def _own_card(model: ModelFolder) -> str:
    """Return the text of the model's own card, without front matter and title, two levels deeper."""
    path = next((place / CARD for place in (model.folder, model.vocabularies) if (place / CARD).is_file()), None)
    if path is None:
        return ""
    text = utf8_text(read_file(path))
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    text = re.sub(r"\A\s*# .*\n", "", text)
    return re.sub(r"^(#+) ", r"#\1 ", text, flags=re.MULTILINE).strip()


def _front_matter(model: ModelFolder, terms: LicenceTerms | None) -> str:
    """Return the header that model hubs read."""
    lines = ["---"]
    if terms is not None:
        key = terms.name.lower().replace(" ", "-")
        lines += (
            [f"license: {key}"] if key in _HUB_LICENCES else ["license: other", f"license_name: {_yaml(terms.name)}"]
        )
    languages = _languages(model)
    if languages:
        lines += ["language:", *(f"- {_yaml(language)}" for language in languages)]
    return "\n".join([*lines, "library_name: clearhead", "pipeline_tag: translation", "---"])


def _yaml(text: str) -> str:
    return '"' + printable(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _languages(model: ModelFolder) -> Sequence[str]:
    description = _description(model)
    if description is not None:
        return list(dict.fromkeys(code for own in description.directions for code in (own.source, own.target)))
    source, tags = load_statistics(model).source_language, load_vocabularies(model).languages
    return [code for code in (source, *tags) if code]


def _snippet(model: ModelFolder, target: ExportFormat, example: str) -> str:
    vocabularies = load_vocabularies(model)
    is_one = vocabularies.source is vocabularies.target
    has_folder = (model.vocabularies / FOLDER).is_dir()
    place = f"{FOLDER}/" if has_folder else ""
    source, goal = ("joint.spm", "joint.spm") if is_one and has_folder else ("source.spm", "target.spm")
    tags = vocabularies.source.tags
    language = model.language if model.language in tags else next(iter(tags), None)
    tag = "" if language is None else language_tag(language)
    return _SNIPPETS[target].format(
        source=f"{place}{source}",
        target=f"{place}{goal}",
        example=printable(example).replace("\\", "\\\\").replace('"', '\\"'),
        tag=f'["{tag}"] + ' if tag else "",
        tag_id=f'[pieces.piece_to_id("{tag}")] + ' if tag else "",
        tag_text=f"{tag} " if tag else "",
        eos=vocabularies.source.pieces([vocabularies.source.eos])[0],
    )
