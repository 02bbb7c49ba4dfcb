"""The engine that runs the model itself."""

from pathlib import Path

import pytest

from clearhead.decoding.translator import Translator
from clearhead.errors import ConfigError
from tests.small_run import make_run


def test_a_precision_of_another_engine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="int8 is only supported by the engine ctranslate2"):
        Translator.load(make_run(tmp_path), engine="torch", precision="int8")
