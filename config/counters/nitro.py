"""The statistics of a NetScaler that are numbers: of a virtual server, and of a member of a service group.

Source: NITRO API reference, statistics of lbvserver, service and servicegroupmember.

What only a service has, and no member of a service group: ``curload``, ``activetransactions``, ``vsvrservicehits`` and
its rate. The reference gives no unit for the times to the first and last byte; dashboards read them as milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from config.counters.objects import ObjectShape
from config.model.counters import CounterKind


def _rising(unit: str) -> ObjectShape:
    return ObjectShape(kind=CounterKind.RISING, bits=64, unit=unit)


def _gauge(unit: str = "", span: tuple[float, float] | None = None) -> ObjectShape:
    return ObjectShape(bits=64, unit=unit, range=span)


def _documented(shape: ObjectShape, description: str) -> ObjectShape:
    return replace(shape, description=description)


_PERCENT = _gauge("percent", (0.0, 100.0))

MEMBER_STATISTICS: Mapping[str, ObjectShape] = MappingProxyType(
    {
        "avgsvrttfb": _documented(_gauge("ms"), "Time to the first byte of an answer."),
        "curclntconnections": _documented(_gauge("connections"), "Connections with clients."),
        "cursrvrconnections": _documented(_gauge("connections"), "Connections with servers."),
        "svrestablishedconn": _documented(_gauge("connections"), "Connections with the server that are established."),
        "curreusepool": _documented(_gauge("connections"), "Idle connections kept for reuse."),
        "surgecount": _documented(_gauge("requests"), "Requests in the surge queue."),
        "maxclients": _documented(_gauge("connections"), "Connections that there may be."),
        "curload": _documented(_PERCENT, "Load, as a load monitor found it."),
        "activetransactions": _documented(_gauge("requests"), "Requests being worked on."),
        "totalrequests": _documented(_rising("requests/s"), "Requests."),
        "totalresponses": _documented(_rising("responses/s"), "Responses."),
        "totalrequestbytes": _documented(_rising("bytes/s"), "Bytes of requests."),
        "totalresponsebytes": _documented(_rising("bytes/s"), "Bytes of responses."),
        "requestsrate": _documented(_gauge("requests/s"), "Requests, by the appliance's own rate over some seconds."),
        "responsesrate": _documented(_gauge("responses/s"), "Responses, by the appliance's own rate."),
        "requestbytesrate": _documented(_gauge("bytes/s"), "Bytes of requests, by the appliance's own rate."),
        "responsebytesrate": _documented(_gauge("bytes/s"), "Bytes of responses, by the appliance's own rate."),
        "vsvrservicehits": _documented(_rising("hits/s"), "Times that it was chosen."),
        "vsvrservicehitsrate": _documented(_gauge("hits/s"), "Times that it was chosen, by the appliance's own rate."),
        "totsvrttlbtransactions": _documented(_rising("requests/s"), "Requests whose time to the last byte was taken."),
        "toleratingttlbtransactions": _documented(
            _rising("requests/s"), "Requests slower than the APDEX threshold T, and faster than 4 T."
        ),
        "frustratingttlbtransactions": _documented(
            _rising("requests/s"), "Requests slower than 4 times the APDEX threshold."
        ),
    }
)

VSERVER_STATISTICS: Mapping[str, ObjectShape] = MappingProxyType(
    {
        "actsvcs": _documented(_gauge("members"), "Members that are up."),
        "inactsvcs": _documented(_gauge("members"), "Members that are not up."),
        "vslbhealth": _documented(_PERCENT, "Share of members that are up."),
        "tothits": _documented(_rising("hits/s"), "Times that it was asked."),
        "hitsrate": _documented(_gauge("hits/s"), "Times that it was asked, by the appliance's own rate."),
        "totalrequests": _documented(_rising("requests/s"), "Requests."),
        "totalresponses": _documented(_rising("responses/s"), "Responses."),
        "totalrequestbytes": _documented(_rising("bytes/s"), "Bytes of requests."),
        "totalresponsebytes": _documented(_rising("bytes/s"), "Bytes of responses."),
        "requestsrate": _documented(_gauge("requests/s"), "Requests, by the appliance's own rate over some seconds."),
        "responsesrate": _documented(_gauge("responses/s"), "Responses, by the appliance's own rate."),
        "requestbytesrate": _documented(_gauge("bytes/s"), "Bytes of requests, by the appliance's own rate."),
        "responsebytesrate": _documented(_gauge("bytes/s"), "Bytes of responses, by the appliance's own rate."),
        "totalpktsrecvd": _documented(_rising("packets/s"), "Packets received."),
        "totalpktssent": _documented(_rising("packets/s"), "Packets sent."),
        "pktsrecvdrate": _documented(_gauge("packets/s"), "Packets received, by the appliance's own rate."),
        "pktssentrate": _documented(_gauge("packets/s"), "Packets sent, by the appliance's own rate."),
        "curclntconnections": _documented(_gauge("connections"), "Connections with clients."),
        "cursrvrconnections": _documented(_gauge("connections"), "Connections with servers."),
        "curpersistencesessions": _documented(_gauge("sessions"), "Sessions that stick to a member."),
        "establishedconn": _documented(_gauge("connections"), "Connections with clients that are established."),
        "surgecount": _documented(_gauge("requests"), "Requests in the surge queue."),
        "svcsurgecount": _documented(_gauge("requests"), "Requests in the members' surge queues."),
        "vsvrsurgecount": _documented(_gauge("requests"), "Requests in its own surge queue."),
        "totspillovers": _documented(_rising("spillovers/s"), "Requests that spilled over."),
        "deferredreq": _documented(_rising("requests/s"), "Requests put off."),
        "deferredreqrate": _documented(_gauge("requests/s"), "Requests put off, by the appliance's own rate."),
        "totalsvrbusyerr": _documented(_rising("errors/s"), "Errors for a busy server."),
        "svrbusyerrrate": _documented(_gauge("errors/s"), "Errors for a busy server, by the appliance's own rate."),
        "invalidrequestresponse": _documented(_rising("errors/s"), "Requests and responses that are no HTTP."),
        "invalidrequestresponsedropped": _documented(
            _rising("errors/s"), "Requests and responses that are no HTTP, dropped."
        ),
        "totvserverdownbackuphits": _documented(_rising("hits/s"), "Requests for its backup while it was down."),
        "sothreshold": _documented(_gauge(), "Threshold of spillover."),
        "totcltttlbtransactions": _documented(
            _rising("requests/s"), "Requests of clients whose time to the last byte was taken."
        ),
        "toleratingttlbtransactions": _documented(
            _rising("requests/s"), "Requests slower than the APDEX threshold T, and faster than 4 T."
        ),
        "frustratingttlbtransactions": _documented(
            _rising("requests/s"), "Requests slower than 4 times the APDEX threshold."
        ),
        "cltresponsetimeapdex": _documented(_gauge("", (0.0, 1.0)), "APDEX of response times, from 0 to 1."),
        "avgcltttlb": _documented(_gauge("ms"), "Time to the last byte, as clients see it."),
        "cpuusagepm": _documented(_gauge("permille", (0.0, 1000.0)), "Share of CPU."),
    }
)

CLOUDSTACK_NAMES: Mapping[str, str] = MappingProxyType({"RESPTIME": "avgsvrttfb"})
"""CloudStack's counters of source ``netscaler`` → NITRO's. It has no equal to RESPTIME; this is the nearest."""
