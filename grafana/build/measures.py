"""The unit of a condition's counter, for panels that are written before a counter is declared.

`trimtab_condition_info` tells the unit as it is declared, in the words of `config.model.measures` or in a user's own. A
second query of the panel brings it, as the name that Grafana has for it, and Grafana's transformation *Config from
query results* gives it to the panel's series.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from grafana_foundation_sdk.models.dashboard import DataTransformerConfig

GRAFANAS: Mapping[str, str] = MappingProxyType(
    {
        "percent": "percent",
        "%": "percent",
        "ratio": "percentunit",
        "us": "µs",
        "ms": "ms",
        "s": "s",
        "min": "m",
        "h": "h",
        "bits": "decbits",
        "bytes": "bytes",
        "kB": "deckbytes",
        "MB": "decmbytes",
        "GB": "decgbytes",
        "KiB": "kbytes",
        "MiB": "mbytes",
        "GiB": "gbytes",
        "bits/s": "bps",
        "kbit/s": "Kbits",
        "Mbit/s": "Mbits",
        "Gbit/s": "Gbits",
        "bytes/s": "Bps",
        "kB/s": "KBs",
        "MB/s": "MBs",
        "GB/s": "GBs",
        "KiB/s": "KiBs",
        "MiB/s": "MiBs",
        "GiB/s": "GiBs",
        "degrees C": "celsius",
        "volts": "volt",
        "turns/min": "rotrpm",
    }
)
"""Unit as declared → Grafana's id of it, with which it is scaled: Grafana's `valueFormats/categories.ts`."""
_COLUMN = "shown_unit"


def unit_query(selector: str) -> str:
    """A table of one row: Grafana's id of the unit of the conditions that ``selector`` chooses.

    A word that Grafana does not know (orders, sessions/s) is counted: ``count:orders`` shows 2,300,000 as 2.3M orders.
    A counter without a unit brings no column, and so leaves the panel its own.
    """
    query = f'label_replace(trimtab_condition_info{{{selector}}}, "{_COLUMN}", "count:$1", "unit", "(.+)")'
    for known in dict.fromkeys(GRAFANAS.values()):
        words = "|".join(word for word, own in GRAFANAS.items() if own == known)
        query = f'label_replace({query}, "{_COLUMN}", "{known}", "unit", "{words}")'
    return f"max by ({_COLUMN}) ({query})"


def unit_from(letter: str) -> DataTransformerConfig:
    """The transformation that takes the answer of query ``letter`` for the unit of all others, and does not draw it."""
    mapped = {"fieldName": _COLUMN, "handlerKey": "unit", "reducerId": "lastNotNull"}
    return DataTransformerConfig(id_val="configFromData", options={"configRefId": letter, "mappings": [mapped]})
