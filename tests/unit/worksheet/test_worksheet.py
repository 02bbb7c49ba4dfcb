"""A Worksheet: saving, loading and looking up values."""

from pathlib import Path

import numpy as np
import orjson
import pytest

from clearhead import Worksheet, solve
from clearhead.errors import ClearheadError, TraceError


def test_json_has_full_precision_and_minus_infinity() -> None:
    sheet = solve("numerical-masked-self-attention")
    data = orjson.loads(sheet.to_json())
    masked = next(record for record in data["records"] if record["step"] == "mask")
    assert masked["value"][0][1] == "-inf"
    weights = next(record for record in data["records"] if record["step"] == "softmax")
    assert weights["value"] == sheet.value("A").tolist()
    assert masked["inputs"]["scores"] == {"record": data["records"].index(masked) - 1}
    assert {entry["name"] for entry in data["given"]} >= {"input.X", "self_attention.W_Q"}


def test_a_worksheet_is_saved_completely(tmp_path: Path) -> None:
    sheet = solve("leak")
    sheet.save(tmp_path / "sheet.json")
    assert Worksheet.from_json((tmp_path / "sheet.json").read_bytes()) == sheet
    with pytest.raises(ClearheadError, match="cannot be written: Is a directory"):
        sheet.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["sheet.json"]


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b'{"clearhead": 99}', b'{"clearhead": 1}', b"not json"])
def test_json_that_is_not_a_worksheet_is_rejected(text: bytes) -> None:
    with pytest.raises(TraceError, match="this is not a worksheet"):
        Worksheet.from_json(text)


def test_a_value_is_found_by_symbol_and_place() -> None:
    sheet = solve("lets-go-decoder-eos")
    assert sheet.value("Q", where="*cross_attention*").shape == (1, 2)
    with pytest.raises(TraceError, match="'Q' matches 2 steps of this worksheet"):
        sheet.value("Q")
    with pytest.raises(TraceError, match="'nothing' matches 0 steps"):
        sheet.value("nothing")
    assert np.array_equal(sheet.value("memory"), [[4.37, -1.01], [0.82, -1.43]])
