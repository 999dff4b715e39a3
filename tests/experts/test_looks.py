"""Words against what pictures show: the learned map, class names, colors."""

import csv

import numpy as np
import pytest

from rankloom.descriptors import describe, semantic_network
from rankloom.descriptors.tags import class_words
from rankloom.experts.color_words import COLORLESS, SOURCE, color_scores, color_shares, colors_of, shares_of
from rankloom.experts.contrast import Adam, contrast
from rankloom.experts.looks import DIMENSION, N_CLASSES, WordMap, classifier, look_scores, unit, word_map
from rankloom.experts.nearness import nearness
from rankloom.experts.refining import refine
from rankloom.media import read_image
from rankloom.text.sentences import sentence_encoder
from tests.data import SHARED, needs_shared


def map_scores(*arguments):
    return look_scores(*arguments)[0]


def name_scores(*arguments):
    return look_scores(*arguments)[1]


@pytest.fixture(scope="module")
def vectors():
    """Descriptions of some pictures of noise, as a collection stores them."""
    random = np.random.default_rng(0)
    pictures = [random.integers(0, 256, (32, 32, 3), np.uint8) for _ in range(6)]
    return semantic_network().describe(pictures).embeddings.astype(np.float16)


def test_scores_are_cosines(vectors):
    """Against the definition in double precision; what is kept is rounded to 1 / 360."""
    words = word_map()
    sentence = sentence_encoder().encode(["a dog on the beach"])[0]
    x = np.sqrt(np.maximum(vectors.astype(np.float64), 0))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    pictures = (x - words.picture_mean) @ words.pictures.astype(np.float64)
    text = (sentence - words.sentence_mean) @ words.sentences.astype(np.float64)
    expected = pictures @ text / np.linalg.norm(pictures, axis=1) / np.linalg.norm(text)
    looks, query = words.looks(vectors), words.words(sentence)
    np.testing.assert_allclose(map_scores(query, looks), expected, atol=0.01)

    weight, bias = classifier()
    logits = 16.7 * vectors.astype(np.float64) @ weight.T + bias
    names = words.class_names - words.class_names.mean(axis=0)
    names /= np.linalg.norm(names, axis=1, keepdims=True)
    about = sentence - words.class_names.mean(axis=0)
    about /= np.linalg.norm(about)
    for row, score in zip(logits, name_scores(query, looks), strict=True):
        top = np.argsort(-row)[:N_CLASSES]
        share = np.exp(row[top] - row.max())
        total = np.sqrt(share / share.sum()) @ names[top]
        assert score == pytest.approx(float(total @ about / np.linalg.norm(total)), abs=1e-3)


def test_some_rows_score_as_all_do(vectors):
    looks = word_map().looks(vectors)
    query = word_map().words(sentence_encoder().encode(["bus"])[0])
    rows = np.array([4, 1])
    for scores in (map_scores, name_scores):
        assert scores(query, looks, rows).tolist() == scores(query, looks)[rows].tolist()


def test_few_and_many_pictures_score_alike(vectors, monkeypatch):
    looks = word_map().looks(vectors)
    query = word_map().words(sentence_encoder().encode(["bus"])[0])
    few = look_scores(query, looks)
    monkeypatch.setattr("rankloom.experts.looks._FEW", 0)
    for one, other in zip(look_scores(query, looks), few, strict=True):
        assert one.tolist() == other.tolist()


def test_no_words_and_no_picture_are_no_evidence(vectors):
    words = word_map()
    looks = words.looks(np.vstack([vectors[:1], np.zeros_like(vectors[:1])]))
    query, nothing = (words.words(sentence) for sentence in sentence_encoder().encode(["cat", " "]))
    for scores in (map_scores, name_scores):
        assert scores(query, looks)[0] != 0
        assert scores(query, looks)[1] == 0
        assert not scores(nothing, looks).any()


def test_a_map_is_the_same_after_it_was_stored():
    again = WordMap.from_bytes(word_map().to_bytes())
    assert again.version == word_map().version
    for name in ("picture_mean", "pictures", "sentence_mean", "sentences"):
        assert (getattr(again, name) == getattr(word_map(), name)).all()
    np.testing.assert_allclose(again.class_names, word_map().class_names, atol=1e-2)


EVERYDAY = {
    "en": "dog cat horse bus car bicycle airplane ship bridge church castle flower mushroom apple pizza banana chair "
    "bird fish elephant",
    "de": "Hund Katze Pferd Bus Auto Fahrrad Flugzeug Schiff Brücke Kirche Burg Blume Pilz Apfel Pizza Banane Stuhl "
    "Vogel Fisch Elefant",
    "fr": "chien chat cheval bus voiture vélo avion bateau pont église château fleur champignon pomme pizza banane "
    "chaise oiseau poisson éléphant",
    "es": "perro gato caballo autobús coche bicicleta avión barco puente iglesia castillo flor hongo manzana pizza "
    "plátano silla pájaro pez elefante",
    "it": "cane gatto cavallo autobus automobile bicicletta aereo nave ponte chiesa castello fiore fungo mela pizza "
    "banana sedia uccello pesce elefante",
    "pt": "cachorro gato cavalo ônibus carro bicicleta avião navio ponte igreja castelo flor cogumelo maçã pizza "
    "banana cadeira pássaro peixe elefante",
    "ru": "собака кошка лошадь автобус автомобиль велосипед самолет корабль мост церковь замок цветок гриб яблоко "
    "пицца банан стул птица рыба слон",
    "zh": "狗 猫 马 公共汽车 汽车 自行车 飞机 船 桥 教堂 城堡 花 蘑菇 苹果 比萨 香蕉 椅子 鸟 鱼 大象",
    "ja": "犬 猫 馬 バス 車 自転車 飛行機 船 橋 教会 城 花 キノコ リンゴ ピザ バナナ 椅子 鳥 魚 象",
}
# What the names or kinds of a fitting class contain, word by word.
FITTING = [
    "dog|hound|terrier|spaniel|retriever|corgi|puppy|canine",
    "cat",
    "horse|sorrel|zebra|equine",
    "bus|trolley|minibus",
    "car|cab|wagon|convertible|limousine|jeep|van",
    "bicycle|bike|tricycle|unicycle",
    "plane|airliner|warplane|aircraft|wing",
    "ship|boat|liner|vessel|ferry|yawl|schooner|craft|canoe",
    "bridge|viaduct",
    "church|mosque|monastery|altar|bell",
    "castle|palace|monastery|fortress",
    "flower|daisy|slipper|pot|bee",
    "mushroom|fung|agaric|bolete|stinkhorn|earthstar|gyromitra|hen-of",
    "apple|fruit|smith",
    "pizza",
    "banana",
    "chair|throne|seat",
    "bird|finch|robin|jay|cock|hen|eagle|kite|junco|bunting",
    "fish|shark|tench|ray|eel|puffer",
    "elephant|tusker",
]


@pytest.mark.slow
@pytest.mark.parametrize("language", EVERYDAY)
def test_everyday_words_of_nine_languages_reach_fitting_classes(language):
    """A fitting class among the five nearest, for 17 of 20 words."""
    names = [" ".join([*entry.names, *entry.kinds]) for entry in class_words()]
    concepts = EVERYDAY[language].split()
    reached = []
    for vector, fitting in zip(sentence_encoder().encode(concepts), FITTING, strict=True):
        top = np.argsort(-word_map().words(vector).classes)[:5]
        reached.append(any(part in names[number] for number in top for part in fitting.split("|")))
    missed = [word for word, fits in zip(concepts, reached, strict=True) if not fits]
    assert len(concepts) == 20
    assert len(missed) <= 3, missed


def test_colors_are_named_in_many_languages():
    for text in ("red car", "rotes Auto", "voiture rouge", "coche rojo", "красный автобус", "红色 汽车", "赤い花"):
        assert colors_of(text) == ("red",), text
    assert colors_of("a bored hound in Redmond") == ()
    assert colors_of("yellow and blue") == ("yellow", "blue")
    assert colors_of("photo noir et blanc") == (COLORLESS,)


def test_colors_are_found_in_pictures():
    def picture(color, share=1.0):
        image = np.full((64, 64, 3), 128, np.uint8)
        image[: int(64 * share)] = color
        return describe(image, [SOURCE])[SOURCE]

    named = {
        "red": (200, 20, 20), "yellow": (240, 220, 20), "green": (30, 160, 40), "blue": (20, 40, 200),
        "white": (250, 250, 250), "black": (5, 5, 5), "purple": (140, 20, 180), "brown": (90, 50, 20),
    }  # fmt: skip
    histograms = np.stack([picture(color) for color in named.values()]).astype(np.float16)
    shares = color_shares(histograms)
    for number, color in enumerate(named):
        scores = color_scores(shares, [color], [float(shares_of(shares, color).mean())])
        assert scores.argmax() == number, color
        assert np.sort(scores)[-2] < 0.6 * scores.max(), color
    some = color_shares(np.stack([picture((200, 20, 20), 0.6), picture((200, 20, 20), 0.3)]))
    more, less = color_scores(some, ["red"], [0.1])
    assert more > less > 0
    some = color_shares(np.stack([picture((60, 60, 60)), picture((200, 20, 20), 0.5)]))
    gray, colored = color_scores(some, [COLORLESS], [0.0])
    assert gray > 0.9 > 0.1 > colored


def test_a_color_of_the_background_counts_less_than_one_in_the_middle():
    thing, background = np.full((64, 64, 3), 128, np.uint8), np.full((64, 64, 3), 250, np.uint8)
    thing[16:48, 16:48], background[16:48, 16:48] = 250, 128
    unknown = np.zeros(496)
    shares = color_shares(np.stack([describe(image, [SOURCE])[SOURCE] for image in (thing, background)] + [unknown]))
    white, around, nothing = shares_of(shares, "white")
    assert white > 0.9
    assert around == nothing == 0
    assert color_scores(shares, [COLORLESS], [0.0])[2] < 1e-6  # nothing is known of it


def test_nearness_is_the_mean_cosine_with_the_nearest_texts_of_others():
    random = np.random.default_rng(0)
    pictures, texts = unit(random.standard_normal((7, 256))), unit(random.standard_normal((40, 256)))
    pictures[3] = 0
    owners = random.integers(11, 18, 40)
    by_hand = [
        np.mean(sorted(picture @ text for text, owner in zip(texts, owners, strict=True) if owner != number)[-10:])
        for number, picture in enumerate(pictures, 11)
    ]
    np.testing.assert_allclose(nearness(pictures, np.arange(11, 18), texts, owners), by_hand, atol=1e-4)


def test_pictures_near_to_all_texts_are_noticed():
    """Every sixth picture lies in the middle of all texts, and is found by most of them instead of their own."""
    random = np.random.default_rng(0)
    common = unit(random.standard_normal(512))
    vectors = unit(unit(random.standard_normal((120, 512))) + 0.7 * common)
    mapped = unit(vectors @ word_map().sentences)
    pictures = unit(mapped + 1.5 * unit(random.standard_normal(mapped.shape)))
    pictures[::6] = unit(mapped.mean(axis=0) + 0.01 * random.standard_normal(mapped[::6].shape))
    refined = refine(word_map(), pictures, vectors + word_map().sentence_mean, np.arange(120))
    assert refined is not None
    assert refined.bank is not None
    assert refined.after < refined.before


def test_the_gradient_of_the_contrast_is_that_of_the_loss():
    random = np.random.default_rng(1)
    pictures, words = random.standard_normal((2, 5, 4)).astype(np.float32)

    def loss(pictures, words):
        x, v = (part / np.linalg.norm(part, axis=1, keepdims=True) for part in (pictures, words))
        cosines = v @ x.T / 0.08
        own = np.diag(cosines)
        rows = np.log(np.exp(cosines - own[:, None]).sum(axis=1))
        columns = np.log(np.exp(cosines - own[None]).sum(axis=0))
        return float((rows + columns).sum() / (2 * len(own)))

    gradients = contrast(pictures, words)
    for part, gradient in enumerate(gradients):
        for place in np.ndindex(pictures.shape):
            both = [pictures.astype(np.float64), words.astype(np.float64)]
            both[part][place] += 1e-5
            above = loss(*both)
            both[part][place] -= 2e-5
            assert gradient[place] == pytest.approx((above - loss(*both)) / 2e-5, rel=1e-2, abs=1e-4)


def test_adam_goes_downhill():
    learner = Adam(np.full((3, 2), 4.0, np.float32), 0.05)
    for _ in range(200):
        learner.step(2 * learner.matrix)
    assert np.abs(learner.matrix).max() < 0.5


def _pairs(n, random):
    """Words of a language of its own: a rotation of where the shipped map puts them."""
    sentences = unit(random.standard_normal((n, 512))) + word_map().sentence_mean
    turn = np.linalg.qr(random.standard_normal((DIMENSION, DIMENSION)))[0]
    pictures = unit((sentences - word_map().sentence_mean) @ word_map().sentences @ turn)
    return pictures, sentences.astype(np.float32)


@pytest.mark.slow
def test_a_collection_with_words_of_its_own_refines_the_map():
    random = np.random.default_rng(0)
    pictures, sentences = _pairs(450, random)
    refined = refine(word_map(), pictures[:300], sentences[:300], np.arange(300))
    assert refined is not None
    assert refined.after < refined.before / 2
    own = word_map().sentences + refined.correction
    ranks = [
        (unit((sentences[300:] - word_map().sentence_mean) @ matrix) @ pictures[300:].T).argsort(axis=1)[:, -10:]
        for matrix in (word_map().sentences, own)
    ]
    before, after = (np.mean([row in top for row, top in enumerate(best)]) for best in ranks)
    assert after > before + 0.05


@pytest.mark.slow
def test_pairs_that_teach_nothing_leave_the_map_alone():
    random = np.random.default_rng(0)
    _, sentences = _pairs(60, random)
    right = unit((sentences - word_map().sentence_mean) @ word_map().sentences)
    assert refine(word_map(), right, sentences, np.arange(60)) is None  # nothing can be better, nor are captions many
    assert refine(word_map(), right[:10], sentences[:10], np.arange(10)) is None  # too few


@pytest.mark.slow
@needs_shared
def test_captions_find_their_photos():
    """On 200 photos of Flickr8k's test part, with one caption each: chance has .05 among the first ten."""
    folder = SHARED / "imagetext-flickr8k"
    with open(folder / "images.csv", encoding="utf-8", newline="") as file:
        names = [row["image"] for row in csv.DictReader(file) if row["split"] == "test"][:200]
    with open(folder / "captions.tsv", encoding="utf-8", newline="") as file:
        captions = {
            row["image"]: row["caption"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        }
    embeddings = semantic_network().describe([read_image(folder / "images" / name) for name in names]).embeddings
    looks = word_map().looks(embeddings)
    sentences = sentence_encoder().encode([captions[name] for name in names])
    recall = {}
    for scores in (map_scores, name_scores):
        ranks = [
            int((row > row[number]).sum())
            for number, row in enumerate(scores(word_map().words(sentence), looks) for sentence in sentences)
        ]
        recall[scores.__name__] = np.mean(np.array(ranks) < 10)
    assert recall["map_scores"] > 0.75
    assert recall["name_scores"] > 0.3
