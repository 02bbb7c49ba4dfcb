"""Run calls of the command line one after the other in this process, for same_results.py: most of a call is imports.

Every line of standard input is a JSON list of words; every line of standard output is its exit code, output and errors.
"""

import io
import json
import os
import sys
import traceback


def call(words: list[str]) -> tuple[int, str, str]:
    """Call the command with streams of its own."""
    from clearhead.cli.main import main

    output, errors = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    sys.argv = ["clearhead", *words]
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO()), output, errors
    code: int | str | None = 0
    try:
        main()
    except SystemExit as exit_:
        code = exit_.code
    except Exception:  # a fault of the version that is recorded, not of this program
        traceback.print_exc()
        code = 3
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    texts = [stream.buffer.getvalue().decode() for stream in (output, errors)]  # type: ignore[attr-defined]
    return (code if isinstance(code, int) else int(code is not None)), texts[0], texts[1]


def answer() -> None:
    """Answer until there are no more calls; only answers are written to the real standard output."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    calls = os.fdopen(os.dup(0), encoding="utf-8")
    for line in calls:
        print(json.dumps(call(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    answer()
