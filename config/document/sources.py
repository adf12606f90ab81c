"""How to reach what is measured, as it is written: secrets, SNMP access, HTTP access, and the ``sources`` section."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, Strict, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import PydanticCustomError, core_schema

from config.document.addresses import BaseUrl
from config.document.declared import Declared, key, must
from config.document.on_workers import Workers, on_workers
from config.document.quantities import BodyLimit
from config.document.scalars import (
    AbsolutePath,
    BackendName,
    CredentialName,
    Given,
    Port,
    PositiveSpan,
    Text,
    Variable,
    VaultPath,
    Yes,
)
from config.model.access import (
    AuthProtocol,
    Basic,
    BearerToken,
    Credentials,
    HttpAccess,
    PrivProtocol,
    SecretRef,
    SnmpAccess,
    SnmpLibrary,
    SnmpUser,
    SnmpVersion,
    Trust,
)

_Lax = Strict(False)


class LocalSecretDocument(Declared):
    """Where a secret is kept on this machine: one that is needed to reach the vault, or before it is reached."""

    model_config = ConfigDict(title="local secret")

    choice: ClassVar[tuple[str, ...]] = ("env", "file", "credential")
    choice_of: ClassVar[str] = "the place of the secret"
    hidden: ClassVar[frozenset[str]] = frozenset({"env", "file", "credential"})
    refused: ClassVar[Mapping[str, str]] = {
        "vault": "this secret is needed before the vault is reached, so it is kept on this machine"
    }

    env: Annotated[Variable | None, Given] = key("The environment variable that holds the secret.", "SNMP_COMMUNITY")
    file: Annotated[Text | None, Given] = key(
        "The file that holds the secret; others must not be able to read it.", "/etc/trimtab/community"
    )
    credential: Annotated[CredentialName | None, Given] = key(
        "The credential of the service that is the secret: LoadCredential= or LoadCredentialEncrypted= of its unit.",
        "community",
    )

    @property
    def ref(self) -> SecretRef:
        """The reference itself."""
        return SecretRef(env=self.env, file=self.file, credential=self.credential)


class SecretDocument(LocalSecretDocument):
    """Where a secret is kept. Secrets themselves never stand in this file."""

    model_config = ConfigDict(title="secret")

    choice: ClassVar[tuple[str, ...]] = (*LocalSecretDocument.choice, "vault")
    together: ClassVar[tuple[str, ...]] = ("vault", "field")
    refused: ClassVar[Mapping[str, str]] = {}
    hidden: ClassVar[frozenset[str]] = LocalSecretDocument.hidden | {"vault", "field"}

    vault: Annotated[VaultPath | None, Given] = key(
        "The path of the secret in the vault, with its mount; KV 2: without data/.", "secret/trimtab/cloud"
    )
    field: Annotated[Text | None, Given] = key(
        "Which field of the secret in the vault.", "api_key", left_out="none: it goes with vault"
    )

    @property
    def ref(self) -> SecretRef:
        """The reference itself."""
        return SecretRef(env=self.env, file=self.file, credential=self.credential, vault=self.vault, field=self.field)


def is_reference(kind: type[Declared] | None) -> bool:
    """Whether mappings of this class say where a secret is kept."""
    return kind is not None and issubclass(kind, LocalSecretDocument)


class _OrText:
    """Reads text as it is, and anything else as a reference to a secret."""

    def __get_pydantic_core_schema__(self, _: object, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Validate it."""

        def read(value: object, inner: Callable[[object], SecretDocument]) -> str | SecretDocument:
            if isinstance(value, str):
                return value
            if isinstance(value, dict):
                return inner(value)
            raise ValueError("text: put it in quotes, or say where a secret is kept, such as {file: PATH}")

        return core_schema.no_info_wrap_validator_function(read, handler.generate_schema(SecretDocument))

    def __get_pydantic_json_schema__(
        self, core: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Tell editors of both."""
        return {"anyOf": [{"type": "string", "title": "text"}, handler(core)]}


TextOrSecret = Annotated[SecretDocument | str, _OrText()]
"""The reference stands first: it is what `config.document.fields` finds at such a place."""


class SealDocument(Declared):
    """Where the key of the store's sealed secrets is kept."""

    hidden: ClassVar[frozenset[str]] = frozenset({"key"})

    key: SecretDocument = must(
        "Where it is: a key a line, each of 256 random bits (openssl rand -base64 32), the newest first.",
        {"file": "/etc/trimtab/seal-key"},
    )


# SNMP.


class AuthDocument(Declared):
    """What SNMP v3 messages are signed with, and where its password is kept."""

    choice: ClassVar[tuple[str, ...]] = tuple(protocol.value for protocol in AuthProtocol)
    choice_of: ClassVar[str] = "the protocol"
    hidden: ClassVar[frozenset[str]] = frozenset(choice)

    md5: Annotated[SecretDocument | None, Given] = key("HMAC-MD5-96: for old agents only.", {"env": "SNMP_AUTH"})
    sha: Annotated[SecretDocument | None, Given] = key("HMAC-SHA-96.", {"env": "SNMP_AUTH"})
    sha224: Annotated[SecretDocument | None, Given] = key("HMAC-SHA-224.", {"env": "SNMP_AUTH"})
    sha256: Annotated[SecretDocument | None, Given] = key("HMAC-SHA-256.", {"env": "SNMP_AUTH"})
    sha384: Annotated[SecretDocument | None, Given] = key("HMAC-SHA-384.", {"env": "SNMP_AUTH"})
    sha512: Annotated[SecretDocument | None, Given] = key("HMAC-SHA-512.", {"env": "SNMP_AUTH"})

    @property
    def pair(self) -> tuple[AuthProtocol, SecretRef]:
        """The one protocol that is written, and its password."""
        return next((protocol, secret.ref) for protocol in AuthProtocol if (secret := getattr(self, protocol.value)))


class PrivDocument(Declared):
    """What SNMP v3 messages are encrypted with, and where its password is kept."""

    choice: ClassVar[tuple[str, ...]] = tuple(protocol.value for protocol in PrivProtocol)
    choice_of: ClassVar[str] = "the protocol"
    hidden: ClassVar[frozenset[str]] = frozenset(choice)

    des: Annotated[SecretDocument | None, Given] = key("DES: for old agents only.", {"env": "SNMP_PRIV"})
    aes: Annotated[SecretDocument | None, Given] = key("AES-128.", {"env": "SNMP_PRIV"})
    aes192: Annotated[SecretDocument | None, Given] = key("AES-192.", {"env": "SNMP_PRIV"})
    aes256: Annotated[SecretDocument | None, Given] = key("AES-256.", {"env": "SNMP_PRIV"})

    @property
    def pair(self) -> tuple[PrivProtocol, SecretRef]:
        """The one protocol that is written, and its password."""
        return next((protocol, secret.ref) for protocol in PrivProtocol if (secret := getattr(self, protocol.value)))


class SnmpDocument(Declared):
    """How to speak SNMP with members."""

    hidden: ClassVar[frozenset[str]] = frozenset({"community", "auth", "priv"})

    port: Port = key("UDP port of the members' agents.", 161, default=161)
    version: Literal["1", "2c", "3", 1, 3] = key("Version of the protocol: 1, 2c or 3.", "2c", default="2c")
    community: Annotated[SecretDocument | None, Given] = key(
        "Where the community of version 1 or 2c is kept.", {"env": "SNMP_COMMUNITY"}, left_out="public"
    )
    user: Annotated[Text | None, Given] = key("The user of version 3, which needs one.", "trimtab", left_out="none")
    auth: Annotated[AuthDocument | None, Given] = key(
        "What version 3 signs with.", {"sha256": {"env": "SNMP_AUTH"}}, left_out="not signed"
    )
    priv: Annotated[PrivDocument | None, Given] = key(
        "What version 3 encrypts with.", {"aes": {"env": "SNMP_PRIV"}}, left_out="not encrypted"
    )
    engine: Annotated[SnmpLibrary, _Lax] = key(
        "The library: gufo, or pysnmp where gufo has no wheel; it takes 58 times the processor time.",
        "gufo",
        default="gufo",
    )

    @model_validator(mode="after")
    def _fitting_version(self) -> Self:
        third = str(self.version) == SnmpVersion.V3.value
        stray = [name for name in (("community",) if third else ("user", "auth", "priv")) if getattr(self, name)]
        if stray:
            message = "{name} has no meaning in version {version}: remove it, or write version: {other}"
            facts = {"name": stray[0], "version": str(self.version), "other": '"2c"' if third else '"3"'}
            raise PydanticCustomError("sentence", message, facts | {"key": stray[0]})
        if third and self.user is None:
            raise PydanticCustomError("sentence", "version 3 needs a user: write it beside version", {"key": "version"})
        if self.priv is not None and self.auth is None:
            raise PydanticCustomError(
                "sentence", "priv needs auth: SNMP encrypts only with authentication", {"key": "priv"}
            )
        return self

    @property
    def access(self) -> SnmpAccess:
        """As the core sees it."""
        user = None
        if self.user is not None:
            user = SnmpUser(
                name=self.user,
                auth=None if self.auth is None else self.auth.pair,
                priv=None if self.priv is None else self.priv.pair,
            )
        return SnmpAccess(
            port=self.port,
            version=SnmpVersion(str(self.version)),
            community=None if self.community is None else self.community.ref,
            user=user,
            engine=self.engine,
        )


# HTTP.


class TrustingDocument(Declared):
    """Keys of everything that may speak TLS."""

    ca: Annotated[AbsolutePath | None, Given] = key(
        "A file of certificates (PEM) that are believed, instead of the system's.",
        "/etc/ssl/ours.pem",
        left_out="the system's",
    )
    insecure: Annotated[Yes | None, Given] = key(
        "Believe any certificate: for appliances without a proper one.", True, left_out="certificates are checked"
    )

    @model_validator(mode="after")
    def _trusts_in_one_way(self) -> Self:
        if self.ca is not None and self.insecure is not None:
            message = "insecure skips the check of certificates, so ca has no meaning: keep one"
            raise PydanticCustomError("sentence", message, {"key": "insecure"})
        return self

    @property
    def trust(self) -> Trust:
        """As the core sees it."""
        return Trust(ca=self.ca, insecure=self.insecure is True)


class HttpAccessDocument(TrustingDocument):
    """Keys of everything that is asked over HTTP."""

    together: ClassVar[tuple[str, ...]] = ("user", "password")
    hidden: ClassVar[frozenset[str]] = frozenset({"password", "bearer"})

    user: Annotated[Text | None, Given] = key("User name, for basic authentication.", "trimtab", left_out="none")
    password: Annotated[SecretDocument | None, Given] = key(
        "Where the user's password is kept.", {"env": "PASSWORD"}, left_out="none: it goes with user"
    )
    bearer: Annotated[SecretDocument | None, Given] = key(
        "Where a bearer token is kept.", {"env": "TOKEN"}, left_out="none"
    )
    timeout: PositiveSpan = key("How long an answer may take.", "5s", default="5s")
    body_limit: Annotated[BodyLimit | None, Given] = key(
        "How large an answer may be, unpacked. A larger one is malformed.",
        "4MiB",
        left_out="1MiB, for an entry of sources 16MiB",
    )

    @model_validator(mode="after")
    def _one_identity(self) -> Self:
        if self.user is not None and self.bearer is not None:
            message = "a user and a bearer token are two identities: keep one"
            raise PydanticCustomError("sentence", message, {"key": "bearer"})
        return self

    @property
    def access(self) -> HttpAccess:
        """As the core sees it."""
        credentials: Credentials | None = None
        if self.user is not None and self.password is not None:
            credentials = Basic(user=self.user, password=self.password.ref)
        elif self.bearer is not None:
            credentials = BearerToken(token=self.bearer.ref)
        return HttpAccess(credentials=credentials, trust=self.trust, body_limit=self.body_limit)


# The section ``sources``.

_WITH_ADDRESS = HttpAccessDocument.hidden | {"url"}
"""People write passwords into addresses."""


class PrometheusDocument(HttpAccessDocument):
    """Prometheus, or what speaks its query API."""

    hidden: ClassVar[frozenset[str]] = _WITH_ADDRESS

    url: BaseUrl = must("Its address, to which /api/v1/query is added.", "http://127.0.0.1:9090")


class HaproxyStatsDocument(HttpAccessDocument):
    """HAProxy's statistics page."""

    hidden: ClassVar[frozenset[str]] = _WITH_ADDRESS

    url: BaseUrl = must("The address of the page, without ;csv.", "http://127.0.0.1:8404/stats")
    backend: BackendName = must("The backend's name.", "web")


class NetscalerDocument(TrustingDocument):
    """A NetScaler's statistics over NITRO."""

    hidden: ClassVar[frozenset[str]] = frozenset({"password", "url"})

    url: BaseUrl = must("Its management address, to which /nitro/v1 is added.", "https://192.0.2.10")
    user: Text = must("A user who may read statistics.", "trimtab")
    password: SecretDocument = must("Where the user's password is kept.", {"env": "NS_PASSWORD"})
    virtual_server: Annotated[Text | None, Given] = key(
        "The lbvserver that answers for the group.", "web-vip", left_out="none"
    )
    service_group: Annotated[Text | None, Given] = key(
        "The service group with our members.", "web", left_out="the virtual server's services"
    )
    timeout: PositiveSpan = key("How long an answer may take.", "5s", default="5s")

    @model_validator(mode="after")
    def _something_to_ask(self) -> Self:
        if self.virtual_server is None and self.service_group is None:
            message = "write virtual_server, service_group or both, to select the appliance's objects"
            raise PydanticCustomError("sentence", message, {"key": ""})
        return self


class SourceDocument(Declared):
    """A server that answers for whole groups. Exactly one kind."""

    choice: ClassVar[tuple[str, ...]] = ("prometheus", "haproxy", "netscaler")
    choice_of: ClassVar[str] = "the kind of source"

    prometheus: Annotated[PrometheusDocument | None, Given] = key(
        "Prometheus, or what else speaks its query API: Thanos, Mimir, VictoriaMetrics.",
        {"url": "http://127.0.0.1:9090"},
    )
    haproxy: Annotated[HaproxyStatsDocument | None, Given] = key(
        "HAProxy's statistics page; its runtime socket needs no entry here, but the group's balancer.",
        {"url": "http://127.0.0.1:8404/stats", "backend": "web"},
    )
    netscaler: Annotated[NetscalerDocument | None, Given] = key(
        "A NetScaler; Trimtab reads its statistics over NITRO.",
        {
            "url": "https://192.0.2.10",
            "user": "trimtab",
            "password": {"env": "NS_PASSWORD"},
            "service_group": "web",
        },
    )
    on: Annotated[Workers | None, Given] = on_workers()

    @property
    def kind(self) -> PrometheusDocument | HaproxyStatsDocument | NetscalerDocument:
        """The one kind that is written."""
        if (kind := self.prometheus or self.haproxy or self.netscaler) is None:
            raise AssertionError("a source without a kind was validated")
        return kind
