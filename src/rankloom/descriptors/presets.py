"""Names of descriptors that belong together."""

from __future__ import annotations

PRESETS: dict[str, list[str]] = {
    "fast": [
        "color_correlogram",
        "color_layout",
        "spatial_color_histogram",
        "edge_histogram",
        "hog",
        "gist",
        "dense_words",
        "semantic",
    ],
    # Nine visual descriptors as in paper 4, none of them trained; with four distances each they make 36 experts.
    "paper36": [
        "hsv_histogram",
        "color_moments",
        "color_correlogram",
        "color_layout",
        "edge_histogram",
        "hog",
        "lbp",
        "gabor",
        "gist",
    ],
    "full": [
        "hsv_histogram",
        "spatial_color_histogram",
        "color_moments",
        "color_correlogram",
        "color_layout",
        "color_similarity",
        "edge_histogram",
        "hog",
        "lbp",
        "gabor",
        "gist",
        "wavelet",
        "dense_words",
        "sift_words",
        "semantic",
    ],
}
