"""Slow imports are done in parallel with other work, and not before."""

import subprocess
import sys

PROGRAM = """
import sys
import torch
from clearhead.training.loop import train
from clearhead.training.warm_up import warming_up
assert "torch._dynamo" not in sys.modules, "loaded too soon: nothing is left to do meanwhile"
with warming_up(torch.device("cpu")):
    pass
assert "torch._dynamo" in sys.modules
"""


def test_the_compiler_is_loaded_beside_other_work_and_not_before() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
