"""The tables of a collection in PostgreSQL (the extra `postgres`), where many servers share them."""
