"""Servers of the sample collection."""

from tests.serving import folder, own, own_folder, web  # noqa: F401
