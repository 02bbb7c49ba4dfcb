"""Batching changes no answer: sentences through `clearhead serve` from many clients, and through `clearhead translate`.

Rounding depends on what else is in a batch, so that two tokens with nearly the same probability can change places. Each
difference is examined: log P of both tokens at the place where the translations part, in float64. It is a near tie if
they differ by less than 0.001. The exit code is 1 if a difference is no near tie, or if fewer than 99.8 % of the
translations are identical.
Run: python benchmarks/serve_equal.py [--sentences 1000] [--clients 64] [--beam 1] [--data FILE]
"""

import argparse
import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from clearhead.decoding.scoring import open_scorer, token_log_probs
from clearhead.formats.built_in import built_in_for
from clearhead.formats.model_folder import built_in_folder
from clearhead.text.special import language_tag

from load_client import HOST  # isort: skip  # beside this file, in benchmarks/
from serve_sentences import sentences_of  # isort: skip
from served_process import served  # isort: skip

_NEAR = 1e-3  # nats
_SHARE = 0.998


@dataclass(frozen=True)
class Difference:
    """Two translations of a sentence, and by how much log P of the tokens differs where they part."""

    sentence: str
    served: str
    offline: str
    gap: float

    @property
    def is_near_tie(self) -> bool:
        """Whether rounding alone can decide between the two."""
        return abs(self.gap) < _NEAR


async def translate_by_server(port: int, bodies: Sequence[bytes], clients: int) -> list[str]:
    """Return the translations of all bodies, which the clients take from one list."""
    translations = [""] * len(bodies)
    places = iter(range(len(bodies)))

    async def work() -> None:
        reader, writer = await asyncio.open_connection(HOST, port)
        for place in places:
            head = f"POST /v1/translate HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
            writer.write(f"{head}Content-Length: {len(bodies[place])}\r\n\r\n".encode() + bodies[place])
            answer = await reader.readuntil(b"\r\n\r\n")
            length = int(answer.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            content = json.loads(await reader.readexactly(length))
            if "error" in content:
                raise SystemExit(f"the server answered: {content['error']}")
            translations[place] = content["translations"][0]["translation"]
        writer.close()

    await asyncio.gather(*(work() for _ in range(clients)))
    return translations


def translate_offline(sentences: Sequence[str], options: argparse.Namespace) -> list[str]:
    """Return the translations of the command line."""
    command = [sys.executable, "-m", "clearhead", "translate", "--from", options.source, "--to", options.target]
    command += ["--beam", str(options.beam)]
    output = subprocess.run(command, input="\n".join(sentences) + "\n", capture_output=True, text=True, check=True)
    return output.stdout.rstrip("\n").split("\n")


def examine(pairs: Sequence[tuple[str, str, str]], options: argparse.Namespace) -> list[Difference]:
    """Return the differences, with log P of both translations up to where they part, in float64."""
    scorer = open_scorer(built_in_folder(built_in_for(options.source, options.target)), device="cpu")
    model, vocabularies = scorer.model.to(dtype=torch.float64), scorer.vocabularies
    tag = f"{language_tag(options.target)} " if options.target in vocabularies.source.tags else ""
    differences = []
    for sentence, one, other in pairs:
        source = torch.tensor([[*vocabularies.source.encode([tag + sentence])[0], model.config.eos]])
        rows = [[*ids, model.config.eos] for ids in vocabularies.target.encode([one, other])]
        with torch.inference_mode():
            scores = [token_log_probs(model, source, torch.tensor([row]))[0].tolist() for row in rows]
        if options.beam > 1:  # a beam compares whole translations
            gap = sum(scores[0]) / len(rows[0]) - sum(scores[1]) / len(rows[1])
        else:
            place = next(number for number, tokens in enumerate(zip(*rows, strict=False)) if tokens[0] != tokens[1])
            gap = scores[0][place] - scores[1][place]
        differences.append(Difference(sentence, one, other, gap))
    return differences


def main() -> None:
    """Compare, and print Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--data", type=Path, help="a file with a sentence on each line, instead of made sentences")
    parser.add_argument("--source", default="en")
    parser.add_argument("--target", default="es")
    options = parser.parse_args()
    sentences = sentences_of(options.data, options.sentences)
    fields = {"source": options.source, "target": options.target, "beam": options.beam}
    bodies = [json.dumps({"text": sentence, **fields}).encode() for sentence in sentences]
    with served(["-m", "clearhead", "serve"]) as process:
        answers = asyncio.run(translate_by_server(process.port, bodies, options.clients))
    expected = translate_offline(sentences, options)
    triples = list(zip(sentences, answers, expected, strict=True))
    different = [(sentence, one, other) for sentence, one, other in triples if one != other]
    share = 1 - len(different) / len(sentences)
    print(f"{len(sentences):,} sentences, {options.clients} clients, beam {options.beam}: {share:.2%} identical.")
    differences = examine(different, options)
    if differences:
        print("\n| sentence | served | offline | difference of log P | near tie |\n|---|---|---|---|---|")
    for one in differences:
        words = "yes" if one.is_near_tie else "NO"
        print(f"| {one.sentence} | {one.served} | {one.offline} | {one.gap:.2e} | {words} |")
    if share < _SHARE or not all(one.is_near_tie for one in differences):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
