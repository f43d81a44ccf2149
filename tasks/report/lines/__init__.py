"""The pages of lines, of their catalogue and of withdrawn versions, with feeds and metadata."""
