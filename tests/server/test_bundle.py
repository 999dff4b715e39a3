"""The modules of the page in one file: all of them, in order, strict about what it knows."""

import re
import shutil
import subprocess

import pytest

from rankloom.server.bundle import bundled, joined_styles
from rankloom.server.page import STATIC

MODULES = {path.name: path.read_text(encoding="utf-8") for path in sorted((STATIC / "js").glob("*.js"))}


def test_every_module_of_the_page_is_in_the_bundle_after_those_that_it_imports():
    text = bundled(MODULES, "main.js")
    begins = {name: text.index(f'bundle["{name}"] = await') for name in MODULES}
    assert max(begins, key=begins.get) == "main.js"
    for name, source in MODULES.items():
        imported = re.findall(r'^(?:import .*|\}) from "\./(\w+\.js)"', source, re.MULTILINE)
        assert all(begins[other] < begins[name] for other in imported), name
    assert "\nimport " not in text
    assert "/**" not in text.replace("/** @type", "")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ('import all from "./a.js";', "line 1: this form of import or export is not known: import"),
        ('import * as a from "./a.js";', "not known"), ('import "./a.js";', "not known"),
        ('\n  const a = await import("./a.js");', r"line 2: .* import\("), ("export default 3;", "not known: export"),
        ("export { a };", "not known"), ("export let a = 1;", "not known"), ('export * from "./a.js";', "not known"),
        ('import { two } from "./a.js";', "imports two, which a.js does not export"),
        ('import { b } from "./b.js";', "imports b.js, which is not there"),
        ('import { one as 2 } from "./a.js";', "not known"), ('import { x } from "./main.js";', "in a circle"),
    ],
)  # fmt: skip
def test_other_forms_are_errors(source, reason):
    with pytest.raises(ValueError, match=reason):
        bundled({"main.js": source, "a.js": "export const one = 1;"}, "main.js")


def test_a_bundle_runs_as_its_modules_do():
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node.js")
    modules = {
        "a.js": "// How often\nlet n = 0;\nexport const $ = () => ++n;\nexport async function two() { return 2; }",
        "b.js": 'import {\n  $, two as second,\n} from "./a.js";\n/** Twice. */\nexport class Both { sum = $(); }\n'
        "export const late = await second();",
        "main.js": 'import { $ } from "./a.js";\nimport { Both, late } from "./b.js";\n'
        "const text = `${new Both().sum}`; // not a line of its own\nconsole.log(text, late, $(), typeof n);",
    }
    run = subprocess.run(
        [node, "--input-type=module", "-"],
        input=bundled(modules, "main.js"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "1 2 2 undefined\n"


def test_styles_are_joined_in_their_order():
    links = "".join(f'  <link rel="stylesheet" href="/static/{name}.css">\n' for name in "ba")
    page, styles = joined_styles(f"<head>\n{links}</head>", {"a.css": b"a {}\n", "b.css": b"b {}\n\n"}, "all.css")
    assert page == '<head>\n  <link rel="stylesheet" href="/static/all.css">\n</head>'
    assert styles == b"b {}\na {}\n"
    with pytest.raises(ValueError, match="no links to styles"):
        joined_styles("<head></head>", {}, "all.css")
