"""Members of one machine share one listening socket, which a small holder process owns and hands to them.

The holder and the members' side are in `holder` and `registration`; this driver starts the holder and talks to it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from config.errors import Permanent, Transient
from config.model.balancers import SharedListener
from config.units import MemberName
from handler.balancers.exchange import exchange
from handler.balancers.registrations import ours
from handler.balancers.shared_listener import protocol
from handler.planning.launches import LaunchId
from handler.planning.world import Registration, RegistrationState

_WITHIN = 2.0
_START_WITHIN = 10.0
_LONGEST_PATH = 107
"""Bytes of a unix socket's path: ``sun_path`` of unix(7), less the closing zero."""

_ANOTHER_RUNS = 3
_STATES: Mapping[protocol.State, RegistrationState] = {
    "parked": RegistrationState.PARKED,
    "serving": RegistrationState.SERVING,
    "draining": RegistrationState.DRAINING,
}
_ENVIRONMENT = ("PATH", "PYTHONHOME", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG", "TZ")
"""The holder's environment: our other variables may be secret, and a holder lives long."""

_ROOT = Path(__file__).parents[3]


class SharedListenerBalancer:
    """The `Balancer` of a `SharedListener`. Starts its holder if none answers, and uses a running one.

    A member takes part by `handler.balancers.shared_listener.member.keep_registered`, before or after it is registered
    here.
    """

    def __init__(self, declaration: SharedListener, directory: Path) -> None:
        self._id = declaration.id
        self._listen = f"{declaration.address}:{declaration.port}"
        self._directory = directory

    @property
    def control(self) -> Path:
        """Return the holder's control socket, which members connect to."""
        return self._directory / f"{self._id}.sock"

    def registrations(self) -> Mapping[MemberName, Registration]:
        """Return all registered members, even those whose process has not come yet or has died.

        Health is not reported: the holder makes no checks, and the cloud notices a dead process.
        """
        registered = {}
        for name, state, connections in self._registrations().registrations:
            if LaunchId.parse(name) is not None:
                member = MemberName(name)
                registered[member] = Registration(member=member, state=_STATES[state], connections=connections)
        return registered

    def join(self, member: MemberName, address: str, port: int) -> None:
        """Register a member; its own address does not matter, since it gets the shared socket."""
        self._change("join", member)

    def enable(self, member: MemberName) -> None:
        """Hand the listening socket to the member's process, now or as soon as it comes."""
        self._change("enable", member)

    def drain(self, member: MemberName) -> None:
        """Make the member stop accepting. Its connections are ``None`` until it has confirmed."""
        self._change("drain", member)

    def leave(self, member: MemberName) -> None:
        """Deregister the member; its process closes the socket."""
        self._change("leave", member)

    def incarnation(self) -> str:
        """Return the holder's process id and start time."""
        return self._registrations().holder

    def stop(self) -> None:
        """End the holder and free the port, for the end of a demo or of a group. Not running is success.

        Raises:
            Transient: it does not answer.
        """
        try:
            self._exchange(protocol.EndMessage())
        except (FileNotFoundError, ConnectionRefusedError):
            return
        except OSError as problem:
            raise self._unreachable(problem) from problem

    def _registrations(self) -> protocol.RegistrationsMessage:
        answer = self._ask(protocol.AskRegistrations())
        if not isinstance(answer, protocol.RegistrationsMessage):
            raise Transient(f"the holder of listener {self._id} answered {answer} instead of its registrations")
        if answer.listen != self._listen:
            raise Permanent(
                f"the holder of listener {self._id} serves {answer.listen}, not {self._listen}: members cannot move to "
                "another address while they serve; declare it as a balancer with another name"
            )
        return answer

    def _change(self, verb: protocol.Verb, member: MemberName) -> None:
        answer = self._ask(protocol.ChangeMessage(ask=verb, registration=ours(member)))
        if not isinstance(answer, protocol.DoneMessage):
            raise Transient(f"the holder of listener {self._id} answered {answer} instead of doing {verb}")

    def _ask(self, question: protocol.FromDriver) -> protocol.Message:
        try:
            answer = self._answer(question)
        except protocol.ProtocolError as problem:
            raise Transient(f"the holder of listener {self._id} does not follow the protocol: {problem}") from problem
        except OSError as problem:
            raise self._unreachable(problem) from problem
        if isinstance(answer, protocol.RefusedMessage):
            if answer.final:
                raise Permanent(f"listener {self._id}: {answer.why}")
            raise Transient(f"listener {self._id}: {answer.why}", retry_after=1.0)
        return answer

    def _answer(self, question: protocol.FromDriver) -> protocol.Message:
        try:
            return self._exchange(question)
        except (FileNotFoundError, ConnectionRefusedError):
            self._start()
            return self._exchange(question)

    def _exchange(self, question: protocol.FromDriver) -> protocol.Message:
        length = len(os.fsencode(self.control))
        if length > _LONGEST_PATH:
            raise Permanent(
                f"{self.control} is {length} bytes long, and a unix socket's path may have {_LONGEST_PATH}: "
                "use a shorter state directory"
            )
        longest = protocol.LONGEST_ANSWER
        return protocol.decode(exchange(self.control, protocol.encode(question), within=_WITHIN, at_most=longest))

    def _start(self) -> None:
        """Start the holder; returns once it answers. Of two that start at once, one finds the other's lock and goes."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        module = "handler.balancers.shared_listener.holder"
        try:
            started = subprocess.run(
                [sys.executable, "-m", module, "--control", str(self.control.absolute()), "--listen", self._listen],
                cwd=_ROOT,  # `-m` looks here first: a foreign `handler` in the working directory must not be found
                env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                start_new_session=True,
                timeout=_START_WITHIN,
                check=False,
            )
        except subprocess.TimeoutExpired as problem:
            raise Transient(
                f"the holder of listener {self._id} did not start within {_START_WITHIN:.0f} s"
            ) from problem
        if started.returncode not in (0, _ANOTHER_RUNS):
            last_line = started.stderr.decode(errors="replace").strip().splitlines()[-1:]
            raise Transient(f"the holder of listener {self._id} did not start: {' '.join(last_line)}")

    def _unreachable(self, problem: OSError) -> Transient:
        return Transient(
            f"the holder of listener {self._id} does not answer on {self.control}: {str(problem) or 'too slow'}"
        )
