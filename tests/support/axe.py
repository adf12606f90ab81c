"""axe-core (MPL-2.0), run in a page of a real browser: what breaks WCAG 2.2 at the levels A and AA.

`.ci/real-parts` installs it; it is no part of Trimtab.
"""

from __future__ import annotations

from pathlib import Path

from tests.support.chromium import Page

AXE = Path(__file__).parents[2] / ".venv/node_modules/axe-core/axe.min.js"
MISSING = "axe-core is not here: npm install --prefix .venv --no-save axe-core"
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
_FOUND = "each => each.violations.map(one => `${one.id}: ${one.nodes.map(node => node.target.join(' ')).join(', ')}`)"


def broken_rules(page: Page) -> list[str]:
    """Each rule that the page breaks, with the elements that break it."""
    page.run(f"{AXE.read_text()};0")
    found: list[str] = page.run(f"axe.run({{runOnly: {_RULES}}}).then({_FOUND})")
    return found
