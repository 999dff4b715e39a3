"""The kinds of pictures: how each is drawn, in which folder it goes, what people call it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankloom.demo import bridges, coast, garden, houses, lands, nights, patterns, table, town
from rankloom.demo.canvas import Canvas
from rankloom.demo.finish import finish


@dataclass(frozen=True)
class Kind:
    """A kind of pictures.

    Parameters
    ----------
    draw : draws one on a canvas and notes its attributes
    theme : the folder, shared by several kinds
    words : what people call it; ~ is where a colour may stand
    foreign : the same in German, French and Spanish
    """

    draw: Callable[[Canvas], None]
    theme: str
    words: tuple[str, ...]
    foreign: tuple[str, str, str]


def _kind(draw: Callable[[Canvas], None], theme: str, words: str, foreign: str) -> Kind:
    german, french, spanish = (part.strip() for part in foreign.split("|"))
    return Kind(draw, theme, tuple(part.strip() for part in words.split("|")), (german, french, spanish))


KINDS: dict[str, Kind] = {
    "sunset": _kind(coast.sunset_sea, "coast",
        "sunset over the sea | the sun going down over the ocean | evening sun on the water | sundown at the beach",
        "Sonnenuntergang am Meer | coucher de soleil sur la mer | puesta de sol en el mar"),
    "mountains": _kind(lands.mountains, "landscapes",
        "mountains | a mountain range | peaks and valleys | alpine view | misty mountains",
        "Berge im Dunst | montagnes dans la brume | montañas con niebla"),
    "forest": _kind(lands.forest, "landscapes",
        "a forest | tall trees in the woods | woodland | a walk in the forest | fir trees",
        "im Wald | une forêt | un bosque"),
    "desert": _kind(lands.dunes, "landscapes",
        "desert dunes | sand dunes | a sandy desert | dunes",
        "Dünen in der Wüste | dunes du désert | dunas del desierto"),
    "snow": _kind(lands.snowy_hills, "landscapes",
        "a snowy landscape | winter hills | snow and fir trees | snow covered hills | a winter day",
        "verschneite Hügel im Winter | paysage enneigé | colinas nevadas"),
    "tree": _kind(lands.lone_tree, "landscapes",
        "a ~ tree | a lonely ~ tree on a hill | an old ~ tree | a single ~ tree in a meadow",
        "ein einzelner Baum | un arbre seul | un árbol solitario"),
    "flower field": _kind(lands.flower_field, "landscapes",
        "a field of ~ flowers | a meadow of ~ flowers | ~ blossoms everywhere | wild ~ flowers in a meadow",
        "Blumenwiese | champ de fleurs | campo de flores"),
    "rainbow": _kind(lands.rainbow, "landscapes",
        "a rainbow | rainbow over the hills | a colourful rainbow in the sky | after the rain",
        "ein Regenbogen | un arc-en-ciel | un arcoíris"),
    "starry night": _kind(nights.starry_night, "skies",
        "a starry night | stars | night sky full of stars | stargazing | the sky at night",
        "Sternenhimmel | nuit étoilée | noche estrellada"),
    "aurora": _kind(nights.aurora, "skies",
        "~ northern lights | an ~ aurora | aurora borealis | polar lights over the land",
        "Polarlichter | aurore boréale | aurora boreal"),
    "fireworks": _kind(nights.fireworks, "skies",
        "~ fireworks | fireworks in the night sky | new year's eve | a firework show",
        "Feuerwerk | feux d'artifice | fuegos artificiales"),
    "planet": _kind(nights.planets, "skies",
        "a ~ planet | a ~ planet in space | outer space | strange worlds | a distant ~ planet",
        "ein Planet im Weltraum | une planète dans l'espace | un planeta en el espacio"),
    "balloon": _kind(nights.balloons, "skies",
        "a ~ hot-air balloon | hot air balloons | a ~ balloon in the sky | ballooning",
        "Heißluftballon | montgolfière | globo aerostático"),
    "kite": _kind(nights.kites, "skies",
        "a ~ kite | flying kites | a ~ kite in the wind | kites in the sky",
        "Drachen steigen lassen | un cerf-volant | una cometa"),
    "sailing boat": _kind(coast.sailing_boat, "coast",
        "a ~ sailing boat | a sailboat with ~ sails | sailing on the sea | a yacht | a ~ boat on the water",
        "ein Segelboot | un voilier | un velero"),
    "lighthouse": _kind(coast.lighthouse, "coast",
        "a ~ lighthouse | the ~ lighthouse on the rock | a lighthouse by the sea | a beacon on the coast",
        "ein Leuchtturm | un phare | un faro"),
    "fish": _kind(coast.fish, "coast",
        "~ fish | a ~ fish under water | tropical ~ fish | diving with fish | in the aquarium",
        "Fische unter Wasser | des poissons | peces bajo el agua"),
    "bridge": _kind(bridges.bridge, "town",
        "a bridge | a bridge over the river | the old bridge | crossing the bay | a ~ bridge",
        "eine Brücke | un pont | un puente"),
    "skyline": _kind(town.skyline, "town",
        "the city skyline | skyscrapers | downtown | lit windows in the city | tall buildings",
        "Skyline der Stadt | gratte-ciel | rascacielos de la ciudad"),
    "house": _kind(houses.house, "town",
        "a ~ house | a ~ cottage | a country house | our ~ house | home in the country",
        "ein Haus auf dem Land | une maison | una casa de campo"),
    "windmill": _kind(town.windmill, "landscapes",
        "a ~ windmill | an old ~ mill | a windmill in the fields | the mill",
        "eine Windmühle | un moulin à vent | un molino de viento"),
    "umbrella": _kind(town.umbrellas, "town",
        "a ~ umbrella | ~ umbrellas | a ~ parasol | umbrellas in a row",
        "Regenschirme | des parapluies | paraguas"),
    "flower": _kind(garden.flower, "garden",
        "a ~ flower | a ~ blossom | a close-up of a ~ flower | ~ petals | blooming ~ flower",
        "eine Blüte | une fleur | una flor"),
    "autumn leaves": _kind(garden.autumn_leaves, "garden",
        "autumn leaves | fallen leaves | leaves on the ground | fall colours | maple and oak leaves",
        "Herbstlaub | feuilles d'automne | hojas de otoño"),
    "butterfly": _kind(garden.butterfly, "garden",
        "a ~ butterfly | a butterfly with ~ wings | a ~ butterfly in the garden",
        "ein Schmetterling | un papillon | una mariposa"),
    "mushroom": _kind(garden.mushrooms, "garden",
        "a ~ mushroom | ~ mushrooms | ~ toadstools in the moss | fungi | picking mushrooms",
        "Pilze im Moos | des champignons | setas"),
    "fruit bowl": _kind(table.fruit_bowl, "table",
        "a bowl of fruit | fresh fruit in a ~ bowl | apples and oranges | a fruit bowl | still life with fruit",
        "eine Obstschale | un bol de fruits | un frutero"),
    "cake": _kind(table.cake, "table",
        "a ~ cake | a birthday cake | a cake with ~ icing | a homemade cake | dessert",
        "ein Kuchen | un gâteau | una tarta"),
    "cup": _kind(table.cup, "table",
        "a ~ cup | a ~ mug | a cup of coffee | hot tea in a ~ cup | coffee break",
        "eine Tasse Kaffee | une tasse de café | una taza de café"),
    "clock": _kind(table.clock, "table",
        "a ~ clock | a clock on the wall | what time is it | a ~ wall clock",
        "eine Uhr | une horloge | un reloj"),
    "stripes": _kind(patterns.stripes, "fabrics",
        "stripes | striped cloth | a striped pattern | lines",
        "Streifen | des rayures | rayas"),
    "plaid": _kind(patterns.plaid, "fabrics",
        "plaid | a tartan | plaid cloth | a checked blanket",
        "Schottenkaro | tissu écossais | tela escocesa"),
    "polka dots": _kind(patterns.polka_dots, "fabrics",
        "polka dots | dotted cloth | dots | a dotted pattern",
        "gepunktet | tissu à pois | lunares"),
    "checkerboard": _kind(patterns.checkerboard, "surfaces",
        "a checkerboard | chess board pattern | a tiled floor | squares | a checkered pattern",
        "Schachbrettmuster | un damier | tablero de ajedrez"),
    "spiral": _kind(patterns.spirals, "fabrics",
        "a spiral | spirals | a swirl | a hypnotic spiral pattern",
        "Spiralen | des spirales | espirales"),
    "mosaic": _kind(patterns.mosaic, "surfaces",
        "a mosaic | mosaic tiles | stained glass | broken tiles",
        "ein Mosaik | une mosaïque | un mosaico"),
    "marble": _kind(patterns.marble, "surfaces",
        "marble | polished stone | a marble slab | veins in stone",
        "Marmor | du marbre | mármol"),
    "wood": _kind(patterns.wood, "surfaces",
        "wood | wood grain | wooden planks | a wooden board | timber",
        "Holzmaserung | du bois | madera"),
    "brick wall": _kind(patterns.bricks, "surfaces",
        "a brick wall | bricks | an old wall | brickwork",
        "eine Ziegelmauer | un mur de briques | pared de ladrillos"),
}  # fmt: skip


def draw(
    kind: str, size: tuple[int, int], seed: tuple[int, ...], *, time: float = 0.0, styled: bool = True
) -> tuple[NDArray[np.uint8], dict[str, str]]:
    """Draw a picture: the same for the same seed; the same scene, moved on, for another time.

    Parameters
    ----------
    kind : a name of KINDS
    size : width and height
    seed : whole numbers
    time : seconds since the start of a shot
    styled : some pictures are rendered as a sketch, a print and so on

    Returns
    -------
    RGB bytes of shape (height, width, 3), and what is known about the picture.

    Examples
    --------
    >>> image, notes = draw("sunset", (64, 48), (0, 1))
    >>> image.shape, sorted(notes)
    ((48, 64, 3), ['time'])
    """
    canvas = Canvas(*size, np.random.default_rng(seed), time)
    KINDS[kind].draw(canvas)
    return finish(canvas, styled=styled), canvas.notes
