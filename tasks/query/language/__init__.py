"""SQL as analysts write it, translated into the questions that bounds answer."""
