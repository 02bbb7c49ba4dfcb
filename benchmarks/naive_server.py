"""The server that everyone writes first: FastAPI, and one call of CTranslate2 for each request.

It uses the same converted model as clearhead, and the same tokeniser. Two ways are common: a function that FastAPI runs
in a thread, and a coroutine that translates in the event loop. `benchmarks/serve_load.py` starts both and reports the
faster one.
Run: python benchmarks/naive_server.py --port 5001 [--way threads | loop]
"""

import argparse
import os
from typing import Any

import ctranslate2
import orjson
import uvicorn
from fastapi import FastAPI, Request
from starlette.responses import Response

from clearhead.formats.built_in import built_in_for
from clearhead.formats.ctranslate2 import converted
from clearhead.formats.model_folder import built_in_folder, load_arrays, load_config, load_vocabularies
from clearhead.text.special import language_tag


class NaiveTranslator:
    """A converted model and its tokeniser."""

    def __init__(self, source: str, target: str, beam: int, num_threads: int) -> None:
        folder = built_in_folder(built_in_for(source, target))
        self.config, self.beam = load_config(folder), beam
        self.vocabularies = load_vocabularies(folder)
        conversion = converted(folder, "float32", lambda: load_arrays(folder))
        self.engine: Any = ctranslate2.Translator(
            str(conversion.folder), "cpu", compute_type="float32", inter_threads=num_threads, intra_threads=1
        )
        self.tag = f"{language_tag(target)} " if target in self.vocabularies.source.tags else ""

    def translate(self, text: str) -> str:
        """Translate one sentence."""
        ids = [*self.vocabularies.source.encode([self.tag + text])[0], self.config.eos]
        result = self.engine.translate_batch(
            [[str(number) for number in ids]], beam_size=self.beam, max_decoding_length=3 * len(ids) + 10
        )[0]
        return self.vocabularies.target.decode([[int(name) for name in result.hypotheses[0]]])[0]


def make_app(translator: NaiveTranslator, way: str) -> FastAPI:
    """Return the application."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    @app.get("/health")
    async def health() -> Response:
        return Response(b'{"status":"ok"}', media_type="application/json")

    def answer(text: str) -> Response:
        content = orjson.dumps({"translations": [{"translation": translator.translate(text)}]})
        return Response(content, media_type="application/json")

    if way == "loop":

        @app.post("/v1/translate")
        async def translate_in_loop(request: Request) -> Response:
            return answer(orjson.loads(await request.body())["text"])

    else:

        @app.post("/v1/translate")
        async def translate_in_thread(request: Request) -> Response:
            from starlette.concurrency import run_in_threadpool

            return await run_in_threadpool(answer, orjson.loads(await request.body())["text"])

    return app


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--way", choices=("threads", "loop"), default="threads")
    parser.add_argument("--source", default="en")
    parser.add_argument("--target", default="es")
    parser.add_argument("--beam", type=int, default=1)
    options = parser.parse_args()
    num_threads = 1 if options.way == "loop" else len(os.sched_getaffinity(0))
    translator = NaiveTranslator(options.source, options.target, options.beam, num_threads)
    app = make_app(translator, options.way)
    uvicorn.run(app, host="127.0.0.1", port=options.port, log_level="error", access_log=False)


if __name__ == "__main__":
    main()
