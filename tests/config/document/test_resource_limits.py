from __future__ import annotations

import pytest
from pydantic import ValidationError

from config.document.resource_limits import ResourceLimitsDocument
from config.model.recipes import UNLIMITED, ResourceLimits


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param({}, UNLIMITED, id="nothing"),
        pytest.param({"memory": "512MiB"}, ResourceLimits(memory=512 << 20), id="memory"),
        pytest.param({"cpu_time": "12h"}, ResourceLimits(cpu_time=43200.0), id="time"),
        pytest.param({"cpu_time": "1ms"}, ResourceLimits(cpu_time=1.0), id="time in whole seconds, never none"),
        pytest.param({"open_files": 16, "nice": 0}, ResourceLimits(open_files=16, nice=0), id="numbers"),
        pytest.param({"file_size": "1GB", "core": "1MiB"}, ResourceLimits(file_size=10**9, core=1 << 20), id="files"),
    ],
)
def test_limits_are_bytes_and_seconds(written: dict[str, object], expected: ResourceLimits) -> None:
    assert ResourceLimitsDocument.model_validate(written).limits == expected


@pytest.mark.parametrize(
    "written",
    [
        {"memory": "15MiB"},
        {"memory": 2**30},
        {"file_size": "1000KB"},
        {"open_files": 15},
        {"open_files": True},
        {"nice": -1},
        {"nice": 20},
        {"cpu_time": "0s"},
        {"processes": 5},
    ],
    ids=str,
)
def test_limits_with_which_no_program_could_start_are_refused(written: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ResourceLimitsDocument.model_validate(written)
