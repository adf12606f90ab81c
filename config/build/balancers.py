"""Documents of balancers → the model."""

from __future__ import annotations

from collections.abc import Mapping

from config.document.balancers import (
    BalancerDocument,
    CloudstackRuleDocument,
    HaproxyDocument,
    NetscalerBalancerDocument,
    SharedListenerDocument,
)
from config.document.managed import ManagedDocument
from config.document.openstack import OctaviaDocument
from config.model.balancers import Balancer, HaproxyBalancer, NetscalerBalancer, SharedListener
from config.model.catalogue import Cloud, ManagedBalancer, OctaviaBalancer, OpenstackCloud
from config.units import BalancerId, CloudId


def balancer(id: BalancerId, entry: BalancerDocument, clouds: Mapping[CloudId, Cloud]) -> Balancer:
    """Build a balancer."""
    match entry.kind:
        case SharedListenerDocument(listen=listen):
            return SharedListener(id=id, address=listen.host, port=listen.port)
        case HaproxyDocument(backend=backend, slots=slots) as kind:
            first, *further = kind.sockets or [kind.socket or ""]
            return HaproxyBalancer(id=id, socket=first, further=tuple(further), backend=backend, template=slots)
        case CloudstackRuleDocument() as there:
            return there.balancer(id)
        case NetscalerBalancerDocument() as there:
            return NetscalerBalancer(
                id=id,
                url=there.url,
                user=there.user,
                password=there.password.ref,
                service_group=there.service_group,
                delay=there.delay,
                save=there.save is True,
                trust=there.trust,
                timeout=there.timeout,
            )
        case OctaviaDocument() as pool:
            return _pool(id, pool, clouds.get(CloudId(pool.cloud)))
        case ManagedDocument() as there:
            return _managed(id, there, clouds)


def _managed(id: BalancerId, entry: ManagedDocument, clouds: Mapping[CloudId, Cloud]) -> ManagedBalancer:
    cloud = CloudId(entry.cloud)
    return ManagedBalancer(
        id=id,
        on=cloud,
        cloud=clouds.get(cloud),
        loadbalancer=entry.loadbalancer,
        vip=None if entry.vip is None else entry.vip.vip,
        listener=entry.listener.listener,
        pool=entry.pool.pool,
        health_monitor=None if entry.health_monitor is None else entry.health_monitor.monitor,
        rule=None if entry.rule is None else entry.rule.rule,
        lb_status_timeout=entry.lb_status_timeout,
    )


def _pool(id: BalancerId, there: OctaviaDocument, cloud: Cloud | None) -> OctaviaBalancer:
    return OctaviaBalancer(
        id=id,
        cloud=CloudId(there.cloud),
        access=cloud.access if isinstance(cloud, OpenstackCloud) else None,
        load_balancer=there.load_balancer,
        pool=there.pool,
        subnet=there.subnet,
        weight=there.weight,
        lb_status_timeout=there.lb_status_timeout,
    )
