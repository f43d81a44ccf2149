"""What a line keeps of its codings: keys by their purpose, and what was computed of rows once."""
