"""The outcome of an operation as an HTTP response: status and JSON."""

from __future__ import annotations

import asyncio

from fastapi.responses import JSONResponse, Response

from handler.engine.assembly import Reloaded
from handler.engine.declaring import Redeclared
from handler.operations.address import Address
from handler.operations.outcomes import Done, MemberPass, RequestReply, SettingsApplied
from handler.operations.size_tags import size_tag
from handler.planning.member_details import CloseUp
from handler.planning.plan import Snapshot
from handler.planning.steps import Plan
from handler.snapshots.writing import written
from handler.web.declarations import redeclared
from handler.web.problems import MEDIA, TYPES, ProblemType, details
from handler.web.render import Json, carried_out, closed_up, plain, planned, text_of
from trigger.explain.words import sentence_of
from trigger.reasons import Reason
from trigger.requests import Decision
from trigger.verdicts import Direction


async def answered(address: Address, done: Done) -> Response:
    """Return an outcome as a response, with the status of its address unless the outcome has its own."""
    if isinstance(done, Snapshot):  # for thousands of members it takes a while
        return Response(await asyncio.to_thread(lambda: text_of(written(done))), media_type="application/json")
    problem = _problem(done)
    if problem is None:
        return JSONResponse(_body(done), _status(done) or address.status, _headers(done))
    body, kind = _body(done), TYPES[problem]
    beside = details(problem, _detail(done))
    whole = {**body, **beside} if isinstance(body, dict) else beside
    return JSONResponse(whole, kind.status, _headers(done), MEDIA)


def _headers(done: object) -> dict[str, str]:
    """Return the tag of the size that a decision leaves, or of what a dry run of settings has read."""
    if isinstance(done, SettingsApplied):
        return {"ETag": done.change.tag} if done.dry_run and done.change is not None else {}
    return {"ETag": size_tag(done.state.revision, done.state.desired)} if isinstance(done, Decision) else {}


def _body(done: object) -> Json:
    match done:
        case Decision():
            return _decided(done)
        case RequestReply():
            return execution_json(done)
        case Plan():
            return planned(done)
        case CloseUp() | MemberPass():
            return _of_member(done)
        case Redeclared():
            return redeclared(done)
        case _:
            return plain(done)


def _of_member(done: CloseUp | MemberPass) -> Json:
    if isinstance(done, CloseUp):
        return closed_up(done)
    return {"group": done.group, "member": done.member, "done": [carried_out(each) for each in done.outcomes]}


def _status(done: object) -> int | None:
    """Return 202 for a size that is accepted, now or in its turn; ``None``: the outcome has no status of its own."""
    match done:
        case RequestReply():
            return 202
        case Decision():
            return 202 if _is_accepted(done) else 200
        case Reloaded():
            return 200
        case Redeclared():
            return 200 if done.dry_run or not done.changes else None
        case _:
            return None


def _problem(done: object) -> ProblemType | None:
    """Return why an outcome is a refusal; ``None``: it is none."""
    match done:
        case RequestReply():
            return None if done.accepted else ProblemType.NO_CHANGE
        case Decision():
            if _is_late(done):
                return ProblemType.CHANGED
            kept = {answer.reason for answer in done.answers} <= {Reason.NO_CHANGE}
            return None if kept or _is_accepted(done) else ProblemType.NO_CHANGE
        case Reloaded():
            return ProblemType.FILE_REFUSED if done.problems else None
        case Redeclared():
            return ProblemType.DECLARATION_REFUSED if done.problems else None
        case _:
            return None


def _detail(done: object) -> str:
    match done:
        case RequestReply():
            return sentence_of(done.reason)
        case Decision() if _is_late(done):
            return f"the size of {done.group} has changed since the caller read it, and is {done.desired_to} now"
        case Decision():
            return "; ".join(sentence_of(answer.reason) for answer in done.answers)
        case Reloaded() | Redeclared():
            return "; ".join(str(problem) for problem in done.problems)
        case _:
            return ""


def _is_late(decision: Decision) -> bool:
    """Tell whether a request named a size that its caller had read, and another change came first."""
    answers = decision.answers
    return any(answer.reason is Reason.OUTBID and answer.request.expects is not None for answer in answers)


def _is_accepted(decision: Decision) -> bool:
    return decision.winner is not None or Reason.WAITING_TURN in {answer.reason for answer in decision.answers}


def _decided(decision: Decision) -> dict[str, Json]:
    return {
        "reason": decision.reason.value,
        "desired_from": decision.desired_from,
        "desired_to": decision.desired_to,
        "revision": decision.state.revision,
        "answers": [
            {
                "request": answer.request.id,
                "reason": answer.reason.value,
                "words": sentence_of(answer.reason),
                "clamps": plain(answer.clamps),
            }
            for answer in decision.answers
        ],
        "quiet": _quiet(decision),
    }


def _quiet(decision: Decision) -> Json:
    """Return the quiet time that the decision begins, if it begins one."""
    if decision.winner is None or decision.desired_from is None or decision.desired_to is None or not decision.changed:
        return None
    span = decision.winner.request.quiet_time
    direction = Direction.OUT if decision.desired_to > decision.desired_from else Direction.IN
    return {"seconds": span, "direction": direction.value} if span > 0 else None


def execution_json(asked: RequestReply) -> dict[str, Json]:
    """Return the outcome of an execution as JSON."""
    return {
        "request": asked.request,
        "repeated": asked.repeated,
        "reason": asked.reason.value,
        "words": sentence_of(asked.reason),
        "desired_from": asked.desired_from,
        "desired_to": asked.desired_to,
        "clamps": plain(asked.answer.clamps) if asked.answer is not None else [],
    }
