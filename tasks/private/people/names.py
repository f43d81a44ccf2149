"""Where the map of a line lies in its private directory."""

MAP, ERASED = "map", "erased"
