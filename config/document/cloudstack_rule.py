"""A load-balancer rule of CloudStack as it is written in the file."""

from __future__ import annotations

from typing import Annotated, ClassVar

from config.document.cloudstack import NO_PROJECT, PROJECT
from config.document.declared import key, must
from config.document.scalars import BaseUrl, Given, PositiveSpan, Text
from config.document.sources import SecretDocument, TrustingDocument
from config.model.balancers import CloudstackRuleBalancer
from config.model.clouds import CloudstackCloud
from config.units import BalancerId, CloudId


class CloudstackRuleDocument(TrustingDocument):
    """One load-balancer rule of a CloudStack account."""

    hidden: ClassVar[frozenset[str]] = frozenset({"api_key", "secret", "endpoint"})

    endpoint: BaseUrl = must("The address of the API.", "https://cloud.example.org/client/api")
    api_key: SecretDocument = must("Where the account's API key is kept.", {"env": "CLOUDSTACK_KEY"})
    secret: SecretDocument = must("Where the account's secret key is kept.", {"file": "/etc/trimtab/cloudstack.secret"})
    project: Annotated[Text | None, Given] = key(PROJECT, "shop", left_out=NO_PROJECT)
    rule: Text = must("The rule's name or id.", "web-https")
    timeout: PositiveSpan = key("How long an answer may take.", "15s", default="15s")
    job_timeout: PositiveSpan = key("How long a change is waited for; it goes on after that.", "2m", default="2m")

    def balancer(self, id: BalancerId) -> CloudstackRuleBalancer:
        """As the core sees it."""
        account = CloudstackCloud(
            id=CloudId(id),
            endpoint=self.endpoint,
            api_key=self.api_key.ref,
            secret=self.secret.ref,
            trust=self.trust,
            timeout=self.timeout,
            job_timeout=self.job_timeout,
            project=self.project,
        )
        return CloudstackRuleBalancer(id=id, rule=self.rule, cloud=account)
