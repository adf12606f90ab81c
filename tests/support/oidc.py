"""A provider of identities that we did not write (oidc-provider-mock), on the loopback, and a way through it."""

from __future__ import annotations

import contextlib
import html
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs, urljoin, urlsplit

import requests

from tests.support.waiting import PATIENT


@dataclass(frozen=True)
class Provider:
    """A running provider."""

    url: str

    @property
    def issuer(self) -> str:
        """What it calls itself."""
        return str(requests.get(f"{self.url}/.well-known/openid-configuration", timeout=PATIENT).json()["issuer"])

    def know(self, subject: str, claims: Mapping[str, object]) -> None:
        """Have it claim this of a person."""
        requests.put(f"{self.url}/users/{subject}", json=claims, timeout=PATIENT).raise_for_status()

    def agreed(self, address: str, subject: str) -> str:
        """Prove to it that one is this person, as it asks at an address; returns where it leads the browser back to."""
        answer = requests.post(address, data={"sub": subject}, allow_redirects=False, timeout=PATIENT)
        assert answer.status_code == 302, answer.text
        return answer.headers["Location"]

    def denied(self, address: str) -> str:
        """Refuse, and return where it leads the browser back to."""
        answer = requests.post(address, data={"action": "deny"}, allow_redirects=False, timeout=PATIENT)
        (state,) = parse_qs(urlsplit(address).query)["state"]
        return f"{answer.headers['Location']}&state={state}"  # which this one forgets (RFC 6749, 4.1.2.1)

    def logged_out(self, address: str) -> str:
        """Agree to a logout, as it asks at an address; returns where it leads the browser back to."""
        page = requests.get(address, timeout=PATIENT)
        assert page.status_code == 200, page.text
        (action,) = re.findall(r'action="([^"]+)"', page.text)
        values = re.findall(r'name="([^"]+)"[^>]* value="([^"]*)"', page.text)
        form = {name: html.unescape(value) for name, value in values}
        answer = requests.post(urljoin(address, action), data=form, allow_redirects=False, timeout=PATIENT)
        assert answer.status_code == 302, answer.text
        return answer.headers["Location"]


@contextlib.contextmanager
def a_provider() -> Iterator[Provider]:
    """Run one while the block runs."""
    with warnings.catch_warnings(record=True):  # its parts warn of each other
        import oidc_provider_mock

    with oidc_provider_mock.run_server_in_thread() as server:
        yield Provider(f"http://127.0.0.1:{server.server_port}")


def path_of(address: str) -> str:
    """Return what a browser asks its server for."""
    parts = urlsplit(address)
    return f"{parts.path}?{parts.query}"
