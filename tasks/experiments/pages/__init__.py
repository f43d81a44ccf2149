"""Pages, plots and tables of what experiments measured."""
