"""Hints for a key that a profile does not know: only what means something on its kind of cloud."""

from __future__ import annotations

import pytest

from config.document import profile_keys
from config.document.profiles import ProfileDocument
from config.errors import DeclarationError
from config.load import parse

OPENSTACK = "openstack: {cloud: lab}"
CLOUDSTACK = "cloudstack: {endpoint: 'https://c.example.org/client/api', api_key: {env: K}, secret: {env: S}}"
NEBULA = "opennebula: {endpoint: 'http://one.example.org:2633/RPC2', user: fleet, password: {env: P}}"


def problems(cloud: str, profile: str) -> list[str]:
    text = f"clouds:\n  prod: {{{cloud}}}\nprofiles:\n  web: {{cloud: prod, {profile}}}\n"
    with pytest.raises(DeclarationError) as refused:
        parse(text, "model.yaml")
    return [f"{problem.line}: {problem.message}" for problem in refused.value.problems]


@pytest.mark.parametrize(
    ("cloud", "profile", "nearest"),
    [
        pytest.param(OPENSTACK, "image: i, flavor: f, comand: [a]", None, id="no program on OpenStack"),
        pytest.param(OPENSTACK, "image: i, flavor: f, security_group: [a]", "security_groups", id="OpenStack"),
        pytest.param(OPENSTACK, "image: i, flavor: f, keyname: a", "key_name", id="key_name is OpenStack's"),
        pytest.param(CLOUDSTACK, "zone: z, template: t, offering: o, network: [a]", "networks", id="CloudStack"),
        pytest.param(NEBULA, "template: t, securitygroups: [a]", None, id="OpenNebula has no such thing"),
        pytest.param("process: {}", "command: [a], comand: [b]", "command", id="processes"),
        pytest.param("process: {}", "command: [a], templates: b", None, id="processes have no template"),
    ],
)
def test_the_hint_is_about_this_kind_of_cloud(cloud: str, profile: str, nearest: str | None) -> None:
    (problem,) = problems(cloud, profile)
    assert problem.endswith(f"; the nearest is {nearest}") if nearest else "; known are " in problem


def test_a_misspelt_key_that_is_needed_is_one_problem() -> None:
    assert problems(OPENSTACK, "imag: i, flavor: f") == ["4: profiles.web: unknown key 'imag'; the nearest is image"]


@pytest.mark.parametrize("cloud", ["openstack: {cloud: lab}, process: {}", "opnestack: {cloud: lab}"])
def test_while_the_kind_of_cloud_is_unknown_every_key_is_accepted(cloud: str) -> None:
    found = [line for line in problems(cloud, "image: i, flavor: f, templat: a") if "profiles.web" in line]
    assert found == ["4: profiles.web: unknown key 'templat'; the nearest is template"]


def test_every_key_that_is_named_is_one_of_a_profile() -> None:
    named = {
        *profile_keys.PROGRAM,
        *(key for table in (profile_keys.NEEDED, profile_keys.FURTHER) for keys in table.values() for key in keys),
    }
    assert named <= set(ProfileDocument.keys())
