"""Concept detectors: train on some rows of a collection's vectors, then score and rank all of them.

They know vectors by descriptor and row numbers, and nothing of marks, files or the database of a collection.
"""

from rankloom.concepts.concept import METHODS, Concept, ConceptQuality, Ranked, train_concept

__all__ = ["METHODS", "Concept", "ConceptQuality", "Ranked", "train_concept"]
