"""Words for colors, asked of the color histogram of a picture."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.core import FloatArray
from rankloom.text.tokens import fold

SOURCE = "spatial_color_histogram"  # 16 cells of 7 hues x 2 saturations x 2 values and 3 grays
_CELLS, _COLORS, _CHROMATIC = 16, 31, 28
_MIDDLE = (5, 6, 9, 10)  # what is asked for is seldom at the edge
LEAST_SHARE = 0.02  # of a picture, the scale of a color that a collection hardly has
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


def color_shares(histograms: NDArray[Any], color: str) -> FloatArray:
    """The share of each picture that has a color, its middle counted twice; of `COLORLESS`, the share that has one.

    Parameters
    ----------
    histograms : of the descriptor `spatial_color_histogram`, a row per picture.
    color : a name of `colors_of`.
    """
    squares = np.square(np.asarray(histograms, np.float32))  # of roots of shares
    total = np.maximum(squares.sum(axis=1, dtype=np.float64), 1e-12)
    cells = squares.reshape(-1, _CELLS, _COLORS)
    if color == COLORLESS:
        return np.asarray(cells[:, :, :_CHROMATIC].sum(axis=(1, 2), dtype=np.float64) / total)
    weights = np.ones(_CELLS)
    weights[[*_MIDDLE]] = 2.0
    of_cells = cells[:, :, _bins(color)].sum(axis=2, dtype=np.float64)
    return np.asarray((of_cells * weights).sum(axis=1) * (_CELLS / weights.sum()) / total)


@cache
def _bins(color: str) -> NDArray[np.intp]:
    bins = [
        4 * hue + 2 * saturation + value
        for hues, saturations, values in _CHROMA.get(color, ())
        for hue in hues
        for saturation in saturations
        for value in values
    ]
    return np.array([*bins, *(_CHROMATIC + gray for gray in _GRAYS.get(color, ()))], np.intp)


def color_scores(histograms: NDArray[Any], colors: Iterable[str], usual: Iterable[float]) -> FloatArray:
    r"""How much of some colors pictures have: the mean of \(1 - e^{-s / u}\) of the share s.

    Parameters
    ----------
    histograms : a row per picture.
    colors : what is asked for.
    usual : u, the mean share of each color in the collection: much green is nothing special among gardens.
    """
    known = np.asarray(histograms).any(axis=1)
    scores = []
    for color, mean in zip(colors, usual, strict=True):
        share = color_shares(histograms, color)
        scores.append(
            np.exp(-share / _COLORLESS) if color == COLORLESS else 1.0 - np.exp(-share / max(mean, LEAST_SHARE))
        )
    return np.asarray(np.mean(scores, axis=0) * known)
