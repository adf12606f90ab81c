"""Documents of clouds → the model."""

from __future__ import annotations

from config.document.clouds import BudgetDocument, CallsDocument, CloudDocument, GroupBudgetDocument
from config.document.opennebula import OpennebulaMachines
from config.model.catalogue import (
    Budget,
    Cloud,
    CloudstackCloud,
    LibvirtCloud,
    OneflowCloud,
    OpennebulaCloud,
    OpenstackCloud,
    ProcessCloud,
    SimulatedCloud,
)
from config.model.clouds import Calls, EventBus
from config.units import CloudId


def cloud(id: CloudId, entry: CloudDocument) -> Cloud:
    """Build a cloud: exactly one kind of it is written."""
    if entry.simulated is not None:
        return SimulatedCloud(
            id=id, behaviour=entry.simulated.behaviour, budget=budget(entry.budget), calls=_calls(entry.calls)
        )
    if (there := entry.cloudstack) is not None:
        return CloudstackCloud(
            id=id,
            endpoint=there.endpoint,
            api_key=there.api_key.ref,
            secret=there.secret.ref,
            trust=there.trust,
            timeout=there.timeout,
            job_timeout=there.job_timeout,
            expunge=there.expunge is True,
            project=there.project,
            budget=budget(entry.budget),
            calls=_calls(entry.calls),
        )
    if (nebula := entry.opennebula) is not None:
        return _opennebula(id, nebula.endpoint, nebula, entry)
    if (flow := entry.oneflow) is not None:
        return OneflowCloud(
            id=id,
            endpoint=flow.endpoint,
            nebula=_opennebula(id, flow.rpc, flow, entry),
            vm_name=flow.vm_name,
            budget=budget(entry.budget),
            calls=_calls(entry.calls),
        )
    if entry.openstack is not None:
        access, calls = entry.openstack.access, _calls(entry.calls)
        return OpenstackCloud(id=id, access=access, budget=budget(entry.budget), calls=calls)
    return _own_hosts(id, entry)


def _own_hosts(id: CloudId, entry: CloudDocument) -> ProcessCloud | LibvirtCloud:
    """Build a cloud without a service of its own: hosts, or this machine."""
    if (virt := entry.libvirt) is not None:
        return LibvirtCloud(
            id=id,
            hosts=virt.places,
            trust=virt.trust,
            certificate=virt.certificate,
            key=virt.key,
            timeout=virt.timeout,
            addresses=virt.addresses,
            memory=virt.memory,
            budget=budget(entry.budget),
            calls=_calls(entry.calls),
        )
    return ProcessCloud(id=id, budget=budget(entry.budget), calls=_calls(entry.calls))


def event_bus(id: CloudId, entry: CloudDocument) -> EventBus | None:
    """Build the message bus of a cloud; ``None``: it declares none."""
    if entry.openstack is not None and entry.openstack.events is not None:
        return entry.openstack.events.bus(id)
    if entry.cloudstack is not None and entry.cloudstack.events is not None:
        return entry.cloudstack.events.bus(id)
    return None


def _opennebula(id: CloudId, endpoint: str, machines: OpennebulaMachines, entry: CloudDocument) -> OpennebulaCloud:
    return OpennebulaCloud(
        id=id,
        endpoint=endpoint,
        user=machines.user,
        password=machines.password.ref,
        trust=machines.trust,
        timeout=machines.timeout,
        network=machines.network,
        hard=machines.hard is True,
        budget=budget(entry.budget),
        calls=_calls(entry.calls),
    )


def budget(entry: BudgetDocument | GroupBudgetDocument) -> Budget:
    """Build what may be created at all."""
    return Budget(outstanding=entry.outstanding, per_hour=entry.per_hour)


def _calls(entry: CallsDocument | None) -> Calls | None:
    return None if entry is None else Calls(count=entry.count, per=entry.per, at_once=entry.at_once)
