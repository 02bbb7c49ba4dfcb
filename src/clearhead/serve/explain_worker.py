"""Explain translations in a process of its own, which loads its models with PyTorch.

Its answers are the data that `clearhead explain` writes with the option for JSON, and that of `what_if`.
"""

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from clearhead.decoding.engines.engine import DeviceName
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.errors import CheckpointError, ConfigError, DataError
from clearhead.explain import ExplainOptions, compare, explain, explanation_page, open_model, to_dict, what_if
from clearhead.explain.checks import check_sentence, checked_config, explained_heads
from clearhead.explain.intervention import Intervention, Patch, swap_words
from clearhead.formats.model_files import model_files
from clearhead.formats.model_folder import find_model
from clearhead.model.config import ModelConfig
from clearhead.serve.api_errors import ApiError

_MAX_MODELS = 2  # that stay loaded; the one that was not used for the longest time is dropped
_ALWAYS = ("clearhead_explanation", "kind")  # parts of every answer


def make_handler(options: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], bytes]:
    """Return the function that answers requests; `max_tokens` limits a sentence, `device` is where models run."""
    # Not at a low priority: beside other programs, no explanation would end within its time limit, and each that is
    # killed there would start the next one from the beginning.
    return ExplainWorker(int(options["max_tokens"]), options["device"]).handle


class ExplainWorker:
    """Answers requests with models that stay loaded."""

    def __init__(self, max_tokens: int, device: DeviceName) -> None:
        self._max_tokens, self._device = max_tokens, device
        self._models: OrderedDict[tuple[Any, ...], Translator] = OrderedDict()

    def handle(self, request: Mapping[str, Any]) -> bytes:
        """Return the answer to a request."""
        calls = {"explain": self._explain, "page": self._page, "what-if": self._what_if, "compare": self._compare}
        return calls[request["call"]](request)

    def _explain(self, request: Mapping[str, Any]) -> bytes:
        data = self._explanation(request)
        parts = request["parts"]
        return _json(data if parts is None else {name: data[name] for name in data if name in (*_ALWAYS, *parts)})

    def _page(self, request: Mapping[str, Any]) -> bytes:
        return explanation_page(self._explanation({**request, "parts": None})).encode()

    def _explanation(self, request: Mapping[str, Any]) -> dict[str, Any]:
        parts = request["parts"]
        options = ExplainOptions(
            alternatives=request["alternatives"],
            hypothesis=request["hypothesis"],
            prefix=request["prefix"] or "",
            sums=tuple(request["sums"]),
            has_projections=request["projections"],
            has_translations=parts is None or "left_out" in parts,
        )
        if options.hypothesis >= request["beam"]:
            raise ConfigError(
                f"hypothesis = {options.hypothesis} needs a beam of at least {options.hypothesis + 1}, because they "
                "are counted from 0."
            )
        check_sentence(request["text"])
        config = self._checked(request, "an explanation")
        explained_heads(options.sums, config, has_projections=options.has_projections)
        translator = self._opened(request)
        self._check_length(translator, request["text"])
        for text in (request["translation"], request["prefix"]):
            self._check_length(translator, text or "", is_target=True)
        search = SearchSettings(
            beam=request["beam"], n_best=options.hypothesis + 1, length_penalty=request["length_penalty"]
        )
        explanation = explain(
            translator,
            request["text"],
            target=request["translation"],
            search=search,
            language=request["language"],
            options=options,
        )
        return to_dict(explanation)

    def _what_if(self, request: Mapping[str, Any]) -> bytes:
        patch = request["patch"]
        question = Intervention(
            tuple(request["without"]),
            tuple(request["uniform"]),
            request["swap"],
            None if patch is None else Patch(patch, request["from_sentence"] or "", request["words"]),
        )
        if patch is None and (request["from_sentence"] is not None or request["words"]):
            raise ConfigError("from_sentence and words need a layer. Give it as patch.")
        check_sentence(request["text"])
        question.check(self._checked(request, None if question.is_swap else "what-if"))
        swap_words(request["text"], question.swap)
        translator = self._opened(request)
        self._check_length(translator, request["text"])
        self._check_length(translator, request["from_sentence"] or "")
        search = SearchSettings(beam=request["beam"], length_penalty=request["length_penalty"])
        return _json(
            what_if(translator, request["text"], question, search=search, language=request["language"]).to_dict()
        )

    def _compare(self, request: Mapping[str, Any]) -> bytes:
        one, other = request["texts"]
        for text in (one, other):
            check_sentence(text)
        self._checked(request, "an explanation")
        translator = self._opened(request)
        for text in (one, other):
            self._check_length(translator, text)
        comparison = compare(translator, one, other, word=request["word"], language=request["language"])
        return _json(comparison.to_dict())

    def _checked(self, request: Mapping[str, Any], what: str | None) -> ModelConfig:
        """Return the config of the model; `what` needs a Transformer, None any model that translates."""
        try:
            config = checked_config(Path(request["path"]), what)
        except (CheckpointError, OSError):
            raise _cannot_open(request["model"]) from None
        if config.shape != "encoder-decoder":
            raise ConfigError(f"the model {request['model']} does not translate. Choose another model.")
        return config

    def _opened(self, request: Mapping[str, Any]) -> Translator:
        """Return the model of a request, which is loaded unless it was used before."""
        try:
            folder = find_model(Path(request["path"]))
            states = [file.stat() for file in model_files(folder)]  # another model can have been put in its place
            key = (folder.folder, *((state.st_mtime_ns, state.st_size) for state in states))
            translator = self._models.pop(key, None)
            if translator is None:
                while len(self._models) >= _MAX_MODELS:
                    self._models.popitem(last=False)
                opened = open_model(Path(request["path"]), device=self._device)
                assert isinstance(opened, Translator)
                translator = opened
        except (CheckpointError, OSError):
            raise _cannot_open(request["model"]) from None
        self._models[key] = translator
        return translator

    def _check_length(self, translator: Translator, text: str, *, is_target: bool = False) -> None:
        """Raise DataError for a text with more tokens than the server explains."""
        vocabularies = translator.vocabularies
        num_tokens = len((vocabularies.target if is_target else vocabularies.source).encode([text])[0]) if text else 0
        if num_tokens > self._max_tokens:
            raise DataError(
                f"the text has {num_tokens:,} tokens, but this server explains at most {self._max_tokens}. Give a "
                "shorter sentence."
            )


def _cannot_open(name: str) -> ApiError:
    """Return the error for a model whose files are gone or damaged, without their place on the server."""
    return ApiError(503, f"the files of the model {name} cannot be read any more. Tell the operator of this server.")


def _json(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
