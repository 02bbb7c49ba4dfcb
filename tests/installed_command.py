"""What an installed `clearhead` without torch must do: solve, check, print help, and name the extra where torch is needed.

`python tests/installed_command.py PATH/TO/clearhead` checks a real installation; `make package` calls it.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

Case = tuple[tuple[str, ...], int, str]  # arguments, the expected exit code, and a part of the output
MODELS = Path(__file__).parents[1] / "src" / "clearhead" / "models"
# Without a built-in model the command says so; with one it translates, and names the extra for what needs torch.
TRANSLATIONS: tuple[Case, ...] = (
    (
        (("translate", "Let's go"), 0, "amos"),
        (("translate", "Let's go", "--temperature", "1"), 2, "pip install '.[translate]'"),
    )
    if any(MODELS.glob("*/model.json"))
    else ((("translate", "Let's go"), 2, "no built-in model is installed"),)
)
CASES: tuple[Case, ...] = (
    (("--help",), 0, "translate"),
    (("--version",), 0, "clearhead "),
    (("solve", "lets-go"), 0, "<EOS>"),
    (("solve", "lets-go-encoder", "--format", "html", "-o", "sheet.html"), 0, ""),
    (("check", "numerical-self-attention"), 1, "arithmetic slip"),
    (("experiment",), 0, "variance"),
    (("train", "--help"), 0, "--resume"),
    (("models", "--json"), 0, "["),
    *TRANSLATIONS,
    (("train", "my.yaml"), 2, "pip install '.[train]'"),
    (("experiment", "variance", "--picture", "slide.svg"), 2, "pip install '.[plots]'"),
)


def failures_of(command: Path, folder: Path) -> list[str]:
    """Return what an installed command without torch does wrong; its files go to a folder."""
    failures = []
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"COLUMNS": "80"}
    for arguments, code, part in CASES:
        completed = subprocess.run(
            [command.absolute(), *arguments], cwd=folder, env=environment, capture_output=True, check=False
        )
        output = (completed.stdout + completed.stderr).decode("utf-8")
        # Where an extra is missing, the answer is one sentence and no traceback.
        is_sentence = code != 2 or len(output.splitlines()) == 1
        if completed.returncode != code or part not in output or not is_sentence:
            failures.append(f"clearhead {' '.join(arguments)}: exit code {completed.returncode}, not {code}:\n{output}")
    return failures


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        messages = failures_of(Path(sys.argv[1]), Path(scratch))
    print("\n".join(messages) or f"{sys.argv[1]}: all {len(CASES)} commands do what they should without torch.")
    sys.exit(1 if messages else 0)
