"""Errors as CloudStack gives them: a code that is the HTTP status as well, an internal code, and a text.

Clients compare the codes, and some compare parts of the texts. Source: CloudStack 4.22, `ApiErrorCode` and
`CSExceptionErrorCode`.
"""

from __future__ import annotations

from enum import IntEnum
from http import HTTPStatus
from typing import Final

NOT_VERIFIED: Final = "unable to verify user credentials and/or request signature"
BOUND_BY_USERS: Final = (
    "there are Vms already bound to the specified LoadBalancing Rule. User bound Vms and AutoScaled Vm Group cannot "
    "co-exist on a Load Balancing Rule"
)
_RAISED_DIRECTLY: Final = 9999


class FaultCode(IntEnum):
    """Error codes, which are HTTP statuses, too."""

    UNAUTHORIZED = HTTPStatus.UNAUTHORIZED
    METHOD_NOT_ALLOWED = HTTPStatus.METHOD_NOT_ALLOWED
    TOO_MANY = HTTPStatus.TOO_MANY_REQUESTS
    MALFORMED_PARAMETER = 430
    PARAMETER = 431
    UNSUPPORTED = 432
    INTERNAL = 530
    ACCOUNT = 531
    RESOURCE_LIMIT = 532
    UNAVAILABLE = 534
    IN_USE = 536


_INTERNAL_CODES: Final = {
    FaultCode.PARAMETER: 4350,
    FaultCode.ACCOUNT: 4365,
    FaultCode.IN_USE: 4375,
    FaultCode.INTERNAL: 4250,
    FaultCode.RESOURCE_LIMIT: 4370,
    FaultCode.UNAVAILABLE: 4380,
}


class CloudstackFault(Exception):
    """A command is not carried out. Nothing has changed."""

    def __init__(self, code: FaultCode, text: str, internal: int | None = None) -> None:
        """Make a fault; ``internal`` left out: the usual one of the code."""
        super().__init__(text)
        self.code, self.text = code, text
        self.internal = _INTERNAL_CODES.get(code, _RAISED_DIRECTLY) if internal is None else internal

    @property
    def is_of_a_parameter(self) -> bool:
        """Whether CloudStack finds it before it begins a job: the answer is the error itself then, and not a job."""
        return self.internal == _RAISED_DIRECTLY


def wrong(text: str) -> CloudstackFault:
    """Return the fault of a value that a command does not take."""
    return CloudstackFault(FaultCode.PARAMETER, text)


def in_use(text: str) -> CloudstackFault:
    """Return the fault of a deletion of what is used."""
    return CloudstackFault(FaultCode.IN_USE, text)


def missing(command: str, parameter: str) -> CloudstackFault:
    """Return the fault of a parameter that is required and not given; ``command`` as the envelope names it."""
    text = f"Unable to execute API command {command} due to missing parameter {parameter}"
    return CloudstackFault(FaultCode.PARAMETER, text, _RAISED_DIRECTLY)


def invalid(command: str, parameter: str, value: str) -> CloudstackFault:
    """Return the fault of a value that is not of its parameter's type."""
    text = f"Unable to execute API command {command} due to invalid value {value} for parameter {parameter}"
    return CloudstackFault(FaultCode.PARAMETER, text, _RAISED_DIRECTLY)


def unknown_id(command: str, parameter: str, value: str) -> CloudstackFault:
    """Return the fault of an id that nothing has; the Go client and Terraform find out by this text that it is gone."""
    text = (
        f"Unable to execute API command {command} due to invalid value. Invalid parameter {parameter} value={value} "
        "due to incorrect long value format, or entity does not exist or due to incorrect parameter annotation for "
        "the field in api cmd class."
    )
    return CloudstackFault(FaultCode.PARAMETER, text, _RAISED_DIRECTLY)


def unauthorized() -> CloudstackFault:
    """Return the one fault of every request that is not verified: it does not say why."""
    return CloudstackFault(FaultCode.UNAUTHORIZED, NOT_VERIFIED, _RAISED_DIRECTLY)
