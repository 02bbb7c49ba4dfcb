"""Every verb is a function in a file of the same name, and importing the files loads no heavy packages."""

import inspect
import subprocess
import sys

import pytest

from clearhead.cli.check import check
from clearhead.cli.classify import classify
from clearhead.cli.evaluate import evaluate
from clearhead.cli.experiment import experiment
from clearhead.cli.explain import explain
from clearhead.cli.export import export
from clearhead.cli.generate import generate
from clearhead.cli.heads import heads
from clearhead.cli.import_ import import_
from clearhead.cli.main import app
from clearhead.cli.models import models
from clearhead.cli.plot import plot
from clearhead.cli.prune import prune
from clearhead.cli.quiz import quiz
from clearhead.cli.score import score
from clearhead.cli.serve import serve
from clearhead.cli.solve import solve
from clearhead.cli.train import train
from clearhead.cli.translate import translate

VERBS = (
    check,
    classify,
    evaluate,
    experiment,
    explain,
    export,
    generate,
    heads,
    import_,
    models,
    plot,
    prune,
    quiz,
    score,
    serve,
    solve,
    train,
    translate,
)


def test_the_app_has_these_verbs() -> None:
    registered = {command.name: command.callback for command in app.registered_commands}
    assert {name: inspect.unwrap(verb) for name, verb in registered.items() if verb is not None} == {
        verb.__name__.rstrip("_").replace("_", "-"): inspect.unwrap(verb) for verb in VERBS
    }


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
def test_a_verb_is_in_the_file_of_its_name_and_has_a_description(verb: object) -> None:
    name = getattr(verb, "__name__", "")
    module = inspect.getmodule(inspect.unwrap(verb))  # type: ignore[arg-type]
    assert module is not None
    assert module.__name__ == f"clearhead.cli.{name}"
    assert (module.__doc__ or "").startswith(f"`clearhead {name.rstrip('_').replace('_', '-')}`: ")
    assert (inspect.getdoc(verb) or "").splitlines()[0].endswith(".")


def test_the_files_of_the_verbs_load_no_heavy_packages() -> None:
    modules = ", ".join(f"clearhead.cli.{verb.__name__}" for verb in VERBS)
    heavy = {"torch", "numpy", "pydantic", "yaml", "sentencepiece", "sacrebleu", "ctranslate2", "matplotlib"}
    code = f"import sys, {modules}\nsys.exit(', '.join({heavy!r} & set(sys.modules)) or 0)"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert process.returncode == 0, f"loaded: {process.stderr}"
