"""Certificates: their limits, their files, and their text."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from clearhead.errors import CheckpointError
from clearhead.export.certificate import (
    CERTIFICATE,
    Certificate,
    Limits,
    certificate_markdown,
    certificate_rows,
    read_certificate,
    verdict,
)

FIRST = Path(__file__).parents[2] / "golden" / "first_release"


def certificate_of(**changes: Any) -> Certificate:
    """Return a certificate of 100 sentences with changes in what was measured."""
    comparison = {
        "sentences": 100, "identical": 97, "same_tokens": None,
        "numbers": {"of": "logits", "largest": 0.25, "mean": 0.0125, "tokens": 1234},
        "divergence": {"sentence": 17, "token": 3, "original": "▁Hund", "exported": "▁Katze", "margin": 0.0321},
        "bleu": {"original": 31.5, "exported": 31.0, "difference": -0.5, "low": -0.75, "high": 0.25, "signature": "nrefs:1|bs:1000"},
        "original_speed": 53.0, "exported_speed": 211.0, "original_bytes": 15_520_000, "exported_bytes": 4_096,
        **changes,
    }  # fmt: skip
    precision = changes.pop("precision", "int8")
    comparison.pop("precision", None)
    return Certificate.model_validate(
        {
            "target": "onnx", "precision": precision, "model": "abc", "original": "torch 2", "exported": "onnxruntime 1",
            "machine": "a CPU, 2 cores", "text": "test.en", "text_sha256": "0123456789abcdef0", "comparison": comparison,
            "limits": Limits.of(precision),
        }
    )  # fmt: skip


def test_an_export_within_its_limits_has_no_faults() -> None:
    certificate = certificate_of()
    assert certificate.faults == ()
    assert verdict(certificate) == "within the limits"


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"precision": "float32", "identical": 100, "bleu": None}, "the largest difference of logits is 0.25 (limit 0.001)"),
        ({"identical": 49}, "49.0% of the translations are identical (limit 50%)"),
        ({"bleu": {"original": 31.5, "exported": 30.0, "difference": -1.5, "low": -2, "high": -1, "signature": "s"}}, "BLEU drops by 1.50 (limit 1)"),
        ({"same_tokens": 13}, "its tokeniser splits 87 of 100 sentences differently"),
    ],
)  # fmt: skip
def test_every_limit_is_enforced(changes: dict[str, Any], fault: str) -> None:
    certificate = certificate_of(**changes)
    assert certificate.faults == (fault,)
    assert verdict(certificate) == f"beyond the limits: {fault}"
    assert certificate.to_dict()["faults"] == [fault]


def test_narrower_precisions_have_wider_limits() -> None:
    limits = [Limits.of(precision) for precision in ("float32", "float16", "int8")]  # type: ignore[arg-type]
    assert [own.identical for own in limits] == sorted((own.identical for own in limits), reverse=True)
    assert [own.bleu_drop for own in limits] == sorted(own.bleu_drop for own in limits)
    assert limits[-1].difference is None


def test_its_text_states_everything_that_was_measured() -> None:
    rows = dict(certificate_rows(certificate_of()))
    assert rows == {
        "model": "torch 2, 15.5 MB",
        "export": "onnxruntime 1, 4.1 kB",
        "sentences": "100 of test.en",
        "largest difference of logits": "0.25 (no limit; mean 0.013, 1,234 tokens)",
        "identical translations": "97 of 100 (97.0%; limit 50%)",
        "first divergence": "sentence 17, token 3: '▁Hund' in the model, '▁Katze' in the export; their logits differ by 0.032 in the model",
        "BLEU": "31.50 → 31.00",
        "difference of BLEU": "-0.50 (95 % interval -0.75 to +0.25; limit -1), nrefs:1|bs:1000",
        "speed": "53 → 211 sentences/s on a CPU, 2 cores",
        "verdict": "within the limits",
    }
    page = certificate_markdown(certificate_of())
    assert page.startswith("# Certificate: ONNX, int8\n")
    assert "nrefs:1¦bs:1000 |" in page, "a bar would end the cell"


def test_what_was_not_measured_is_said() -> None:
    rows = dict(certificate_rows(certificate_of(divergence=None, bleu=None, numbers=None, same_tokens=98)))
    assert rows["first divergence"] == "none"
    assert rows["BLEU"] == "not measured, because there are no references"
    assert rows["sentences with identical tokens"] == "98 of 100"


def test_a_certificate_is_read_as_it_was_written(tmp_path: Path) -> None:
    certificate = certificate_of()
    (tmp_path / CERTIFICATE).write_text(json.dumps(certificate.to_dict()))
    assert read_certificate(tmp_path) == certificate


def test_a_missing_damaged_or_later_certificate_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"has no certificate.json. Export the model again"):
        read_certificate(tmp_path)
    shutil.copy(FIRST / "onnx" / CERTIFICATE, tmp_path)
    data = json.loads((tmp_path / CERTIFICATE).read_text())
    (tmp_path / CERTIFICATE).write_text(json.dumps({**data, "clearhead_certificate": 3, "clearhead_version": "9.1"}))
    with pytest.raises(CheckpointError, match=r"is in format 3, written by clearhead 9.1.*which reads format 1"):
        read_certificate(tmp_path)
    (tmp_path / CERTIFICATE).write_text(json.dumps({**data, "comparison": 5}))
    with pytest.raises(CheckpointError, match=r"certificate.json is not a certificate: "):
        read_certificate(tmp_path)
