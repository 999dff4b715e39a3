"""Tell captions from what cameras and programs write into the same fields."""

from __future__ import annotations

import os
import re
import unicodedata

from rankloom.media._text_files import MAX_TEXT
from rankloom.media.files import kind_of
from rankloom.media.names import words_of_name

# Whole texts that cameras and programs leave where a caption belongs; in lower case.
_DEFAULTS = {
    *("applemark", "ascii", "unicode", "binary comment", "charset=ascii", 'charset="ascii"', "exif_jpeg_picture"),
    *("exif jpeg", "jpeg", "jpeg picture", "default", "untitled", "rotated", "screenshot", "user comments"),
    *("kodak digital still camera", "digital camera", "videohandler", "soundhandler"),
    # the modes of Huawei's and Honor's cameras
    *("btf", "cof", "dav", "edf", "fbt", "hdrpl", "mde", "oznor", "oznorco", "oznorhdr", "oznorwo", "ptr"),
    *("rhdr", "rptnb", "sdr", "vhdr"),
}

# Words that only a program has for a name: a text of these, numbers and the words around them names a program.
_PROGRAMS = {
    *("accusoft", "acd", "acdsee", "aftershot", "applemark", "ashampoo", "avfoundation", "captureone", "compupic"),
    *("corel", "darktable", "digikam", "divx", "ebay", "exiftool", "ffmpeg", "gd-jpeg", "gimp", "graphicsmagick"),
    *("handbrake", "ijg", "imagemagick", "imagegear", "imovie", "inkscape", "irfanview", "jpegmini", "jpegtran"),
    *("lavc", "lavf", "leadtools", "libaom", "libheif", "libjpeg", "libpng", "libvpx", "lightroom", "mozjpeg"),
    *("mspaint", "optipng", "paint.net", "paintshop", "photodex", "photofiltre", "photoimpact", "photoscape"),
    *("photoshop", "picasa", "pixelmator", "pngcrush", "quicktime", "rawtherapee", "snapseed", "turbojpeg", "ulead"),
    *("virtualdub", "vlc", "x264", "x265", "xnview", "xvid"),
}
_AROUND_PROGRAMS = {
    *("a", "and", "at", "by", "for", "from", "in", "of", "on", "the", "to", "using", "via", "with", "is", "was"),
    *("captured", "compressed", "converted", "created", "creator", "edited", "encoded", "encoder", "exported"),
    *("generated", "made", "modified", "optimised", "optimized", "processed", "produced", "rendered", "resized"),
    *("saved", "scanned", "written", "writing", "library", "tool", "photo", "editor", "viewer", "codec", "copyleft"),
    *("adobe", "apple", "google", "microsoft", "intel", "www", "http", "https", "file", "files", "image", "images"),
    *("picture", "pictures", "version", "ver", "rev", "build", "release", "quality", "windows", "macintosh", "mac"),
    *("os", "linux", "elements", "inc", "corp", "corporation", "ltd", "gmbh", "llc", "co", "company", "software"),
    *("systems", "technologies", "technology", "digital", "imaging", "jpeg", "jpg", "png", "tiff", "tif", "gif"),
    *("exif", "media", "standard", "professional", "pro", "express", "plus", "classic", "studio", "suite", "cs", "cc"),
    *("core", "avc", "mpeg", "r", "tm", "c", "v", "z", "commander", "manager", "options", "default", "x"),
}
_TECHNICAL = r"(?:created|made|produced|generated|processed|written|exported|rendered|converted|scanned|captured)"
_COMPANY = r"(?:inc|corp|corporation|ltd|gmbh|llc|technologies|software)"
_PHRASES = re.compile(
    rf"\b(?:optimi[sz]ed|encoded|compressed|file (?:was )?written) (?:by|with|using)\b"
    rf"|\b{_TECHNICAL} (?:by|with|using)\b.{{0,40}}\b{_COMPANY}\b"
    rf"|^lead technologies inc\b|^intel\(r\) jpeg|^vid:|^fbmd|^dcim\W?\d{{3}}|^processed by .{{1,40}}\bwith\b",
    re.IGNORECASE,
)
# "Photo Commander 4.1.0" and "Scanner v2", but not "Paris 12.5.2010": that is a date.
_NAME_AND_VERSION = re.compile(
    r"(?:[^\W\d]\S*\s+){1,4}(?:v(?:er(?:sion)?)?[ .]?\d[\w.]*|(?!\d{1,2}\.\d{1,2}\.\d{2,4}$)\d+(?:\.\d+){2,}\w*)", re.I
)

_MAKERS = {
    *("apple", "benq", "canon", "casio", "dji", "fuji", "fujifilm", "gopro", "hp", "htc", "huawei", "kodak", "konica"),
    *("kyocera", "leica", "lg", "minolta", "motorola", "nikon", "nokia", "olympus", "panasonic", "pentax", "polaroid"),
    *("ricoh", "samsung", "sanyo", "sharp", "sony", "toshiba", "vivitar", "xiaomi"),
}
_AROUND_MAKERS = {
    *("digital", "still", "camera", "cameras", "pictures", "picture", "image", "imaging", "corp", "corporation", "co"),
    *("ltd", "inc", "company", "computer", "electronics", "optical", "dsc", "jpeg", "exif", "mobile", "phone"),
}

_EXIF_DATE = re.compile(r"\b\d{4}:\d\d:\d\d \d\d:\d\d")
_EXIF_FIELD = re.compile(
    r"\b(?:make|model|vender|vendor|software(?: version)?|datetime|exposure\w*|fnumber|isospeed\w*|imagedescription"
    r"|shutterspeed\w*|aperture\w*|flash\w*|focallength\w*|whitebalance)\s?[:=]",
    re.IGNORECASE,
)
_ASSIGNMENT = re.compile(r"\b\w+=[^\s=]")

_ADDRESS = re.compile(r"https?://\S+|www\.\S+|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s_/,;:()\[\]{}|\"-]+")
_NAMED_NUMBER = re.compile(r"[a-z]{3,}\d{1,4}|(?=.{2,4}$)(?:[a-z]+\d+|\d+[a-z]+)", re.IGNORECASE)
_LETTERS = re.compile(r"[a-z]{2,}|[^\W\d_a-z]", re.IGNORECASE)


def is_caption(text: str) -> bool:
    r"""Whether a text of a file's metadata says something about the picture, in any language.

    It does not if it is binary, a value that cameras and programs write by default, a list of settings, the name of a
    program, of a camera or of a file, or if no word is left beside numbers, versions, addresses and identifiers.

    Examples
    --------
    >>> texts = ["Oma", "IMG at Paris", "猫", "AppleMark", "0x4ad5ae9d", "OLYMPUS DIGITAL CAMERA", "IMG_2039.JPG"]
    >>> [text for text in texts if is_caption(text)]
    ['Oma', 'IMG at Paris', '猫']
    """
    text = text[:MAX_TEXT]
    if _binary(text):
        return False
    line = " ".join(text.replace("\0", " ").split())
    if line.strip(" .*<>").lower() in _DEFAULTS or any(rule(line) for rule in (_settings, _camera, _program, _file)):
        return False
    return any(map(_is_word, _BETWEEN.split(_ADDRESS.sub(" ", line))))


def _binary(text: str) -> bool:
    """Whether more than a twentieth are signs that no text has, but for the zeros around many."""
    inner = text.strip("\0")
    odd = sum(sign not in "\t\n\r\0" and unicodedata.category(sign) in ("Cc", "Cn", "Co", "Cs") for sign in inner)
    return odd + inner.count("\ufffd") > len(inner) / 20


def _settings(line: str) -> bool:
    fields, assignments = len(_EXIF_FIELD.findall(line)), len(_ASSIGNMENT.findall(line))
    return bool(_EXIF_DATE.search(line)) or fields >= 2 or assignments >= 3


def _camera(line: str) -> bool:
    """A maker and nothing but words like "digital camera" beside it; makers write this in capitals."""
    words = re.findall(r"[^\W\d_]+", line.lower())
    others = [word for word in words if word not in _MAKERS]
    return line.isupper() and len(words) > len(others) > 0 and _AROUND_MAKERS.issuperset(others)


def _program(line: str) -> bool:
    if _PHRASES.search(line) or _NAME_AND_VERSION.fullmatch(line):
        return True
    tokens = [token.strip(".,;:()[]-|¨®™*'\"").lower() for token in line.split()]
    words = {token for token in tokens if any(map(str.isalpha, token))}
    others = words - _PROGRAMS
    named = {word for word in others if re.fullmatch(r"[^\W\d_]+", word)}
    return len(words) > len(others) and _AROUND_PROGRAMS.issuperset(named)


def _file(line: str) -> bool:
    """A name that a camera gave to a file."""
    name = os.path.splitext(line)[0] if kind_of(line) else line
    return any(map(str.isdigit, name)) and not re.search(r"\s", name) and len(name) > 4 and words_of_name(name) == ""


def _is_word(part: str) -> bool:
    """Letters; in ASCII at least two, and together with digits only as a name and a number ("Paris2019", "B17")."""
    part = part.strip(".'’!?*#&+")
    if part.isascii() and any(map(str.isdigit, part)):
        return bool(_NAMED_NUMBER.fullmatch(part))
    return bool(_LETTERS.search(part.replace(".", "")))
