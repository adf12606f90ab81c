"""The XML of a member's domain and of its volumes. Pure.

Source: libvirt.org, "Domain XML format" and "Storage pool and volume XML format".
"""

from __future__ import annotations

from typing import Final
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from config.model.libvirt import LibvirtRecipe
from handler.orchestrators.libvirt.marks import KEY, NAMESPACE, DomainMark

DEFAULT: Final = """
<domain type="kvm">
  <os><type>hvm</type><boot dev="hd"/></os>
  <features><acpi/><apic/></features>
  <cpu mode="host-passthrough"/>
  <devices>
    <console type="pty"/>
    <channel type="unix"><target type="virtio" name="org.qemu.guest_agent.0"/></channel>
    <rng model="virtio"><backend model="random">/dev/urandom</backend></rng>
  </devices>
</domain>
"""
"""What a domain is made of where the profile says nothing: a guest of KVM that is shut down by ACPI."""

ElementTree.register_namespace(KEY, NAMESPACE)


def disk_name(mark: DomainMark) -> str:
    """Return how the volume with a member's disk is called."""
    return f"{mark.launch.name}.qcow2"


def seed_name(mark: DomainMark) -> str:
    """Return how the volume with its user data is called."""
    return f"{mark.launch.name}.seed.iso"


def domain_xml(recipe: LibvirtRecipe, mark: DomainMark) -> str:
    """Return the definition of a member's domain.

    >>> from config.units import GroupId, Instant
    >>> from handler.planning.launches import LaunchId
    >>> launch = LaunchId(installation="k3f9ab", group=GroupId("web"), sequence=1)
    >>> mark = DomainMark(launch=launch, made=Instant(0.5), pool="i", volumes=("a.qcow2",))
    >>> recipe = LibvirtRecipe(base_pool="images", base="debian", memory=2**30, vcpus=2, networks=("back",))
    >>> root = ElementTree.fromstring(domain_xml(recipe, mark))
    >>> root.findtext("name"), root.findtext("memory"), root.find("devices/interface/source").attrib
    ('web-k3f9ab-1', '1073741824', {'network': 'back'})
    """
    root = ElementTree.fromstring(recipe.domain or DEFAULT)  # noqa: S314  # checked with the file, or our own
    for at, (tag, text, attributes) in enumerate(
        (
            ("name", mark.launch.name, {}),
            ("memory", str(recipe.memory), {"unit": "bytes"}),
            ("vcpu", str(recipe.vcpus), {}),
        )
    ):
        element = Element(tag, attributes)
        element.text = text
        root.insert(at, element)
    SubElement(root, "metadata").append(mark.qualified())
    devices = root.find("devices")
    devices = SubElement(root, "devices") if devices is None else devices
    devices.append(_disk(mark.pool, disk_name(mark), "disk", "qcow2", ("vda", "virtio")))
    if seed_name(mark) in mark.volumes:
        devices.append(_disk(mark.pool, seed_name(mark), "cdrom", "raw", ("sda", "sata")))
    for network in recipe.networks:
        interface = SubElement(devices, "interface", type="network")
        SubElement(interface, "source", network=network)
        SubElement(interface, "model", type="virtio")
    return ElementTree.tostring(root, encoding="unicode")


def _disk(pool: str, volume: str, device: str, format: str, target: tuple[str, str]) -> Element:
    disk = Element("disk", type="volume", device=device)
    SubElement(disk, "driver", name="qemu", type=format)
    SubElement(disk, "source", pool=pool, volume=volume)
    SubElement(disk, "target", dev=target[0], bus=target[1])
    if device == "cdrom":
        SubElement(disk, "readonly")
    return disk


def overlay_xml(name: str, base: str, size: int | None) -> str:
    """Return the definition of a volume that holds what differs from another one.

    Args:
        name: of the new volume.
        base: what libvirt knows of the other one.
        size: in bytes; ``None``: that of the other one.

    Raises:
        ValueError: the other volume cannot be read by a path, or is larger.

    >>> target = "<target><path>/i/b</path><format type='raw'/></target>"
    >>> base = f"<volume><capacity unit='bytes'>7</capacity>{target}</volume>"
    >>> root = ElementTree.fromstring(overlay_xml("web.qcow2", base, None))
    >>> root.findtext("capacity"), root.findtext("backingStore/path"), root.find("backingStore/format").attrib
    ('7', '/i/b', {'type': 'raw'})
    """
    known = ElementTree.fromstring(base)  # noqa: S314  # libvirt has written it
    path, kind = known.findtext("target/path"), known.find("target/format")
    capacity = known.findtext("capacity")
    if not path or kind is None or not capacity:
        raise ValueError("it has no path, no format or no size: members cannot read from it")
    if size is not None and size < int(capacity):
        raise ValueError(f"it has {capacity} bytes, and the profile's disk only {size}")
    volume = _volume(name, int(capacity) if size is None else size, "qcow2")
    backing = SubElement(volume, "backingStore")
    SubElement(backing, "path").text = path
    SubElement(backing, "format", type=kind.get("type", "raw"))
    return ElementTree.tostring(volume, encoding="unicode")


def raw_xml(name: str, size: int) -> str:
    """Return the definition of a volume that is filled afterwards."""
    return ElementTree.tostring(_volume(name, size, "raw"), encoding="unicode")


def _volume(name: str, size: int, format: str) -> Element:
    volume = Element("volume")
    SubElement(volume, "name").text = name
    SubElement(volume, "capacity", unit="bytes").text = str(size)
    SubElement(volume, "allocation", unit="bytes").text = "0" if format == "qcow2" else str(size)
    SubElement(SubElement(volume, "target"), "format", type=format)
    return volume
