"""Small MIBs of an imaginary maker."""

from __future__ import annotations

from pathlib import Path

QUEUE_MIB = """\
ACME-QUEUE-MIB DEFINITIONS ::= BEGIN
IMPORTS
    MODULE-IDENTITY, OBJECT-TYPE, Counter32, Counter64, Gauge32, Integer32, TimeTicks, enterprises FROM SNMPv2-SMI
    DisplayString, TimeInterval FROM SNMPv2-TC
    CounterBasedGauge64 FROM HCNUM-TC;

acme MODULE-IDENTITY
    LAST-UPDATED "202601010000Z" ORGANIZATION "Acme" CONTACT-INFO "none"
    DESCRIPTION "A MACRO in a text -- and a comment that is none."
    ::= { enterprises 99999 }

acmeQueue OBJECT IDENTIFIER ::= { acme 1 }

Depth ::= TEXTUAL-CONVENTION STATUS current DESCRIPTION "How deep." SYNTAX Gauge32

queueTotal OBJECT-TYPE
    SYNTAX Counter64 UNITS "messages" MAX-ACCESS read-only STATUS current
    DESCRIPTION "Messages that ever came, e.g. over
                 the network. And more words."
    ::= { acmeQueue 1 }

queueFill OBJECT-TYPE  -- a MACRO, and a CHOICE
    SYNTAX Integer32 (0..100) UNITS "%" MAX-ACCESS read-only STATUS current DESCRIPTION "How full." ::= { acmeQueue 2 }
queueAge OBJECT-TYPE
    SYNTAX TimeTicks MAX-ACCESS read-only STATUS current DESCRIPTION "Age of the oldest." ::= { acmeQueue 3 }
queueBytes OBJECT-TYPE
    SYNTAX Counter32 UNITS "octets" MAX-ACCESS read-only STATUS current DESCRIPTION "Bytes." ::= { acmeQueue 4 }
queueRoom OBJECT-TYPE
    SYNTAX CounterBasedGauge64 UNITS "kilobytes" MAX-ACCESS read-only STATUS current DESCRIPTION "Room."
    ::= { acmeQueue 5 }
queueWait OBJECT-TYPE
    SYNTAX TimeInterval MAX-ACCESS read-only STATUS current DESCRIPTION "Wait." ::= { acmeQueue 6 }
queueDelay OBJECT-TYPE
    SYNTAX Gauge32 UNITS "milliseconds" MAX-ACCESS read-only STATUS current DESCRIPTION "Delay." ::= { acmeQueue 7 }
queueOwner OBJECT-TYPE
    SYNTAX OBJECT IDENTIFIER MAX-ACCESS read-only STATUS current DESCRIPTION "Owner." ::= { acmeQueue 8 }

laneTable OBJECT-TYPE
    SYNTAX SEQUENCE OF LaneEntry MAX-ACCESS not-accessible STATUS current DESCRIPTION "Lanes." ::= { acmeQueue 9 }
laneEntry OBJECT-TYPE
    SYNTAX LaneEntry MAX-ACCESS not-accessible STATUS current DESCRIPTION "A lane."
    INDEX { laneName } ::= { laneTable 1 }
LaneEntry ::= SEQUENCE { laneName DisplayString, laneDepth Depth }
laneName OBJECT-TYPE
    SYNTAX DisplayString MAX-ACCESS not-accessible STATUS current DESCRIPTION "Name." ::= { laneEntry 1 }
laneDepth OBJECT-TYPE
    SYNTAX Depth UNITS "messages" MAX-ACCESS read-only STATUS current DESCRIPTION "Depth." ::= { laneEntry 2 }
END
"""
"""Every kind of object that can be measured, and one that cannot."""

OLD_MIB = """\
OLD-MIB DEFINITIONS ::= BEGIN
IMPORTS enterprises, Counter FROM RFC1155-SMI
        OBJECT-TYPE FROM RFC-1212;
old OBJECT IDENTIFIER ::= { enterprises 88888 }
oldTable OBJECT-TYPE
    SYNTAX SEQUENCE OF OldEntry ACCESS not-accessible STATUS mandatory ::= { old 1 }
oldEntry OBJECT-TYPE
    SYNTAX OldEntry ACCESS not-accessible STATUS mandatory ::= { oldTable 1 }
OldEntry ::= SEQUENCE { oldHits Counter }
oldHits OBJECT-TYPE
    SYNTAX Counter ACCESS read-only STATUS mandatory ::= { oldEntry 1 }
END
"""
"""In the language of 1991, and careless."""


def a_mib(name: str, definitions: str, imports: str = "enterprises FROM SNMPv2-SMI") -> str:
    """A module with little in it."""
    return f"{name} DEFINITIONS ::= BEGIN\nIMPORTS {imports};\n{definitions}\nEND\n"


def a_gauge(name: str, place: str) -> str:
    return f'{name} OBJECT-TYPE SYNTAX INTEGER MAX-ACCESS read-only STATUS current DESCRIPTION "" ::= {{ {place} }}\n'


def folder_of(folder: Path, **files: str) -> str:
    """A folder with files; an underscore in a name stands for a dot."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return str(folder)
