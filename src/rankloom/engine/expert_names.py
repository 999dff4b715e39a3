"""Experts and parts of scores by names for people; the page has the same in `format.js`."""

from __future__ import annotations

from rankloom.engine.explanation import COLORS, CONCEPT, MAP, NAMES, Part

DESCRIPTORS = {
    "semantic": "What it shows",
    "color_correlogram": "Colours side by side",
    "color_layout": "Layout of colours",
    "color_similarity": "Where colours are alike",
    "spatial_color_histogram": "Colours by place",
    "hsv_histogram": "Colours",
    "color_moments": "Mean colours",
    "edge_histogram": "Edges",
    "hog": "Shapes",
    "gist": "Scene layout",
    "lbp": "Fine texture",
    "gabor": "Texture",
    "wavelet": "Wavelets",
    "dense_words": "Details by place",
    "sift_words": "Local details",
    "text": "Words of people, read or said",
    "tags": "Automatic words",
    "faces": "Faces",
    "perceptual_hash": "Near copies",
}
WORDS = {MAP: "Looks like the words", NAMES: "Shows what the words name", COLORS: "Has the colours"}
DETAILS = {
    "l1": "sum of differences",
    "l2": "straight distance",
    "cosine": "proportions",
    "chi2": "relative differences",
    "intersection": "overlap",
    "bm25": "",
}
OTHERS = {"nearer than the rest": "What others have too", "start": "Start of the model"}


def expert_name(name: str) -> str:
    """The name of an expert for people; one that is not known here keeps its own, without underscores.

    >>> expert_name("gist.l2"), expert_name("text.bm25"), expert_name("my_encoder.cosine"), expert_name("concept.boat")
    ('Scene layout, straight distance', 'Words of people, read or said', 'my encoder, proportions', 'Concept: boat')
    """
    if name.startswith(CONCEPT):
        return f"Concept: {name.removeprefix(CONCEPT)}"
    if name in WORDS:
        return WORDS[name]
    descriptor, _, rest = name.partition(".")
    detail = DETAILS.get(rest, rest)
    shown = DESCRIPTORS.get(descriptor, descriptor.replace("_", " "))
    return f"{shown}, {detail}" if detail else shown


def part_name(part: Part) -> str:
    """The name of a part of a score for people.

    >>> part_name(Part("expert", "hog.l1", 0.5)), part_name(Part("mark", "like item 3", 0.1, 3))
    ('Shapes, sum of differences', 'like item 3')
    """
    if part.kind in ("expert", "text", "concept"):
        return expert_name(part.name)
    if part.kind == "method":
        return f"Reranking by looks ({part.name})"
    return OTHERS.get(part.name, part.name)
