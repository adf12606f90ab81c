"""From the document to the model, and the names by which declared values go where they outlive the process."""
