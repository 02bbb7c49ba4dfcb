"""What clearhead no longer has, and what to use instead. Until 0.1.0, whoever still asks for it gets one sentence."""

from collections.abc import Mapping

# A verb, a flag, `verb flag`, a flag with its value, a setting, `setting: value`, the suffix of a file or an address of
# the server. A name that clearhead has again, such as --ray of another verb, is not looked up.
_INSTEAD: Mapping[str, str] = {
    "--buckets": "Score parts of the file on their own.",
    "--no-buckets": "Leave it out: scores by sentence length are not computed any more.",
    "--engine onnx": "Use the engine numpy or ctranslate2; an export for ONNX is for onnxruntime.",
    "engine: onnx": "Use the engine numpy or ctranslate2; an export for ONNX is for onnxruntime.",
    "score --ray": "Write the pairs as lines and score the parts.",
    "--parquet": "Write the texts as lines.",
    ".parquet": "Write the texts as lines.",
    "training.parallel": "The models of clearhead fit one device. To shard larger ones, use torchtitan.",
    "training.on_divergence": "A run that diverges stops. Resume it from its last good checkpoint with a lower rate.",
    "prune --penalty": "Prune the least important heads first with --keep.",
    "classify --explain": "'clearhead explain' prints how much each word contributed to each label.",
    "prune --updates": "Prune the least important heads first with --keep, and train on with --fine-tune.",
    "--coverage-penalty": "Use --length-penalty and --no-repeat.",
    "coverage_penalty": "Use length_penalty and no_repeat.",
    ".po": "Translate it in a PO editor.",
    ".pot": "Translate it in a PO editor.",
    "--all-messages": "Translate .po files in a PO editor.",
    "/translator/translate": "Use /translate or /v1/translate.",
    "practise": "'clearhead quiz KIND --format html' writes a sheet that marks itself.",
    "/practice": "The page Exercises draws sheets that mark themselves, as 'clearhead quiz KIND --format html' does.",
    "--metric comet": "Score the written translations with unbabel-comet.",
    "--comet-model": "Score the written translations with unbabel-comet.",
    "quiz --format qti": "'clearhead quiz KIND --format html' writes a sheet that marks itself.",
    "film": "See the curves with 'clearhead plot', and translate with each checkpoint.",
    "pinned": "See the curves with 'clearhead plot', and translate with each checkpoint.",
    "what-if": "Use clearhead.explain.what_if in Python, or the page Why of 'clearhead serve'.",
    "--alternatives": "--prefix continues from a word, and --n-best lists whole translations.",
    "translate --choices": "--prefix continues from a word, and --n-best lists whole translations.",
    "/v1/alternatives": "Give a prefix to /v1/translate to continue from a word.",
    "/v1/files": "Use /translate_file.",
    "--continuations": "Explain another continuation by a call of its own, with --prefix.",
    "continuations": "Explain another continuation by a request of its own, with prefix.",
}


def removed(*names: str) -> str | None:
    """Return a sentence about the first of these names that was removed, or None."""
    for name in names:
        if name in _INSTEAD:
            return f"{name} was removed from clearhead. {_INSTEAD[name]}"
    return None
