"""Document -> text: templates, terminal, HTML page, JUnit, CSV. Sees the document and nothing else."""
