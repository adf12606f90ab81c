from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.grafana import DASHBOARDS, RULES_FILE, exported, names

_ROOT = Path(__file__).parent.parent.parent
_TEXTS = {
    **{f"dashboard {name}": json.dumps(dashboard) for name, dashboard in DASHBOARDS.items()},
    "alert rules": RULES_FILE.read_text(),
    "alert tests": RULES_FILE.with_name("trimtab.tests.yaml").read_text(),
    **{path.name: path.read_text() for path in sorted(_ROOT.glob("docs/*.md"))},
    "README.md": (_ROOT / "README.md").read_text(),
}


@pytest.mark.parametrize("text", _TEXTS.values(), ids=_TEXTS)
def test_every_metric_that_is_named_is_exported(text: str) -> None:
    series = exported()
    families = {name.removesuffix(part) for name in series for part in ("_bucket", "_total")}

    assert names(text) <= series | families


def test_every_metric_that_is_exported_has_its_line_in_the_docs() -> None:
    ours = {name for name in exported() if name.startswith("trimtab_")}
    families = {name.removesuffix("_bucket") for name in ours if not name.endswith(("_sum", "_count"))}

    assert families - names(_TEXTS["grafana.md"]) == set()


_SHOWN_NOWHERE = {
    "process_virtual_memory_bytes": "address space costs nothing: resident memory is shown",
    "trimtab_tls_certificate_expiry_timestamp_seconds": "a date: its alert comes in time",
}


def test_every_metric_that_is_exported_is_on_a_dashboard_or_has_a_reason_why_not() -> None:
    text = json.dumps(list(DASHBOARDS.values()))
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in exported()}

    absent = {name for name in families if re.search(rf"\b{name}(_bucket|_sum|_count)?\b", text) is None}

    assert absent == _SHOWN_NOWHERE.keys()


def test_a_metric_that_is_not_exported_is_noticed() -> None:
    assert names("rate(trimtab_no_such_total[5m])") - exported() == {"trimtab_no_such_total"}
