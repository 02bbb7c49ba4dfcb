"""Show an explanation, a comparison or a search as plain text for a terminal."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from clearhead.decoding.alignment_text import text_columns
from clearhead.errors import printable
from clearhead.explain.comparison import Comparison
from clearhead.explain.explanation import Explanation
from clearhead.explain.head_kind import MIXED
from clearhead.explain.outputs import ExplainedToken

_NAMES = {"encoder": "encoder self-attention", "decoder": "decoder self-attention", "cross": "cross-attention"}


def explanation_text(explanation: Explanation) -> str:
    """Return the translation, a line for each output token, and the kinds of heads."""
    lines = []
    if explanation.source is not None:
        lines.append(f"source: {_spelled(explanation.source.pieces)}")
    if explanation.target is not None:
        lines.append(f"target: {_spelled(explanation.target.pieces)}")
    lines += ["", *_table(explanation), "", *_differences(explanation), *_heads(explanation)]
    if explanation.missing:
        architecture = explanation.model.config.architecture
        lines += [f"Not in this explanation, because the model is {architecture}:"]
        lines += [f"  {part}" for part in explanation.missing]
    return "\n".join(lines) + "\n"


def comparison_text(comparison: Comparison) -> str:
    """Return the cosine and distance of the word at every layer."""
    rows = [["static", f"{comparison.static_cosine:.4f}", f"{comparison.static_distance:.4f}"]]
    pairs = zip(comparison.cosines, comparison.distances, strict=True)
    for layer, (cosine, distance) in enumerate(pairs):
        first = "embedding" if comparison.model.config.positions == "none" else "with position"
        name = first if layer == 0 else f"after layer {layer}"
        rows.append([name, f"{cosine:.4f}", f"{distance:.4f}"])
    lines = [f"{printable(comparison.word)}:"]
    for number, side in enumerate(comparison.sides, 1):
        translation = "" if side.translation is None else f" → {printable(side.translation)}"
        lines.append(f"  {number}. {printable(side.row.text)}{translation}")
    return "\n".join([*lines, "", *text_columns([["vector", "cosine", "distance"], *rows])]) + "\n"


def search_text(data: Mapping[str, Any]) -> str:
    """Return every step of a search: each candidate, its log P, whether it was kept, and why not."""
    pieces: Mapping[str, str] = data["pieces"]
    before: list[list[str]] = [[]]
    lines = [f"source: {_spelled(data['source_pieces'])}"]
    for step in data["steps"]:
        lines.append(f"step {step['number']}")
        rows = [("", "total log P", "token log P", "hypothesis")]
        going = []
        for option in step["options"]:
            tokens = [*before[option["parent"]], printable(pieces[str(option["token"])])]
            if option["fate"] == "kept":
                going.append(tokens)
            rows.append(
                (
                    option["fate"] + (f" as {option['slot'] + 1}" if option["slot"] is not None else ""),
                    f"{option['total']:.4f}",
                    f"{option['log_prob']:.4f}",
                    " ".join(tokens) + (f"   ({option['why']})" if option["why"] else ""),
                )
            )
        lines += [f"  {line}" for line in text_columns(rows, numbers=(1, 2))]
        lines += [f"  hypothesis {lost['slot'] + 1} was dropped: {lost['why']}" for lost in step["lost"]]
        before = going
    lines.append(f"stopped {data['stopped']}")
    for rank, hypothesis in enumerate(data["best"], 1):
        spelled = _spelled([pieces[str(token)] for token in hypothesis["tokens"]])
        lines.append(f"{rank}. score {hypothesis['score']:.4f}  {spelled}")
    return "\n".join(lines) + "\n"


def _spelled(pieces: Sequence[str]) -> str:
    return " ".join(printable(piece) for piece in pieces)


def _table(explanation: Explanation) -> list[str]:
    methods = list(explanation.contributions.by_word)
    heading = ["class" if explanation.kind == "classes" else "token", "P", "next best", "P"]
    decided = ["decided"] if any(output.lens for output in explanation.outputs) else []
    rows = [[*heading, *decided, *(method.replace("_", " ") for method in methods)]]
    for output in explanation.outputs:
        rows.append(_row(explanation, output))
    return text_columns(rows)


def _row(explanation: Explanation, output: ExplainedToken) -> list[str]:
    others = [other for other in output.alternatives if other.token != output.token]
    other = [printable(others[0].piece), f"{others[0].probability:.3f}"] if others else ["", ""]
    layer = ["never" if output.decided_at is None else f"layer {output.decided_at}"] if output.lens else []
    disagreement = explanation.contributions.disagreement(output.position)
    words = explanation.explained_row.words
    top = ["" if word is None else printable(words[word]) for word in disagreement.top.values()]
    return [printable(output.piece), f"{output.probability:.3f}", *other, *layer, *top]


def _differences(explanation: Explanation) -> list[str]:
    choice = explanation.translation
    if choice is None or explanation.is_given:
        return []
    if not choice.differences:
        return ["In float64 every token is also the most probable one.", ""]
    beam = choice.settings.get("beam", 1)
    reason = "" if beam == 1 else f" (a beam of {beam} compares whole translations)"
    lines = [f"Tokens that are not the most probable ones in float64{reason}:"]
    for difference in choice.differences:
        lines.append(
            f"  {difference.position + 1}. {printable(difference.piece)} {difference.probability:.4f}, "
            f"but {printable(difference.best_piece)} {difference.best_probability:.4f}"
        )
    return [*lines, ""]


def _heads(explanation: Explanation) -> list[str]:
    """Return the number of heads of each kind, and the name and confidence of the most confident head of the kind."""
    lines = []
    for name, stack in explanation.stacks.items():
        heads = [stack.head_name(*head) for head in stack.kept]
        removed = f" ({len(stack.removed)} removed)" if stack.removed else ""
        kinds = Counter(explanation.kinds[head].kind for head in heads)
        lines.append(f"{_NAMES[name]}, {len(heads)} head{'' if len(heads) == 1 else 's'}{removed}:")
        for kind, count in sorted(kinds.items(), key=lambda pair: (pair[0] == MIXED, -pair[1])):
            own = [head for head in heads if explanation.kinds[head].kind == kind]
            best = max(own, key=lambda head: explanation.kinds[head].confidence)
            most_confident = (
                "" if kind == MIXED else f", most confident: {best} ({explanation.kinds[best].confidence:.2f})"
            )
            lines.append(f"  {count} {kind}{most_confident}")
    return lines
