"""Alerts in: webhooks of Alertmanager and Grafana, from raw bytes to what they mean for each group."""
