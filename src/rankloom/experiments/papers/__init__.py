"""Published results as data, and what reproduces them."""
