"""Work of stewards on published versions, and hand-over of pseudonyms."""
