"""Concept detectors from marked examples: train on some rows of a collection's vectors, score and rank all of them."""

from rankloom.concepts.concept import METHODS, Concept, ConceptQuality, Ranked, train_concept

__all__ = ["METHODS", "Concept", "ConceptQuality", "Ranked", "train_concept"]
