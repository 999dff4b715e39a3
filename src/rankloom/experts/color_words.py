"""Words for colors, asked of the color histogram of a picture."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.core import FloatArray
from rankloom.text.tokens import fold

VERSION = "1"  # of what is recorded
SOURCE = "spatial_color_histogram"  # 16 cells of 7 hues x 2 saturations x 2 values and 3 grays
_CELLS, _COLORS, _CHROMATIC = 16, 31, 28
_MIDDLE = [5, 6, 9, 10]
_EDGES = [cell for cell in range(_CELLS) if cell not in _MIDDLE]
LEAST_SHARE = 0.02  # the scale of a color that a collection hardly has
_COLORLESS = 0.04  # the share of other pixels in a picture without color: dust, and noise of JPEG

# Hues by number: 0 red, 1 orange and yellow, 2 and 3 green, 4 and 5 blue, 6 purple and pink. A color is any of its
# (hues, saturations, values); grays are 0 dark, 1 medium, 2 light.
_CHROMA: dict[str, tuple[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]], ...]] = {
    "red": (((0,), (1,), (0, 1)),),
    "orange": (((0, 1), (1,), (1,)),),
    "yellow": (((1,), (1,), (1,)),),
    "green": (((2, 3), (0, 1), (0, 1)),),
    "turquoise": (((3, 4), (1,), (1,)),),
    "blue": (((4, 5), (1,), (0, 1)),),
    "purple": (((6,), (1,), (0, 1)), ((5,), (0,), (0, 1))),
    "pink": (((6,), (0, 1), (1,)), ((0,), (0,), (1,))),
    "brown": (((0, 1), (0, 1), (0,)),),
    "beige": (((1,), (0,), (1,)),),
    "black": ((tuple(range(7)), (0,), (0,)),),
}
_GRAYS = {"black": (0,), "gray": (1,), "white": (2,)}
COLORLESS = "black and white"
COLORS = (*dict.fromkeys((*_CHROMA, *_GRAYS)), COLORLESS)
RECORD = np.dtype([("shares", "<f2", (len(COLORS),))])

# English, German, French, Spanish, Italian, Portuguese, Russian, Chinese, Japanese.
_NAMES = {
    "red": """red rot rote roter rotes roten rouge rouges rojo roja rojos rojas rosso rossa rossi vermelho vermelha
        красный красная красное красные 红 红色 赤 赤い""",
    "orange": "orange orangefarben naranja arancione laranja оранжевый оранжевая 橙 橙色 オレンジ",
    "yellow": """yellow golden gold gelb gelbe gelber gelbes gelben jaune jaunes amarillo amarilla amarillos giallo
        gialla amarelo amarela желтый желтая желтые 黄 黄色 黄色い""",
    "green": """green grün grüne grüner grünes grünen vert verte verts vertes verde verdes зеленый зеленая зеленые
        绿 绿色 緑 緑色""",
    "turquoise": "turquoise cyan teal türkis turquesa turchese бирюзовый 青绿 水色",
    "blue": """blue blau blaue blauer blaues blauen bleu bleue bleus bleues azul azules blu azzurro синий синяя синие
        голубой 蓝 蓝色 青 青い""",
    "purple": "purple violet lila violett violette pourpre morado púrpura roxo фиолетовый 紫 紫色",
    "pink": "pink rosa rosado rosada розовый розовая 粉 粉色 粉红 ピンク",
    "brown": """brown braun braune brauner braunes braunen brun brune marron marrón marrone castanho marrom коричневый
        коричневая 棕 棕色 褐色 茶色""",
    "beige": "beige beiger beiges бежевый 米色 ベージュ",
    "black": """black schwarz schwarze schwarzer schwarzes schwarzen noir noire noirs noires negro negra negros negras
        nero nera preto preta черный черная черные 黑 黑色 黒 黒い""",
    "gray": "gray grey grau graue grauer graues grauen gris grises grigio grigia cinza серый серая 灰 灰色",
    "white": """white weiß weiße weißer weißes weißen blanc blanche blancs blanches blanco blanca blancos blancas bianco
        bianca branco branca белый белая белые 白 白色 白い""",
}
_COLORLESS_NAMES = (
    "black and white", "black white", "monochrome", "schwarz weiß", "schwarzweiß", "schwarz und weiß", "noir et blanc",
    "blanco y negro", "bianco e nero", "preto e branco", "черно белый", "черно белая", "黑白", "白黒", "モノクロ",
)  # fmt: skip


_FIRST_WITHOUT_SPACES = "\u2e80"  # Han and Kana: a name may stand inside of a run


@cache
def _colors() -> dict[str, str]:
    """The color of each folded name."""
    return {name: color for color, names in _NAMES.items() for name in fold(names).split()}


@cache
def _colorless() -> tuple[str, ...]:
    return tuple(map(fold, _COLORLESS_NAMES))


@lru_cache(maxsize=256)
def colors_of(text: str) -> tuple[str, ...]:
    """The colors that words ask for.

    >>> colors_of("ein roter Bus"), colors_of("a dog"), colors_of("black-and-white portrait"), colors_of("红色的花")
    (('red',), (), ('black and white',), ('red',))
    """
    words = fold(text).replace("-", " ").split()
    folded = f" {' '.join(words)} "

    def named(name: str) -> bool:
        return f" {name} " in folded or (len(name) > 1 and name >= _FIRST_WITHOUT_SPACES and name in folded)

    if any(map(named, _colorless())):
        return (COLORLESS,)
    return tuple(dict.fromkeys(color for name, color in _colors().items() if named(name)))


def color_shares(histograms: NDArray[Any]) -> NDArray[np.void]:
    """How much of each color pictures have, in the order of COLORS.

    A color has the share of the middle cell that is fullest of it, less half of its share at the edges: what the edges
    have, too, is the background, which people who name a color seldom mean. A picture that is all of one color keeps
    half. `COLORLESS` has the share of pixels with any color; where nothing is known, that is 1.

    Parameters
    ----------
    histograms : of the descriptor `spatial_color_histogram`, a row per picture.
    """
    squares = np.square(np.asarray(histograms, np.float32))  # of roots of shares
    total = squares.sum(axis=1)
    cells = squares.reshape(-1, _CELLS, _COLORS) * (_CELLS / np.maximum(total, 1e-12))[:, None, None]
    of_cells = np.einsum("ncb,bk->nck", cells, _members())
    middle = of_cells[:, _MIDDLE].max(axis=1)
    records = np.zeros(len(histograms), RECORD)
    records["shares"][:, :-1] = np.maximum(middle - of_cells[:, _EDGES].mean(axis=1) / 2, 0.0)
    records["shares"][:, -1] = np.where(total > 0, cells[:, :, :_CHROMATIC].sum(axis=2).mean(axis=1), 1.0)
    return records


@cache
def _members() -> NDArray[np.float32]:
    """For each bin of a cell and each color 1 if the bin is of the color."""
    members = np.zeros((_COLORS, len(COLORS) - 1), np.float32)
    for place, color in enumerate(COLORS[:-1]):
        for hues, saturations, values in _CHROMA.get(color, ()):
            for hue, saturation, value in product(hues, saturations, values):
                members[4 * hue + 2 * saturation + value, place] = 1.0
        for gray in _GRAYS.get(color, ()):
            members[_CHROMATIC + gray, place] = 1.0
    return members


def color_scores(shares: NDArray[np.void], colors: Iterable[str], usual: Iterable[float]) -> FloatArray:
    r"""How much of some colors pictures have: the mean of \(1 - e^{-s / u}\) of the share s.

    Parameters
    ----------
    shares : of `color_shares`.
    colors : what is asked for.
    usual : u, the mean share of each color in the collection: much green is nothing special among gardens.
    """
    scores = []
    for color, mean in zip(colors, usual, strict=True):
        share = shares_of(shares, color)
        scores.append(
            np.exp(-share / _COLORLESS) if color == COLORLESS else 1.0 - np.exp(-share / max(mean, LEAST_SHARE))
        )
    return np.asarray(np.mean(scores, axis=0), np.float64)


def shares_of(shares: NDArray[np.void], color: str) -> NDArray[np.float32]:
    """The shares of one color."""
    return np.asarray(shares["shares"][:, COLORS.index(color)], np.float32)
