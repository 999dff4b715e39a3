"""Text in pictures and speech in videos: what is read, and what it costs."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from tests.media.test_sound import RATE, write_sound
from tests.media.test_speech import SENTENCES, errors, samples_of, words

from benchmarks.harness import Bar, at_least, at_most
from benchmarks.packs import SHARED
from rankloom.collection import Collection, index
from rankloom.collection.query import Query
from rankloom.engine import Engine
from rankloom.media import ocr, read_image, speech

TITLE = "Text in pictures, speech in videos"
PHOTOS = 200
VOICES = (("en-us", 150), ("en-gb", 150), ("en-us+f3", 165))
FONTS = {
    "latin": ("DejaVuSans-Bold.ttf",),
    "zh": ("DroidSansFallbackFull.ttf", "NotoSansCJK-Bold.ttc", "wqy-zenhei.ttc"),
    "ja": ("ipag.ttf", "NotoSansCJK-Bold.ttc", "DroidSansFallbackFull.ttf"),
}
WORDS = {
    "en": "station harbour bakery library museum pharmacy airport market theatre hospital",
    "de": "Straßenbahn Bäckerei Flughafen Rathaus Brücke Schlüssel Gemüse Öffnungszeiten Ausgang Kirche",
    "fr": "boulangerie élèves hôtel théâtre forêt marché sortie château église préfecture",
    "es": "mañana estación corazón panadería salida niños jardín playa música ayuntamiento",
    "zh": "火车站 图书馆 医院 出口 面包店 博物馆 机场 市场 药店 餐厅",
    "ja": "図書館 病院 出口 空港 東京駅 カメラ ラーメン おみやげ 神社 郵便局",
}


def run() -> list[Bar]:
    return [*text_bars(), *language_bars(), *speech_bars()]


def photos(count: int) -> list[Path]:
    return sorted((SHARED / "imagetext-flickr8k" / "images").iterdir())[:count]


def cpu(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def text_bars() -> list[Bar]:
    files = sorted((SHARED / "images-caltech101" / "images" / "stop_sign").iterdir())
    signs = [read_image(file) for file in files]
    ocr.read_text(signs[0])
    read = [" ".join(line.text for line in ocr.read_text(sign)) for sign in signs]
    right = sum("STOP" in text.upper().replace(" ", "") for text in read)
    pictures = [read_image(file, max_side=ocr.LONGEST_SIDE) for file in photos(PHOTOS)]
    lines = []
    taken = cpu(lambda: lines.extend(ocr.read_text(picture) for picture in pictures)) / PHOTOS
    large = [np.asarray(Image.fromarray(picture).resize((1280, 960))) for picture in pictures[:10]]
    slow = float(np.median([cpu(lambda picture=picture: ocr.read_text(picture)) for picture in large]))
    shown = sum(map(bool, lines))
    return [
        at_least("9g", f"stop signs that read STOP, of {len(files)}", right, 28, ""),
        at_most("9g", "CPU of a photo of Flickr8k", taken, 0.35, " s"),
        at_most("9g", "CPU of a photo of 1280 x 960 pixels, median", slow, 0.35, " s"),
        Bar("", f"photos of {PHOTOS} that get text, of which most show some", "", str(shown), None),
    ]


def font_of(language: str) -> str | None:
    for name in FONTS.get(language, FONTS["latin"]):
        try:
            ImageFont.truetype(name, 44)
        except OSError:
            continue
        return name
    return None


def drawn_on(file: Path, word: str, font: str) -> Image.Image:
    """A photo with a word over up to 80% of its width."""
    picture = Image.open(file).convert("RGB")
    size = 44
    while ImageFont.truetype(font, size).getlength(word) > 0.8 * picture.width:
        size -= 2
    letters = ImageFont.truetype(font, size)
    place = (0.1 * picture.width, 0.2 * picture.height)
    ImageDraw.Draw(picture).text(place, word, font=letters, fill="white", stroke_width=3, stroke_fill="black")
    return picture


def language_bars() -> list[Bar]:
    """Words drawn on photos: each must find its photo first."""
    bars = []
    for language, listed in WORDS.items():
        font = font_of(language)
        if font is None:
            bars.append(Bar("9g", f"words on photos, {language}: no font here", "", "", None))
            continue
        wanted = listed.split()
        with tempfile.TemporaryDirectory() as root:
            folder = Path(root, "p")
            folder.mkdir()
            for number, (word, file) in enumerate(zip(wanted, photos(len(wanted)), strict=True)):
                picture = drawn_on(file, word, font)
                picture.save(folder / f"{number}.jpg", quality=90)
            with Collection(Path(root, "c"), create=True) as collection:
                index(collection, [folder], workers=0)
                engine = Engine(collection)
                hits = [engine.search(Query(word), 1) for word in wanted]
                found = sum(bool(hit) and Path(hit[0].path).stem == str(number) for number, hit in enumerate(hits))
        bars.append(at_least("9g", f"words on photos that find theirs, of {len(wanted)}, {language}", found, 8, ""))
    return bars


def speech_bars() -> list[Bar]:
    if shutil.which("espeak-ng") is None:
        return [Bar("9h", "speech: no espeak-ng here", "", "", None)]
    speech.load()
    expected, wrong, bars = words(" ".join(SENTENCES)), [], []
    for voice, pace in VOICES:
        with tempfile.TemporaryDirectory() as root:
            wav, video = Path(root, "a.wav"), Path(root, "a.mp4")
            text = "\n\n".join(SENTENCES)
            subprocess.run(["espeak-ng", "-v", voice, "-s", str(pace), "-w", wav, text], check=True)
            samples = samples_of(wav)
            write_sound(video, samples)
            cues = []
            taken = cpu(lambda: cues.extend(speech.read_speech(video)))  # noqa: B023
        wrong.append(100 * errors(expected, words(" ".join(cue.text for cue in cues))) / len(expected))
        what = f"{voice} at {pace} words a minute"
        bars.append(Bar("", f"words wrong, {what}", "", f"{wrong[-1]:.3g}%", None))
        bars.append(at_least("9h", f"faster than the speech, {what}", len(samples) / RATE / taken, 8))
    return [at_most("9h", f"words wrong, {len(VOICES)} voices", float(np.mean(wrong)), 12, "%"), *bars]
