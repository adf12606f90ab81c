"""What routes share that change something or send requests: who asks, the token, and how a decision is answered."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Header, Request
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from handler.web.gate import BEARER, UNAUTHORIZED
from handler.web.render import Json, plain
from trigger.explain.words import sentence_of
from trigger.reasons import Reason
from trigger.requests import Decision
from trigger.verdicts import Direction

By = Annotated[str, Header(alias="X-Trimtab-User", max_length=64, description="Who asks; recorded in the history.")]


def _refuse_without_token(request: Request) -> None:
    if not request.scope.get(BEARER, False):
        raise HTTPException(401, UNAUTHORIZED, {"WWW-Authenticate": "Bearer"})


NeedsToken = Depends(_refuse_without_token)
"""Of a GET that makes the daemon send requests to members, clouds or balancers: over TCP it needs the token."""


def decided(decision: Decision) -> JSONResponse:
    """202 for a size that is made, now or in its turn, 200 for one that is there, 403 for one that will not be."""
    answers = [_answer(answer.request.id, answer.reason, plain(answer.clamps)) for answer in decision.answers]
    body: dict[str, Json] = {
        "reason": decision.reason.value,
        "desired_from": decision.desired_from,
        "desired_to": decision.desired_to,
        "revision": decision.state.revision,
        "answers": list(answers),
        "quiet": _quiet(decision),
    }
    if decision.winner is not None or any(each.reason is Reason.WAITING_TURN for each in decision.answers):
        return JSONResponse(body, 202)
    return JSONResponse(body, 200 if all(each.reason is Reason.NO_CHANGE for each in decision.answers) else 403)


def _quiet(decision: Decision) -> Json:
    """The quiet time that the decision begins, if it begins one."""
    if decision.winner is None or decision.desired_from is None or decision.desired_to is None or not decision.changed:
        return None
    span = decision.winner.request.quiet_time
    direction = Direction.OUT if decision.desired_to > decision.desired_from else Direction.IN
    return {"seconds": span, "direction": direction.value} if span > 0 else None


def _answer(request: str, reason: Reason, clamps: Json) -> Json:
    return {"request": request, "reason": reason.value, "words": sentence_of(reason), "clamps": clamps}
