"""Label configs: which ones are a choice of one class, and how results name it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from app.services.problems import Invalid

RawKind = Literal["text", "image"]
RAW: dict[str, RawKind] = {"Text": "text", "HyperText": "text", "Image": "image"}  # tags whose data can be encoded
REMARKS = ("TextArea", "Rating", "Number", "DateTime")  # controls beside the choice that say nothing of the class
LONGEST = 200  # characters of a class
MAX_CLASSES = 1000
MAX_CHARACTERS = 2**20


@dataclass(frozen=True)
class LabelConfig:
    """A single choice between classes, of one thing that each task shows."""

    from_name: str  # of the control
    to_name: str  # of the object
    tag: str  # of the object
    field: str  # of the task's data
    classes: tuple[str, ...]

    @property
    def kind(self) -> RawKind | None:
        """What the encoder reads; None for what AskNext must hold features of already."""
        return RAW.get(self.tag)

    def result(self, label: str) -> list[dict[str, Any]]:
        """A class as Label Studio has it in predictions and annotations."""
        value = {"choices": [label]}
        return [{"from_name": self.from_name, "to_name": self.to_name, "type": "choices", "value": value}]

    def choice(self, result: Any) -> str | None:
        """The one class that a result names, if it does."""
        for part in result if isinstance(result, list) else []:
            if isinstance(part, dict) and part.get("from_name") == self.from_name and part.get("type") == "choices":
                value = part.get("value")
                choices = value.get("choices") if isinstance(value, dict) else None
                if isinstance(choices, list) and len(choices) == 1 and isinstance(choices[0], str):
                    return choices[0]
        return None


@lru_cache(maxsize=64)
def read_config(text: str) -> LabelConfig:
    """A label config that AskNext can serve; an Invalid says in plain words why it cannot.

    >>> config = read_config(
    ...     '<View><Text name="t" value="$text"/><Choices name="c" toName="t"><Choice value="a"/><Choice value="b"/>'
    ...     "</Choices></View>"
    ... )
    >>> config.classes, config.field, config.kind
    (('a', 'b'), 'text', 'text')
    """
    root = _parsed(text)
    control = _control(root)
    objects = {element.get("name"): element for element in root.iter() if element.get("value", "").startswith("$")}
    target = control.get("toName", "")
    shown = objects.get(target)
    if shown is None:
        raise Invalid("the Choices must be about one thing that each task brings: toName must name a tag with value=$…")
    field = re.fullmatch(r"\$([^\s${}\[\].]+)", shown.get("value", ""))
    if field is None:
        raise Invalid(f'the value of <{_short(shown.tag)}> must be one field of the task, as in value="$text"')
    return LabelConfig(control.get("name", ""), target, shown.tag, field[1], _classes(control))


def _parsed(text: str) -> Element:
    if len(text) > MAX_CHARACTERS:
        raise Invalid(f"the label config may have {MAX_CHARACTERS} characters")
    try:
        root: Element = fromstring(text, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise Invalid("the label config is not XML that can be read (entities and DTDs are not)") from error
    return root


def _control(root: Element) -> Element:
    """The one tag that people answer by."""
    controls = [element for element in root.iter() if element.get("toName") and element.tag not in REMARKS]
    others = sorted({_short(element.tag) for element in controls if element.tag != "Choices"})
    if others:
        raise Invalid(
            f"AskNext learns one class for each task, from a single <Choices>; it cannot learn {', '.join(others)}"
        )
    if len(controls) != 1:
        raise Invalid(f"AskNext learns from exactly one <Choices>; this label config has {len(controls)}")
    control = controls[0]
    if control.get("choice", "single") not in ("single", "single-radio"):
        raise Invalid('AskNext learns one class for each task: set choice="single" in <Choices>, not several at once')
    if control.get("perRegion", "false").lower() == "true" or control.get("perItem", "false").lower() == "true":
        raise Invalid("AskNext learns one class for each whole task: remove perRegion and perItem from <Choices>")
    if control.get("value"):
        raise Invalid("the choices must stand in the label config as <Choice> tags, not come with each task")
    return control


def _classes(control: Element) -> tuple[str, ...]:
    choices = list(_choices(control))
    names = [choice.get("alias") or choice.get("value") or "" for choice in choices]
    if any(list(_choices(choice)) for choice in choices):
        raise Invalid("choices within choices are not supported: list all classes directly in <Choices>")
    if not 2 <= len(names) <= MAX_CLASSES:
        raise Invalid(f"<Choices> needs from 2 to {MAX_CLASSES} choices; there are {len(names)}")
    if len(set(names)) < len(names) or not all(0 < len(name) <= LONGEST for name in names):
        raise Invalid(f"each <Choice> needs a value of its own of 1 to {LONGEST} characters")
    return tuple(names)


def _choices(element: Element) -> Iterator[Element]:
    """Directly in it, or in what only arranges them."""
    for child in element:
        if child.tag == "Choice":
            yield child
        else:
            yield from _choices(child)


def _short(tag: Any) -> str:
    return str(tag)[:40]
