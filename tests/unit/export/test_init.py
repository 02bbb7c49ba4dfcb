"""The public names of the package are imported on first use."""

import pytest

import clearhead.export


def test_every_public_name_is_there() -> None:
    assert dir(clearhead.export) == sorted(clearhead.export.__all__)
    for name in clearhead.export.__all__:
        assert getattr(clearhead.export, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'exports'"):
        clearhead.export.exports  # noqa: B018
