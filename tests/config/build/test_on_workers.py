from __future__ import annotations

from config.load import parse

_TEXT = """
clouds:
  one: {simulated: {}}
  box: {process: {}, on: box1}
balancers: {edge: {haproxy: {socket: /run/h.sock, backend: web}, on: [box1]}}
sources: {prom: {prometheus: {url: "http://127.0.0.1:9090"}, on: [box1, box2]}}
"""


def test_the_workers_that_reach_an_entry_are_known_by_its_place_in_the_file() -> None:
    assert parse(_TEXT, "model.yaml").on_workers == {
        ("clouds", "box"): ("box1",),
        ("balancers", "edge"): ("box1",),
        ("sources", "prom"): ("box1", "box2"),
    }


def test_what_a_file_declares_is_the_same_on_whichever_workers_it_is() -> None:
    limited = parse(_TEXT, "model.yaml")
    free = parse(
        _TEXT.replace(", on: box1", "").replace(", on: [box1]", "").replace(", on: [box1, box2]", ""), "b.yaml"
    )
    assert (free.on_workers, free.digest, free.clouds) == ({}, limited.digest, limited.clouds)
