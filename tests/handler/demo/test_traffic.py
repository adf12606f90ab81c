from __future__ import annotations

import asyncio
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from handler.demo.http import MemberHttpServer, Response
from handler.demo.traffic import DemoTraffic
from tests.support.demo import with_server


async def done(_: str) -> Response:
    return Response(status=HTTPStatus.OK, body="done\n")


def a_day(target: tuple[str, int], length: str) -> tuple[str, ...]:
    return ("--target", f"{target[0]}:{target[1]}", "--day", length, "--low", "50", "--high", "50", "--report", "100ms")


async def until_answered(traffic: DemoTraffic, *options: str) -> dict[str, Any]:
    """Listen until something has been sent, then listen no more: what a daemon that is killed leaves."""
    async for report in traffic.day(*options):
        if report["ok"]:
            return report
    raise AssertionError("the day ended before any request")


def test_a_day_is_reported_from_its_beginning_to_its_end(tmp_path: Path) -> None:
    traffic, reports = DemoTraffic(tmp_path / "load.jsonl"), []

    async def scene(_: MemberHttpServer, target: tuple[str, int]) -> None:
        reports.extend([line async for line in traffic.day(*a_day(target, "500ms"))])
        await traffic.stop()

    asyncio.run(with_server(done, scene))

    assert reports[0]["sent"] == 0 < reports[-1]["sent"] == reports[-1]["ok"]
    assert reports[-1]["rate"] == 0.0
    assert not traffic.under_way


def test_a_load_that_outlived_its_daemon_is_joined_and_can_be_stopped(tmp_path: Path) -> None:
    async def scene(_: MemberHttpServer, target: tuple[str, int]) -> None:
        first, second = DemoTraffic(tmp_path / "load.jsonl"), DemoTraffic(tmp_path / "load.jsonl")
        before = await until_answered(first, *a_day(target, "60s"))
        assert second.under_way

        after = await until_answered(second, *a_day(target, "60s"))

        assert after == before  # the report is read from its beginning
        await second.stop()
        assert not first.under_way
        await first.stop()

    asyncio.run(with_server(done, scene))


def test_the_next_day_starts_a_report_of_its_own(tmp_path: Path) -> None:
    async def scene(_: MemberHttpServer, target: tuple[str, int]) -> None:
        traffic = DemoTraffic(tmp_path / "load.jsonl")
        first = [report async for report in traffic.day(*a_day(target, "300ms"))]
        second = [report async for report in traffic.day(*a_day(target, "300ms"))]
        await traffic.stop()
        assert (first[0]["sent"], second[0]["sent"]) == (0, 0)

    asyncio.run(with_server(done, scene))


@pytest.mark.parametrize("text", [None, ""], ids=["no report", "an empty report"])
def test_nothing_is_under_way_and_stopping_it_does_nothing(tmp_path: Path, text: str | None) -> None:
    report = tmp_path / "load.jsonl"
    if text is not None:
        report.write_text(text)

    asyncio.run(DemoTraffic(report).stop())

    assert not DemoTraffic(report).under_way
