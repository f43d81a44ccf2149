"""The data of experiments: UCI Adult, and tables generated where the papers' cannot be had."""
