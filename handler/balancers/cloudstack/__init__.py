"""Members are behind a load-balancer rule of CloudStack."""
