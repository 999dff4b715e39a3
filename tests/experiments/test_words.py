"""The map from words to looks is learned from captioned photos."""

import numpy as np
import pytest

from rankloom.experiments.words import CaptionedPhotos, correlated, single_words, train_words
from rankloom.experts.looks import WordMap, unit
from rankloom.text.sentences import sentence_encoder


def test_correlation_finds_what_pictures_and_sentences_share():
    random = np.random.default_rng(0)
    shared = random.standard_normal((400, 3))
    noise = random.standard_normal((400, 20)), random.standard_normal((400, 12))
    x = 2.0 + shared @ random.standard_normal((3, 20)) + 0.1 * noise[0]
    v = shared @ random.standard_normal((3, 12)) + 0.1 * noise[1] - 1.0
    learned = correlated([(x[:300], v[:300], 1.0)], dimension=3)
    np.testing.assert_allclose(learned.picture_mean, x[:300].mean(axis=0))
    pictures = unit((x[300:] - learned.picture_mean) @ learned.pictures)
    sentences = unit((v[300:] - learned.sentence_mean) @ learned.sentences)
    assert np.diag(pictures @ sentences.T).mean() > 0.9 > 0.2 > np.abs((pictures @ sentences.T).mean())


def test_single_words_are_those_that_many_captions_have():
    captions = ["a dog in the snow"] * 10 + ["The dogs run", "snow!"]
    words, of_caption, of_word = single_words(captions)
    assert words == ["dog", "snow"]
    assert {(captions[caption], words[word]) for caption, word in zip(of_caption, of_word, strict=True)} == {
        ("a dog in the snow", "dog"), ("a dog in the snow", "snow"),
    }  # fmt: skip


@pytest.mark.slow
def test_a_learned_map_brings_captions_to_their_photos():
    random = np.random.default_rng(0)
    things, places = ["dog", "cat", "boat", "horse", "car", "child"], ["beach", "street", "forest", "kitchen", "snow"]
    captions = [f"a {thing} on the {place}" for thing in things for place in places for _ in range(2)]
    rows = np.arange(len(captions)) // 2
    looks = {word: random.random(64) ** 4 for word in things + places}
    photos = np.array([looks[text.split()[1]] + looks[text.split()[-1]] for text in captions[::2]], np.float32)
    steps: list[str] = []
    learned = train_words(CaptionedPhotos(photos, captions, rows), progress=steps.append)
    assert steps == ["encoding captions", "correlating", "contrasting"]
    again = WordMap.from_bytes(learned.to_bytes())
    assert again.version == learned.version != ""
    sentences = sentence_encoder().encode(captions)
    cosines = unit((sentences - again.sentence_mean) @ again.sentences) @ again.pictured(photos).T
    assert (cosines.argmax(axis=1) == rows).mean() > 0.8
