"""Forty everyday sentences over photos without captions, judged by people who saw the photos.

A sentence of ours stands for some things, each a group of words. A caption *says* the sentence if it has a word of each
group. A photo is right for the sentence if one of its own five captions says it, or if at least half of the crowd that
was asked agreed that some caption which says it describes the photo. All other photos are wrong. A photo *has a grade*
if the crowd was asked about it and a caption that says the sentence.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from rankloom.text.tokens import place_terms

AGREED = 0.5
GROUPS = {
    "ball": "ball balls football soccer basketball tennis baseball",
    "bike": "bike bikes bicycle bicycles biker bikers bicyclist cyclist cyclists biking bmx",
    "boat": "boat boats canoe kayak raft kayaker",
    "bench": "bench benches",
    "beach": "beach shore sand sandy ocean sea",
    "black": "black",
    "boy": "boy boys",
    "brown": "brown tan",
    "basketball": "basketball",
    "child": "child children kid kids boy boys girl girls toddler baby",
    "climb": "climb climbs climbing climber climbers",
    "crowd": "crowd crowded crowds spectators",
    "dog": "dog dogs puppy puppies poodle hound greyhound",
    "dress": "dress dresses",
    "girl": "girl girls",
    "glasses": "sunglasses glasses",
    "grass": "grass grassy lawn field",
    "hat": "hat hats cap",
    "jump": "jump jumps jumping leap leaps leaping midair",
    "man": "man men guy gentleman",
    "motorcycle": "motorcycle motorcycles motorbike motocross",
    "mountain": "mountain mountains mountainside hill hills cliff",
    "person": "person people man men woman women boy boys girl girls child children lady guy kid kids",
    "play": "play plays playing",
    "pool": "pool",
    "race": "race races racing racer racers",
    "rock": "rock rocks rocky cliff mountain boulder",
    "run": "run runs running chase chases chasing",
    "sit": "sit sits sitting seated",
    "skateboard": "skateboard skateboards skateboarder skateboarding",
    "ski": "ski skis skier skiers skiing",
    "smile": "smile smiles smiling laugh laughs laughing grin",
    "snow": "snow snowy",
    "soccer": "soccer",
    "stand": "stand stands standing",
    "stick": "stick branch",
    "street": "street sidewalk road city",
    "surf": "surf surfs surfer surfing surfboard",
    "swing": "swing swings swinging",
    "two": "two",
    "walk": "walk walks walking",
    "water": "water pool lake river ocean sea pond stream waves",
    "white": "white",
    "woman": "woman women lady ladies",
}
SENTENCES = {
    "a dog on the beach": "dog beach",
    "a dog running on the grass": "dog run grass",
    "a dog in the water": "dog water",
    "a dog in the snow": "dog snow",
    "two dogs playing": "two dog play",
    "a dog jumping": "dog jump",
    "a dog with a ball": "dog ball",
    "a dog with a stick": "dog stick",
    "a black dog": "black dog",
    "a brown dog running": "brown dog run",
    "a white dog": "white dog",
    "a child on a swing": "child swing",
    "children playing in the water": "child play water",
    "a child in a pool": "child pool",
    "a boy jumping": "boy jump",
    "a boy playing with a ball": "boy ball",
    "a smiling girl": "girl smile",
    "a girl in a dress": "girl dress",
    "kids at the beach": "child beach",
    "people at the beach": "person beach",
    "a person climbing a rock": "climb rock",
    "a person riding a bike": "person bike",
    "a person on a motorcycle": "person motorcycle",
    "someone jumping on a bike": "bike jump",
    "a skateboarder": "skateboard",
    "a skier in the snow": "ski snow",
    "a surfer on a wave": "surf",
    "a basketball game": "basketball",
    "people playing soccer": "soccer",
    "people on a bench": "person bench",
    "people walking on the street": "person walk street",
    "a crowd of people": "crowd person",
    "a man wearing a hat": "man hat",
    "a person with sunglasses": "person glasses",
    "people in the mountains": "person mountain",
    "people in a boat": "person boat",
    "a person in the snow": "person snow",
    "people standing in the water": "person stand water",
    "a woman sitting": "woman sit",
    "a race": "race",
}


class Judged(NamedTuple):
    """The photos that are right for a sentence, those that the crowd agreed to, and those with a grade."""

    right: frozenset[str]
    agreed: frozenset[str]
    graded: frozenset[str]


def judged(folder: Path) -> dict[str, Judged]:
    """The judgements of each sentence, by names of photos, from the files of Flickr8k."""
    grades: dict[tuple[str, str], float] = {}
    for row in _rows(folder / "crowdflower_judgments.tsv"):
        grades[row["image"], row["caption"]] = float(row["frac_yes"])
    own = [(row["image"], row["caption"]) for row in _rows(folder / "captions.tsv")]
    terms = {caption: frozenset(place_terms(caption).terms) for _, caption in {*own, *grades}}
    groups = {name: frozenset(place_terms(words).terms) for name, words in GROUPS.items()}
    judgements = {}
    for sentence, things in SENTENCES.items():
        wanted = [groups[thing] for thing in things.split()]
        says = {caption for caption, has in terms.items() if all(has & group for group in wanted)}
        judgements[sentence] = _judged(own, grades, says)
    return judgements


def _judged(own: Iterable[tuple[str, str]], grades: Mapping[tuple[str, str], float], says: set[str]) -> Judged:
    described = {photo for photo, caption in own if caption in says}
    of_captions = {pair: grade for pair, grade in grades.items() if pair[1] in says}
    agreed = frozenset(photo for (photo, _), grade in of_captions.items() if grade >= AGREED)
    return Judged(agreed | described, agreed, frozenset(photo for photo, _ in of_captions))


def _rows(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
