"""docs/capacity.md: its text stays; the tables between its marks and the picture are written from the figures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmarks.capacity import traces
from benchmarks.capacity.pictures import scatter
from benchmarks.capacity.rows import FORECAST, POLICIES, SETTINGS, USUAL, Results
from benchmarks.capacity.setting import GATE, MeanScore
from benchmarks.capacity.trials import TRIALS, Tried, trials
from handler.replay.scores import CapacityScore

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "capacity.md"
_BEGIN, _END = "<!-- {name}: written by make capacity -->", "<!-- end of {name} -->"


def write(found: Results) -> list[Path]:
    """Write the tables and the picture; return the files that were written."""
    text = PAGE.read_text(encoding="utf-8")
    for name, table in tables(found).items():
        text = _between(text, name, table)
    PAGE.write_text(text, encoding="utf-8")
    picture = DOCS / "pictures" / "capacity.svg"
    picture.parent.mkdir(exist_ok=True)
    usual = found.get(USUAL, {})
    means = {policy: mean_of(each) for policy, each in usual.items() if policy in POLICIES}
    picture.write_text(scatter({POLICIES[policy][0]: mean for policy, mean in means.items()}, GATE), encoding="utf-8")
    return [PAGE, picture]


def tables(found: Results) -> Mapping[str, str]:
    usual = found.get(USUAL, {})
    return {
        "policies": _policies(usual),
        "traces": _traces(usual, traces.SCORED),
        "stress": _traces(usual, traces.STRESS),
        "settings": _settings(found),
        "trials": _trials(trials()),
    }


def _policies(usual: Mapping[str, Mapping[str, CapacityScore]]) -> str:
    lines = ["| Policy | cost | over SLO %, mean | worst | flaps a day | Q | gate |", "|---|---|---|---|---|---|---|"]
    rows = sorted((mean_of(each).quality, policy) for policy, each in usual.items() if policy in POLICIES)
    for _, policy in reversed(rows):
        mean, name = mean_of(usual[policy]), POLICIES[policy][0]
        gate = "kept" if mean.worst <= GATE else "missed"
        lines.append(
            f"| {f'**{name}**' if policy == FORECAST else name} | {mean.cost:.3f} | {mean.over:.3f} | {mean.worst:.3f} "
            f"| {mean.flaps:.1f} | {mean.quality:.3f} | {gate} |"
        )
    return "\n".join(lines)


def _traces(usual: Mapping[str, Mapping[str, CapacityScore]], names: tuple[str, ...]) -> str:
    policies = [policy for policy in POLICIES if policy in usual]
    lines = [
        "| Trace | " + " | ".join(POLICIES[policy][0] for policy in policies) + " |",
        "|---" * (len(policies) + 1) + "|",
    ]
    for name in names:
        cells = (usual[policy].get(name) for policy in policies)
        lines.append(f"| {name} | " + " | ".join("" if one is None else _cell(one) for one in cells) + " |")
    return "\n".join(lines)


def _settings(found: Results) -> str:
    lines = ["| Setting | cost | over SLO %, mean | worst | flaps a day | Q |", "|---|---|---|---|---|---|"]
    for label in SETTINGS:
        each = found.get(label, {}).get(FORECAST)
        if each is not None:
            mean = mean_of(each)
            lines.append(
                f"| {_words(label)} | {mean.cost:.3f} | {mean.over:.3f} | {mean.worst:.3f} | {mean.flaps:.1f} "
                f"| {mean.quality:.3f} |"
            )
    return "\n".join(lines)


def _trials(found: Tried) -> str:
    lines = [
        "| Hard day | forecast, mean | target tracking, mean | traces where the forecast missed more |",
        "|---|---|---|---|",
    ]
    for trial, each in found.items():
        ours, theirs = zip(*(each[name] for name in sorted(each)), strict=True)
        more = [name for name in sorted(each) if each[name][0] > each[name][1]]
        others = ", ".join(f"{name} ({each[name][0]:.3f}, {each[name][1]:.3f})" for name in more) or "none"
        lines.append(
            f"| {TRIALS[trial][0]} | {sum(ours) / len(ours):.3f} | {sum(theirs) / len(theirs):.3f} | {others} |"
        )
    return "\n".join(lines)


def _words(label: str) -> str:
    return f"peak {SETTINGS[label].peak:g}, boot {SETTINGS[label].boot:g} s"


def mean_of(each: Mapping[str, CapacityScore]) -> MeanScore:
    return MeanScore.of({name: one for name, one in each.items() if name in traces.SCORED} or each)


def _cell(one: CapacityScore) -> str:
    return f"{one.cost:.3f} @ {one.over:.3f}"


def _between(text: str, name: str, table: str) -> str:
    begin, end = _BEGIN.format(name=name), _END.format(name=name)
    if begin not in text or end not in text:
        raise ValueError(f"{PAGE}: expected the lines {begin} and {end}; put them back where the table belongs")
    before, rest = text.split(begin, 1)
    return f"{before}{begin}\n{table}\n{end}{rest.split(end, 1)[1]}"
