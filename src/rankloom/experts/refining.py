"""What a collection's own texts add to the map from words to looks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from rankloom.core import FloatArray, IntArray
from rankloom.experts.contrast import Adam, Batches, Floats, contrast
from rankloom.experts.looks import WordMap, unit
from rankloom.experts.nearness import LEAST_TEXTS, TextBank, nearness, sampled

RATE, BATCH = 0.01, 256
CHECKPOINTS = (10, 20, 40, 80, 160)  # steps after which a correction is judged
FOLDS = 3
ERRORS = 2.0  # standard errors by which a correction must be better
LEAST_PAIRS, LEAST_PICTURES = 50, 20


class Refined(NamedTuple):
    """A matrix to add to the map of sentences, texts that say how near pictures usually are, or None for either; and
    the rank at which held-out texts find their pictures before and after, on geometric average."""

    correction: Floats | None
    bank: TextBank | None
    before: float
    after: float


class Pairs(NamedTuple):
    """Pictures in the space of the map, sentence vectors around the mean of the map, the picture of each, and which of
    them are captions: only these say how near pictures are to any text."""

    pictures: Floats
    sentences: Floats
    rows: IntArray
    captions: IntArray

    def without(self, held: IntArray) -> Pairs:
        """The pairs that are not held out."""
        kept = np.setdiff1d(np.arange(len(self.rows)), held)
        captions = np.flatnonzero(np.isin(kept, self.captions))
        return Pairs(self.pictures, self.sentences[kept], self.rows[kept], captions)

    def bank(self, mapping: Floats) -> TextBank | None:
        """A sample of the captions, mapped."""
        if len(self.captions) < LEAST_TEXTS:
            return None
        chosen = self.captions[sampled(len(self.captions))]
        texts, of_pictures = unit(self.sentences[chosen] @ mapping), self.rows[chosen]
        near = nearness(self.pictures, np.arange(len(self.pictures)), texts, of_pictures)
        return TextBank(texts, of_pictures, float(near.mean()))


def refine(
    word_map: WordMap, pictures: Floats, sentences: Floats, rows: IntArray, captions: IntArray | None = None
) -> Refined | None:
    """Learn from pairs of texts and pictures what to add to the map of sentences; that of pictures stays.

    Two things are tried on pictures held out, one after the other: to lower pictures that are near to all captions
    (`rankloom.experts.nearness`), and steps of the contrastive loss. The first is taken unless texts find their
    pictures later by it, by more than one standard error: few pictures hardly show what it gains among many. The
    second, in the best number of steps, only if they find them earlier by more than two. None if neither is.

    Parameters
    ----------
    word_map : the start.
    pictures : in the space of the map.
    sentences : a vector for each text.
    rows : the picture of each text.
    captions : the texts that are captions; None for all.
    """
    if len(rows) < LEAST_PAIRS or len(np.unique(rows)) < LEAST_PICTURES:
        return None
    centered = np.asarray(sentences - word_map.sentence_mean, np.float32)
    pairs = Pairs(pictures, centered, rows, np.arange(len(rows)) if captions is None else captions)
    with threadpool_limits(1, "blas"):  # small matrices: more threads only wait for each other
        return _refined(word_map, pairs)


def _refined(word_map: WordMap, pairs: Pairs) -> Refined | None:
    ranks = np.zeros((2, 1 + len(CHECKPOINTS), len(pairs.rows)))  # logarithms; without and with a bank, by correction
    enough = True
    for fold in range(FOLDS):
        held = np.flatnonzero(pairs.rows % FOLDS == fold)
        if len(held) in (0, len(pairs.rows)):
            return None
        given = pairs.without(held)
        enough &= len(given.captions) >= LEAST_TEXTS
        path = _path(word_map, given, max(CHECKPOINTS))
        for number, correction in enumerate([np.zeros_like(word_map.sentences), *path]):
            mapping = word_map.sentences + correction
            mapped = unit(pairs.sentences[held] @ mapping)
            for place, bank in enumerate((None, given.bank(mapping))):
                ranks[place, number, held] = _log_ranks(mapped, pairs.pictures, pairs.rows[held], bank)
    worse = _surely_positive(ranks[1, 0] - ranks[0, 0], pairs.rows, 1.0)
    banked = int(enough and not worse)
    best = 1 + int(ranks[banked, 1:].mean(axis=1).argmin())
    if not _surely_positive(ranks[banked, 0] - ranks[banked, best], pairs.rows, ERRORS):
        best = 0
    if not best and not banked:
        return None
    learned = _path(word_map, pairs, CHECKPOINTS[best - 1])[-1] if best else None
    bank = pairs.bank(word_map.refined(learned).sentences) if banked else None
    before, after = np.exp([ranks[0, 0].mean(), ranks[banked, best].mean()])
    return Refined(learned, bank, float(before), float(after))


def _surely_positive(gains: FloatArray, rows: IntArray, errors: float) -> bool:
    """Whether gains are above 0 by more than some standard errors; those of one picture are not independent."""
    of_pictures = np.bincount(rows, gains)
    error = np.sqrt((of_pictures**2).sum()) / len(gains)
    return bool(gains.mean() > errors * error)


def _path(word_map: WordMap, pairs: Pairs, steps: int) -> list[Floats]:
    """The corrections after each number of steps in CHECKPOINTS, up to one."""
    size = float(np.sqrt((word_map.sentences**2).mean()))
    learner = Adam(np.zeros_like(word_map.sentences), RATE, size)
    batches, path = Batches(pairs.rows, BATCH, 0), []
    for step in range(1, steps + 1):
        of_pictures, texts = batches.next()
        words = batches.dropped(pairs.sentences[texts])
        _, gradient = contrast(pairs.pictures[of_pictures], words @ (word_map.sentences + learner.matrix))
        learner.step(words.T @ gradient)
        if step in CHECKPOINTS:
            path.append(learner.matrix.copy())
    return path


def _log_ranks(texts: Floats, pictures: Floats, rows: IntArray, bank: TextBank | None) -> FloatArray:
    """The logarithm of the rank of the picture of each text among all: smoother than its reciprocal, so that few texts
    tell more."""
    lowered = np.zeros(len(pictures), np.float32)
    if bank is not None:
        lowered = bank.weight * nearness(pictures, np.arange(len(pictures)), bank.texts, bank.pictures)
    ranks = []
    for start in range(0, len(texts), BATCH):
        scores = texts[start : start + BATCH] @ pictures.T - lowered
        own = scores[np.arange(len(scores)), rows[start : start + BATCH]]
        ranks.append(np.log1p((scores > own[:, None]).sum(axis=1)))
    return np.concatenate(ranks)
