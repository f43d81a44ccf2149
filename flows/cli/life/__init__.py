"""Commands on published versions, for stewards."""
