"""A real browser without a window, steered over its debugging pipe: what it asks for, complains of and shows."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.waiting import PATIENT, stopped

_LAUNCH = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execvp(sys.argv[3], sys.argv[3:])"
)
_OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)  # fmt: skip
_KEYS = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowRight": 39}


class Browser:
    """Speaks the DevTools protocol: one JSON message after another, each ended by a zero byte."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write = read, write
        self._buffer, self._last = b"", 0
        self._pages: dict[str, Page] = {}

    def page(self, *, width: int = 1200, height: int = 900, dark: bool = False, script: bool = True) -> Page:
        """An empty page of this size."""
        target = self.ask("Target.createTarget", {"url": "about:blank", "newWindow": True})["targetId"]
        session = self.ask("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = self._pages[session] = Page(browser=self, session=session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.ask(f"{domain}.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        page.ask("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.ask("Emulation.setEmulatedMedia", {"features": [scheme]})
        page.ask("Emulation.setScriptExecutionDisabled", {"value": not script})
        return page

    def ask(self, method: str, params: dict[str, Any] | None = None, session: str | None = None) -> dict[str, Any]:
        """Send one command and wait for its answer; events that come meanwhile go to their page."""
        self._last += 1
        command = {"id": self._last, "method": method, "params": params or {}}
        sent = json.dumps(command | ({"sessionId": session} if session else {})).encode() + b"\0"
        while sent:
            sent = sent[os.write(self._write, sent) :]
        deadline = time.monotonic() + PATIENT
        while True:
            message = self._next(deadline, method)
            if message.get("id") == self._last:
                if "navigated or closed" in str(message.get("error")):
                    raise PageLeft(method)
                assert "error" not in message, f"{method}: {message['error']}"
                result: dict[str, Any] = message["result"]
                return result
            if message.get("sessionId") in self._pages:
                self._pages[message["sessionId"]].hear(message)

    def _next(self, deadline: float, method: str) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(deadline - time.monotonic(), 0.0))
            assert ready, f"the browser did not answer {method} within {PATIENT} s"
            part = os.read(self._read, 1 << 16)
            assert part, f"the browser ended at {method}"
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        decoded: dict[str, Any] = json.loads(message)
        return decoded


class PageLeft(AssertionError):
    """The page was left, for another one or by reloading, while something was asked of it."""


@dataclass(slots=True, kw_only=True)
class Page:
    """One page, and what it did."""

    browser: Browser
    session: str
    problems: list[str] = field(default_factory=list)
    """Everything that the console shows as an error or a warning, and every exception."""
    requests: list[str] = field(default_factory=list)
    """Every address that was asked for."""

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return self.browser.ask(method, params, self.session)

    def hear(self, message: dict[str, Any]) -> None:
        """Keep what tests ask about."""
        params = message["params"]
        match message["method"]:
            case "Runtime.exceptionThrown":
                self.problems.append(json.dumps(params["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if params["type"] in {"error", "warning", "assert"}:
                self.problems.append(json.dumps(params["args"]))
            case "Log.entryAdded" if params["entry"]["level"] in {"error", "warning"}:
                self.problems.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])

    def go(self, url: str) -> None:
        """Load a page to its end."""
        self.ask("Page.navigate", {"url": url})
        self.until(f"location.href === {json.dumps(url)} && document.readyState === 'complete'")

    def run(self, script: str) -> Any:
        """The value of an expression."""
        answer = self.ask("Runtime.evaluate", {"expression": script, "returnByValue": True, "awaitPromise": True})
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key, as a person does."""
        code = _KEYS[key]
        down = {"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code}
        self.ask("Input.dispatchKeyEvent", down | ({"text": "\r"} if key == "Enter" else {}))
        self.ask("Input.dispatchKeyEvent", down | {"type": "keyUp"})

    def drag(self, box: dict[str, float], begin: float, end: float) -> None:
        """Drag the mouse across a box, from one share of its width to another."""
        y = box["y"] + box["height"] / 2
        for kind, share in (
            ("mouseMoved", begin),
            ("mousePressed", begin),
            ("mouseMoved", end),
            ("mouseReleased", end),
        ):
            at = {"x": box["x"] + share * box["width"], "y": y, "button": "left", "clickCount": 1}
            self.ask("Input.dispatchMouseEvent", {"type": kind, **at})

    def close(self) -> None:
        """Close it, so that it listens no longer."""
        self.ask("Page.close")

    def until(self, script: str, within: float = PATIENT, doing: Callable[[], None] = lambda: None) -> None:
        """Wait until an expression is true, ``doing`` something between two looks."""
        deadline = time.monotonic() + within
        while not self._holds(script):
            doing()
            assert time.monotonic() < deadline, f"not within {within} s: {script}; shown: {self.text()}"
            time.sleep(0.05)

    def _holds(self, script: str) -> bool:
        try:
            return bool(self.run(f"Boolean({script})"))
        except PageLeft:  # the next look is at the page that comes
            return False

    def text(self) -> str:
        """What a person reads."""
        return str(self.run("document.body.innerText"))

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Write what is shown as a PNG; ``whole``: also what one would have to scroll to."""
        shot = self.ask("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": whole} | self._clip(whole))
        path.write_bytes(base64.b64decode(shot["data"]))

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}


@contextlib.contextmanager
def running_chromium(folder: Path) -> Iterator[Browser]:
    """Run the browser until the block ends, with a profile of its own."""
    ours_read, theirs_write = os.pipe()
    theirs_read, ours_write = os.pipe()
    # Out of the way of 3 and 4, which the browser expects its two ends to be.
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in (theirs_read, theirs_write)]
    command = [
        sys.executable,
        "-c",
        _LAUNCH,
        *map(str, high),
        "chromium",
        *_OPTIONS,
        f"--user-data-dir={folder / 'profile'}",
    ]
    log = folder / "chromium.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, pass_fds=high, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    for end in (*high, theirs_read, theirs_write):
        os.close(end)
    try:
        with stopped(process):
            yield Browser(ours_read, ours_write)
    finally:
        os.close(ours_read)
        os.close(ours_write)
