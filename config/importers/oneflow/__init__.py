"""OneFlow's service templates, read and written as a declaration of Trimtab."""
