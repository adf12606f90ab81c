from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handler.balancers.shared_listener.protocol import (
    Active,
    AskRegistrations,
    ChangeMessage,
    Dismiss,
    DoneMessage,
    EndMessage,
    Hello,
    Message,
    ProtocolError,
    RefusedMessage,
    RegistrationsMessage,
    Start,
    State,
    Stop,
    Stopped,
    Verb,
    Welcome,
    decode,
    encode,
)

names = st.text(min_size=1)
counts = st.integers(min_value=0, max_value=2**31)
states = st.sampled_from(State.__args__)
messages = st.one_of(
    st.builds(
        Hello, registration=names, was=st.sampled_from([None, "draining"]), of=st.none() | names, socket=st.booleans()
    ),
    st.builds(Hello, registration=names, was=st.just("serving"), of=st.none() | names, socket=st.just(True)),
    st.builds(Active, connections=counts),
    st.builds(Stopped, connections=counts),
    st.builds(Welcome, holder=names),
    st.sampled_from([Start(), Stop(), Dismiss(), DoneMessage(), AskRegistrations(), EndMessage()]),
    st.builds(ChangeMessage, ask=st.sampled_from(Verb.__args__), registration=names),
    st.builds(
        RegistrationsMessage,
        holder=names,
        listen=names,
        registrations=st.lists(st.tuples(names, states, st.none() | counts)).map(tuple),
    ),
    st.builds(RefusedMessage, why=st.text(), final=st.booleans()),
)


@given(messages)
def test_a_message_reads_as_it_was_written(message: Message) -> None:
    assert decode(encode(message)) == message


@given(messages)
def test_a_message_is_one_line(message: Message) -> None:
    assert encode(message).index(b"\n") == len(encode(message)) - 1


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"hello", id="not-json"),
        pytest.param(b"\xff\xfe", id="not-text"),
        pytest.param(b"[]", id="not-an-object"),
        pytest.param(b"{}", id="empty"),
        pytest.param(b'{"say":"sing"}', id="unknown-word"),
        pytest.param(b'{"say":"start","now":true}', id="unknown-field"),
        pytest.param(b'{"say":"active"}', id="missing-field"),
        pytest.param(b'{"say":"active","connections":-1}', id="negative-count"),
        pytest.param(b'{"say":"active","connections":true}', id="count-is-a-truth"),
        pytest.param(b'{"say":"active","connections":1.0}', id="count-is-a-fraction"),
        pytest.param(b'{"say":"hello","seat":"","was":null,"of":null,"socket":false}', id="no-name"),
        pytest.param(b'{"say":"hello","seat":"a","was":"parked","of":null,"socket":false}', id="told-to-park"),
        pytest.param(
            b'{"say":"hello","seat":"a","was":"serving","of":"1","socket":false}', id="serving-without-socket"
        ),
        pytest.param(b'{"say":"hello","seat":"a","was":null,"of":null,"socket":0}', id="truth-is-a-count"),
        pytest.param(b'{"ask":"join"}', id="whose-registration"),
        pytest.param(b'{"ask":"dance","seat":"a"}', id="unknown-verb"),
        pytest.param(b'{"say":"seats","holder":"1","listen":"a:1","seats":[["a","gone",0]]}', id="unknown-state"),
        pytest.param(b'{"say":"seats","holder":"1","listen":"a:1","seats":[["a","parked"]]}', id="short-registration"),
    ],
)
def test_what_is_not_in_the_table_is_refused(line: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(line)
