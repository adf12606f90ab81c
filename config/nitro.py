"""The statistics of a NetScaler that are numbers: of a virtual server, and of a member of a service group.

Source: NITRO API reference, statistics of lbvserver, service and servicegroupmember.

What only a service has, and no member of a service group: ``curload``, ``activetransactions``, ``vsvrservicehits`` and
its rate. The reference gives no unit for the times to the first and last byte; dashboards read them as milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from config.counters import Kind
from config.objects import Shape


def _rising(unit: str) -> Shape:
    return Shape(kind=Kind.RISING, bits=64, unit=unit)


def _gauge(unit: str = "", span: tuple[float, float] | None = None) -> Shape:
    return Shape(bits=64, unit=unit, range=span)


_PERCENT = _gauge("percent", (0.0, 100.0))

MEMBER_STATISTICS: Mapping[str, Shape] = MappingProxyType(
    {
        "avgsvrttfb": _gauge("ms"),  # time to the first byte of an answer
        "curclntconnections": _gauge("connections"),
        "cursrvrconnections": _gauge("connections"),
        "svrestablishedconn": _gauge("connections"),
        "curreusepool": _gauge("connections"),
        "surgecount": _gauge("requests"),
        "maxclients": _gauge("connections"),
        "curload": _PERCENT,
        "activetransactions": _gauge("requests"),
        "totalrequests": _rising("requests/s"),
        "totalresponses": _rising("responses/s"),
        "totalrequestbytes": _rising("bytes/s"),
        "totalresponsebytes": _rising("bytes/s"),
        "requestsrate": _gauge("requests/s"),  # rates are the appliance's own, over some seconds
        "responsesrate": _gauge("responses/s"),
        "requestbytesrate": _gauge("bytes/s"),
        "responsebytesrate": _gauge("bytes/s"),
        "vsvrservicehits": _rising("hits/s"),
        "vsvrservicehitsrate": _gauge("hits/s"),
        "totsvrttlbtransactions": _rising("requests/s"),
        "toleratingttlbtransactions": _rising("requests/s"),  # slower than the APDEX threshold T, faster than 4 T
        "frustratingttlbtransactions": _rising("requests/s"),  # slower than 4 T
    }
)

VSERVER_STATISTICS: Mapping[str, Shape] = MappingProxyType(
    {
        "actsvcs": _gauge("members"),
        "inactsvcs": _gauge("members"),
        "vslbhealth": _PERCENT,
        "tothits": _rising("hits/s"),
        "hitsrate": _gauge("hits/s"),
        "totalrequests": _rising("requests/s"),
        "totalresponses": _rising("responses/s"),
        "totalrequestbytes": _rising("bytes/s"),
        "totalresponsebytes": _rising("bytes/s"),
        "requestsrate": _gauge("requests/s"),
        "responsesrate": _gauge("responses/s"),
        "requestbytesrate": _gauge("bytes/s"),
        "responsebytesrate": _gauge("bytes/s"),
        "totalpktsrecvd": _rising("packets/s"),
        "totalpktssent": _rising("packets/s"),
        "pktsrecvdrate": _gauge("packets/s"),
        "pktssentrate": _gauge("packets/s"),
        "curclntconnections": _gauge("connections"),
        "cursrvrconnections": _gauge("connections"),
        "curpersistencesessions": _gauge("sessions"),
        "establishedconn": _gauge("connections"),
        "surgecount": _gauge("requests"),
        "svcsurgecount": _gauge("requests"),
        "vsvrsurgecount": _gauge("requests"),
        "totspillovers": _rising("spillovers/s"),
        "deferredreq": _rising("requests/s"),
        "deferredreqrate": _gauge("requests/s"),
        "totalsvrbusyerr": _rising("errors/s"),
        "svrbusyerrrate": _gauge("errors/s"),
        "invalidrequestresponse": _rising("errors/s"),
        "invalidrequestresponsedropped": _rising("errors/s"),
        "totvserverdownbackuphits": _rising("hits/s"),
        "sothreshold": _gauge(),
        "totcltttlbtransactions": _rising("requests/s"),
        "toleratingttlbtransactions": _rising("requests/s"),
        "frustratingttlbtransactions": _rising("requests/s"),
        "cltresponsetimeapdex": _gauge("", (0.0, 1.0)),
        "avgcltttlb": _gauge("ms"),  # time to the last byte, as clients see it
        "cpuusagepm": _gauge("permille", (0.0, 1000.0)),
    }
)

CLOUDSTACK_NAMES: Mapping[str, str] = MappingProxyType({"RESPTIME": "avgsvrttfb"})
"""CloudStack's counters of source ``netscaler`` → NITRO's. It has no equal to RESPTIME; this is the nearest."""
