"""Who we are, and why we are refused, in pysnmp's words."""

from __future__ import annotations

from typing import Any

from pysnmp.hlapi.v3arch import asyncio as hlapi  # type: ignore[import-untyped]
from pysnmp.proto import errind, rfc1902  # type: ignore[import-untyped]

from collector.samples import Reply
from collector.snmp.agents import Community, Identity, User
from collector.snmp.engine import REPORTS, Cure, Trouble
from config.model.access import AuthProtocol, PrivProtocol, SnmpVersion

_AUTH = {
    AuthProtocol.MD5: hlapi.usmHMACMD5AuthProtocol,
    AuthProtocol.SHA: hlapi.usmHMACSHAAuthProtocol,
    AuthProtocol.SHA224: hlapi.usmHMAC128SHA224AuthProtocol,
    AuthProtocol.SHA256: hlapi.usmHMAC192SHA256AuthProtocol,
    AuthProtocol.SHA384: hlapi.usmHMAC256SHA384AuthProtocol,
    AuthProtocol.SHA512: hlapi.usmHMAC384SHA512AuthProtocol,
}
_PRIV = {
    PrivProtocol.DES: hlapi.usmDESPrivProtocol,
    PrivProtocol.AES: hlapi.usmAesCfb128Protocol,
    PrivProtocol.AES192: hlapi.usmAesBlumenthalCfb192Protocol,
    PrivProtocol.AES256: hlapi.usmAesBlumenthalCfb256Protocol,
}
_TROUBLES: dict[type[errind.ErrorIndication], str] = {
    errind.UnsupportedSecurityLevel: REPORTS[1],
    errind.NotInTimeWindow: REPORTS[2],
    errind.UnknownUserName: REPORTS[3],
    errind.WrongDigest: REPORTS[5],
    errind.AuthenticationFailure: REPORTS[5],
    errind.DecryptionError: REPORTS[6],
}


def credentials(identity: Identity) -> hlapi.CommunityData | hlapi.UsmUserData:
    """Return the identity to ask with; the keys are master keys."""
    match identity:
        case Community(version=version, name=name):
            return hlapi.CommunityData(name, mpModel=0 if version is SnmpVersion.V1 else 1)
        case User(name=name, auth=auth, priv=priv):
            keys: dict[str, Any] = {"authKeyType": hlapi.usmKeyTypeMaster, "privKeyType": hlapi.usmKeyTypeMaster}
            if auth is not None:
                keys |= {"authProtocol": _AUTH[auth[0]], "authKey": rfc1902.OctetString(auth[1])}
            if priv is not None:
                keys |= {"privProtocol": _PRIV[priv[0]], "privKey": rfc1902.OctetString(priv[1])}
            return hlapi.UsmUserData(name, **keys)  # noqa: S509  # as strong as the operator declared


def trouble(indication: errind.ErrorIndication) -> Trouble:
    """Return what pysnmp found wrong with an answer."""
    detail = _TROUBLES.get(type(indication))
    if detail is not None:
        return Trouble(reply=Reply.AUTH, detail=detail)
    return Trouble(reply=Reply.MALFORMED, detail=f"the answer cannot be read: {indication}", cure=Cure.SPLIT)
