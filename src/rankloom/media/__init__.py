"""Media: find picture and video files, read them safely, cut videos into shots, collect the text about them.

It knows files and pixels, and nothing of descriptors or collections.
"""

from rankloom.media.captions import read_captions
from rankloom.media.errors import MediaError
from rankloom.media.files import PICTURES, VIDEOS, MediaFile, find_files, kind_of
from rankloom.media.images import read_image
from rankloom.media.names import words_of_name
from rankloom.media.subtitles import Cue, read_subtitles, spread_cues, subtitles_of
from rankloom.media.texts import Text, texts_of
from rankloom.media.videos import KeyFrame, Shot, read_shots

__all__ = [
    "PICTURES", "VIDEOS", "Cue", "KeyFrame", "MediaError", "MediaFile", "Shot", "Text", "find_files", "kind_of",
    "read_captions", "read_image", "read_shots", "read_subtitles", "spread_cues", "subtitles_of", "texts_of",
    "words_of_name",
]  # fmt: skip
