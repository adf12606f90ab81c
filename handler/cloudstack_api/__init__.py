"""CloudStack's signed query API for autoscale, over the operations that every other interface uses."""
