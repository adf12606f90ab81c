from __future__ import annotations

import pytest

from config.model.measures import alternatives, factor


@pytest.mark.parametrize(
    ("native", "wanted", "by"),
    [
        ("percent", "percent", 1.0),
        ("percent", "ratio", 0.01),
        ("KiB", "GiB", 1 / 1024**2),
        ("bytes/s", "Mbit/s", 8e-6),
        ("requests/s", "requests/min", 60.0),
        ("sessions", "users", 1.0),
        ("ms", "s", 0.001),
        ("requests/s", "requests", None),
        ("bytes/s", "bytes", None),
        ("percent", "ms", None),
        ("sessions", "percent", None),
    ],
)
def test_units_convert_within_one_measure(native: str, wanted: str, by: float | None) -> None:
    assert factor(native, wanted) == (by if by is None else pytest.approx(by))


def test_every_alternative_converts() -> None:
    for native in ("bytes/s", "KiB", "ms", "percent", "sessions"):
        assert all(factor(native, unit) for unit in alternatives(native))
