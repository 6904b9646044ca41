"""Words of the page: complete in four languages, and none outside the table."""

import json
import re
import time
from html.parser import HTMLParser
from importlib.resources import files

import pytest

from draisine.ride.presets import page_words
from ride.conftest import FEW_FRAMES

LANGUAGES = ("en", "fr", "de", "es")
PAGE = files("draisine.ride") / "page"
PLACEHOLDER = re.compile(r"\{\w+\}")
NUMBER = re.compile(r"(?<![A-Za-z\d])\d+(?:\.\d+)?")


def test_every_text_has_four_languages_with_the_same_numbers():
    for key, row in page_words().items():
        assert tuple(row) == LANGUAGES, key
        assert all(text.strip() == text != "" for text in row.values()), key
        places = [set(PLACEHOLDER.findall(text)) for text in row.values()]
        numbers = [sorted(NUMBER.findall(PLACEHOLDER.sub("", text))) for text in row.values()]
        assert places.count(places[0]) == numbers.count(numbers[0]) == len(LANGUAGES), key


def scripts():
    """Return the texts of the page's own scripts, without the table of words."""
    names = [p.name for p in PAGE.iterdir() if p.name.endswith(".js")]
    return {
        n: (PAGE / n).read_text(encoding="utf-8")
        for n in names
        if n not in ("vendor.js", "words.js")
    }


def used_keys():
    """Return patterns of the keys that scripts and HTML name; a computed part of a key matches anything."""
    text = "\n".join(scripts().values()) + (PAGE / "index.html").read_text(encoding="utf-8")
    named = re.findall(r"data-(?:word|label)=\"([^\"]+)\"", text)
    # Keys are texts with a dot or the argument of say(); template literals have computed parts.
    named += re.findall(r"(?:say|sentence)\(\"([\w.-]+)\"", text)
    named += re.findall(r"\"([a-z]+\.[\w.-]+|left|right)\"", text)
    computed = re.findall(r"(?:say|hasWords)\(`([^`]+)`", text)
    computed += [f"${{name}}.{part}" for part in re.findall(r"rideText\([^\"]*\"(\w+)\"", text)]
    patterns = [re.sub(r"\\\$\\\{[^}]*\\\}", ".+", re.escape(key)) for key in computed]
    return set(named), patterns


def test_no_word_is_missing_and_none_is_unused():
    named, patterns = used_keys()
    words = page_words()
    spoken = re.findall(r"(?:say|sentence)\(\"([\w.-]+)\"", "\n".join(scripts().values()))
    html = (PAGE / "index.html").read_text(encoding="utf-8")
    labelled = re.findall(r"data-(?:word|label)=\"([^\"]+)\"", html)
    assert [key for key in (*spoken, *labelled) if key not in words] == []
    assert all(any(re.fullmatch(p, key) for key in words) for p in patterns)
    unused = [k for k in words if k not in named and not any(re.fullmatch(p, k) for p in patterns)]
    assert unused == []


class Texts(HTMLParser):
    """The texts of an HTML file outside keys and fixed numbers."""

    def __init__(self):
        super().__init__()
        self.path = []
        self.found = []

    def handle_starttag(self, tag, attributes):
        self.found += [v for k, v in attributes if k in ("aria-label", "title", "placeholder")]
        if tag not in ("meta", "link", "input", "br"):
            self.path.append(tag)

    def handle_endtag(self, tag):
        self.path.pop()

    def handle_data(self, text):
        if text.strip() and self.path[-1] not in ("kbd", "title"):
            self.found.append(text.strip())


def test_the_html_file_has_no_words():
    parser = Texts()
    parser.feed((PAGE / "index.html").read_text(encoding="utf-8"))
    assert [t for t in parser.found if re.search(r"[A-Za-z]{2}", t)] == []


@pytest.fixture
def opened(browser, served):
    """A function that opens the served page in a browser of some language, and its errors."""
    contexts = []

    def open_page(locale, words=None):
        context = browser.new_context(
            viewport={"width": 800, "height": 600}, bypass_csp=True, locale=locale
        )
        contexts.append(context)
        context.add_init_script(FEW_FRAMES)
        page = context.new_page()
        if words is not None:
            page.route(
                "**/words.js",
                lambda route: route.fulfill(body=words, content_type="text/javascript"),
            )
        page.goto(served.address)
        page.wait_for_function("window.ride?.frame?.time > 0.02")
        return page

    yield open_page
    for context in contexts:
        context.close()
    end = time.monotonic() + 5.0
    while served.taken and time.monotonic() < end:
        time.sleep(0.01)


BRACKETS = """() => {
  const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const { data, parentElement: home } = walk.currentNode;
    const names = ".uplot, #set, #vehicle, #language, script, style, kbd";
    if (home.closest(names)) continue;
    found.push(data);
  }
  for (const one of document.querySelectorAll("[aria-label]")) found.push(one.getAttribute("aria-label"));
  return found;
}"""


def marked(text):
    """Return the table of words with English texts in brackets."""
    words = {key: row | {"en": f"[{row['en']}]"} for key, row in page_words().items()}
    head = text.partition("export const WORDS = ")[0]
    return f"{head}export const WORDS = {json.dumps(words)};"


@pytest.mark.parametrize("ride", ["steer-torque", "brake"])
def test_all_visible_texts_are_in_the_table(opened, ride):
    """With all words of the table in brackets, nothing else is left but numbers, units and names."""
    page = opened("en-GB", marked((PAGE / "words.js").read_text(encoding="utf-8")))
    page.select_option("#preset", ride)
    page.wait_for_function(f"ride.scene?.preset.name === '{ride}' && ride.frame?.time > 0.02")
    page.click("#parameters summary")
    rest = [
        re.sub(r"\[[^][]*\]", "", re.sub(r"\[[^][]*\]", "", found))
        for found in page.evaluate(BRACKETS)
    ]
    units = {"m", "s", "N", "J", "kg", "rad", "m/s", "x", "m2", "m/s2"}
    left = {word for found in rest for word in re.findall(r"[A-Za-z][\w/]*", found)} - units
    assert left == set()


@pytest.mark.parametrize(
    ("locale", "name"), [("de-AT", "de"), ("fr-FR", "fr"), ("es-MX", "es"), ("nl-NL", "en")]
)
def test_the_browser_chooses_the_language_and_people_and_links_change_it(
    opened, served, locale, name
):
    words = page_words()
    page = opened(locale)
    assert page.get_attribute("html", "lang") == name
    assert page.inner_text("#title") == words["steer-torque.title"][name]
    for language in LANGUAGES:
        page.select_option("#language", language)
        assert page.inner_text("#lesson") == words["steer-torque.lesson"][language]
        assert page.inner_text("#ways legend") == words["way"][language]
        assert page.inner_text("#gauges th") == words["reading.speed"][language]
    page.goto("about:blank")
    page.goto(f"{served.address}#lang=es")
    page.wait_for_function("window.ride?.frame?.time > 0.02")
    assert page.inner_text("#title") == words["steer-torque.title"]["es"]
