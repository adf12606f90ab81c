"""What a look at a group brings together beside its listing."""
