"""OneFlow's service templates → the declared model: read as they are, with an account of what became of each part."""
