"""Dashboards as code: `python -m grafana.build` writes `grafana/dashboards`; `--check` exits 1 when it is stale."""
