"""The files of the page themselves."""

import re
from pathlib import Path

WEB = Path(__file__).parents[3] / "app" / "web"
IMPORT = re.compile(r'^(?:import|export) .*?from "(\..*?)";', re.MULTILINE | re.DOTALL)


def needed(module, found):
    """All modules that are loaded with this one at once."""
    if module not in found:
        found.add(module)
        for path in IMPORT.findall(module.read_text()):
            needed((module.parent / path).resolve(), found)
    return found


def test_what_is_needed_at_once_is_asked_for_at_once():
    page = (WEB / "index.html").read_text()
    preloaded = {(WEB / path).resolve() for path in re.findall(r'rel="modulepreload" href="(.*?)"', page)}
    assert preloaded == needed((WEB / "app.js").resolve(), set()) - {(WEB / "app.js").resolve()}


def test_nothing_comes_from_elsewhere():
    for path in WEB.rglob("*"):
        if path.suffix in (".js", ".css", ".html") and "vendor" not in path.parts:
            addresses = re.findall(r"[\w:]*//[\w-]+\.[\w.]+", path.read_text())
            assert set(addresses) <= {"http://www.w3.org"}, path  # the name of SVG, which nobody fetches


def test_the_first_load_is_small():
    at_once = needed((WEB / "app.js").resolve(), set()) | {WEB / "index.html", WEB / "icon.svg"}
    styles = re.findall(r'rel="stylesheet" href="(.*?)"', (WEB / "index.html").read_text())
    at_once |= {WEB / style for style in styles}
    assert sum(path.stat().st_size for path in at_once) < 150_000  # of 300 kB, the rest is for the first items
