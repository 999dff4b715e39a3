"""Names of experts for people: every expert has one, and the page and the shell say the same."""

import re
from importlib.resources import files

import pytest

from rankloom.descriptors import DESCRIPTORS
from rankloom.engine import expert_names
from rankloom.engine.expert_names import expert_name, part_name
from rankloom.engine.explanation import FACES, WORDS, Part
from rankloom.experts import experts_of


def test_every_expert_has_a_name_for_people():
    experts = [*WORDS, FACES, *(expert.name for expert in experts_of(DESCRIPTORS))]
    names = [expert_name(name) for name in experts]
    assert len({*names}) == len(experts)
    for name in names:
        assert name[0].isupper()
        assert not re.search(r"[._]|bm25|l1|l2|chi2", name)


@pytest.mark.parametrize("table", ["DESCRIPTORS", "WORDS", "DETAILS", "OTHERS"])
def test_the_page_and_the_shell_use_the_same_names(table):
    text = files("rankloom.server").joinpath("static", "js", "format.js").read_text(encoding="utf-8")
    (body,) = re.findall(rf"^const {table} = table\(\{{(.*?)\}}\);", text, re.DOTALL | re.MULTILINE)
    names = dict(re.findall(r'"?(\w[\w. ]*)"?: (?:t\()?"([^"]*)"', body))  # as they are in English
    assert names == getattr(expert_names, table)


def test_other_parts_of_a_score_keep_what_they_say():
    assert part_name(Part("neighbour", "neighbour 7", 0.1, 7)) == "neighbour 7"
    assert part_name(Part("other", "start", 0.1)) == "Start of the model"
    assert part_name(Part("concept", "concept.a.b", 0.1)) == "Concept: a.b"
    assert part_name(Part("method", "smooth", 0.1)) == "Reranking by looks (smooth)"
