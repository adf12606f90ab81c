"""What other autoscalers declare, read and written as a declaration of Trimtab."""
