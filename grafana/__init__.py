"""Views out: dashboards, alert rules and provisioning. Nothing here runs in the daemon; see docs/grafana.md."""
