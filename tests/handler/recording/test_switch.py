from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.model.observability import DEFAULTS, Recording
from config.units import Instant
from handler.recording.switch import Switch, from_text, in_force, limited, still, to_text

NOW = Instant(1000.0)
OURS = Recording(budget=1 << 30)
ON, OFF = Switch(on=True, by="ann"), Switch(on=False, by="ann")
ON_AN_HOUR = Switch(on=True, by="ann", until=Instant(4600.0))
ON_BEFORE = Switch(on=True, by="ann", until=Instant(900.0))
OFF_BEFORE = Switch(on=False, by="ann", until=NOW)


@pytest.mark.parametrize(
    ("declared", "switch", "recorded", "left"),
    [
        pytest.param(None, None, None, None, id="not requested"),
        pytest.param(OURS, None, OURS, None, id="the file does"),
        pytest.param(None, ON, DEFAULTS, ON, id="a person does"),
        pytest.param(OURS, OFF, None, OFF, id="a person forbids it"),
        pytest.param(OURS, ON, OURS, None, id="both do"),
        pytest.param(None, OFF, None, None, id="neither does"),
        pytest.param(None, ON_AN_HOUR, DEFAULTS, ON_AN_HOUR, id="for an hour"),
        pytest.param(None, ON_BEFORE, None, None, id="that is over"),
        pytest.param(OURS, OFF_BEFORE, OURS, None, id="it is over at that instant"),
    ],
)
def test_a_persons_word_wins_until_it_ends(
    declared: Recording | None, switch: Switch | None, recorded: Recording | None, left: Switch | None
) -> None:
    assert in_force(declared, switch, NOW) == recorded
    assert still(switch, declared, NOW) == left


@given(st.none() | st.builds(Switch, on=st.booleans(), by=st.text(), until=st.none() | st.floats(0, 1e10)))
def test_a_word_survives_a_restart(switch: Switch | None) -> None:
    assert from_text(to_text(switch)) == switch


@pytest.mark.parametrize("text", ["", "nonsense", "[]", '{"on": 1, "by": "x", "until": null}', '{"on": true}', "null"])
def test_a_damaged_word_is_none(text: str) -> None:
    assert from_text(text) is None


def test_a_word_for_an_hour_holds_no_longer_when_the_clock_was_set_back_before_a_restart() -> None:
    word = Switch(on=True, by="ann", until=Instant(86_400.0), lasts=3600.0)

    kept = from_text(to_text(word))

    assert kept == word
    assert limited(kept, NOW) == replace(word, until=Instant(4600.0))
    assert limited(kept, Instant(86_000.0)) == word


@pytest.mark.parametrize("word", [None, ON, ON_AN_HOUR])
def test_a_word_without_a_length_is_not_limited(word: Switch | None) -> None:
    assert limited(word, Instant(0.0)) == word
