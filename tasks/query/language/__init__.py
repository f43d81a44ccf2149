"""SQL as analysts write it, brought down to the questions that bounds answer."""
